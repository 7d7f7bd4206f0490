//! Files that no agent may reach, for the tests of every way to them.

/// Text in each of these files. No answer may contain it.
pub const SECRET: &str = "s3cret-needle";

/// Files that have secrets by their name.
pub const SECRETS: [&str; 30] = [
    ".env",
    ".env.production",
    "prod.env",
    "id_rsa",
    ".ssh/id_ed25519",
    ".ssh/config",
    "server.pem",
    "tls.key",
    ".netrc",
    ".pgpass",
    ".aws/credentials",
    ".kube/config",
    ".docker/config.json",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".config/gcloud/application_default_credentials.json",
    ".config/gh/hosts.yml",
    "terraform.tfstate",
    "prod.tfvars",
    ".vault-token",
    "wallet.dat",
    ".mozilla/firefox/p/cookies.sqlite",
    ".local/share/keyrings/login.keyring",
    "office.ovpn",
    ".gnupg/private.gpg",
    ".cargo/credentials.toml",
    ".codex/auth.json",
    ".bash_history",
    "secrets.toml",
];

/// Files of the state folder, as a host and its commands leave them.
pub const STATE_FILES: [&str; 12] = [
    "config.toml",
    "run/page.json",
    "run/host.json",
    "run/host.sock.json",
    "modules/helper.py",
    "prompts/agent.md",
    "trust",
    "log/host.log",
    "talks/one.json",
    "read/abc/last",
    "history/abc.jsonl",
    "recovered/nb.ipynb",
];
