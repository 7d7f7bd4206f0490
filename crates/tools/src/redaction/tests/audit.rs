//! Kinds of credentials and encodings, each checked to leave nothing of the secret. Also texts of
//! this project, which must stay unchanged. Values are assembled here, so that scanners do not
//! report them.

use std::path::Path;

use super::super::Redaction;

/// Made up: as long and as mixed as real keys.
const MIXED: &str = "aB3dE5fG7hJ9kL2mN4pQ6rS8tU0vW1xY3zA5bC7dE9fG2hJ4kL6mP8qR0sT1uV3wX5yZ7aB9cD2eF4gH6";
const HEX: &str = "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9";

fn mixed(length: usize) -> String {
    MIXED.chars().cycle().take(length).collect()
}

fn hex(length: usize) -> String {
    HEX.chars().cycle().take(length).collect()
}

fn upper(length: usize) -> String {
    "J2K3L4M5N6P7Q2R3".chars().cycle().take(length).collect()
}

fn uuid() -> String {
    format!("{}-{}-4{}-8{}-{}", &HEX[..8], &HEX[8..12], &HEX[12..15], &HEX[15..18], &HEX[18..30])
}

fn base64(text: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// A kind, a text that has it, and the part that must be gone.
type Case = (&'static str, String, String);

fn bare(kind: &'static str, secret: String) -> Case {
    (kind, format!("it is {secret}, see"), secret)
}

fn around(kind: &'static str, text: &str, secret: String) -> Case {
    (kind, text.replace("{}", &secret), secret)
}

fn kinds() -> Vec<Case> {
    let with = |prefix: &str, length: usize| format!("{prefix}{}", mixed(length));
    let with_hex = |prefix: &str, length: usize| format!("{prefix}{}", hex(length));
    let jwt = format!("eyJ{0}.eyJ{0}.{0}", mixed(30));
    let pem = |kind: &str| {
        let line = mixed(64);
        format!("-----BEGIN {kind}-----\n{line}\n{line}\n{}==\n-----END {kind}-----", mixed(20))
    };
    vec![
        bare("AWS access key", format!("AKIA{}", upper(16))),
        bare("AWS session key", format!("ASIA{}", upper(16))),
        around("AWS secret key", "aws_secret_access_key = {}", mixed(40)),
        around("AWS session token", "aws_session_token = {}", mixed(120)),
        bare("AWS Bedrock key", with("ABSK", 120)),
        bare("Google API key", with("AIza", 35)),
        bare("Google OAuth token", with("ya29.", 60)),
        bare("Google client secret", with("GOCSPX-", 28)),
        around("Google service account", "\"private_key\": \"{}\",", pem("PRIVATE KEY").replace('\n', "\\n")),
        around(
            "Azure storage key",
            "DefaultEndpointsProtocol=https;AccountName=x;AccountKey={};",
            format!("{}==", mixed(86)),
        ),
        around(
            "Azure SAS",
            "https://x.blob.core.windows.net/c?sv=2022&sig={}&se=1",
            format!("{}%3D", mixed(43)),
        ),
        around("Azure AD secret", "client: {}", format!("{}8Q~{}", &MIXED[..3], mixed(34))),
        around("Azure DevOps token", "AZURE_DEVOPS_EXT_PAT_TOKEN={}", mixed(52).to_lowercase()),
        around("Azure Service Bus", "Endpoint=sb://x/;SharedAccessKey={}", format!("{}=", mixed(43))),
        bare("GitHub token", with("ghp_", 36)),
        bare("GitHub OAuth token", with("gho_", 36)),
        bare("GitHub app token", with("ghs_", 36)),
        bare("GitHub fine-grained token", format!("github_pat_{}_{}", mixed(22), mixed(59))),
        bare("GitLab token", with("glpat-", 20)),
        bare("GitLab runner token", with("GR1348941", 20)),
        bare("GitLab deploy token", with("gldt-", 20)),
        bare("Bitbucket password", with("ATBB", 32)),
        bare("Slack bot token", with("xoxb-123456789012-123456789012-", 24)),
        bare("Slack app token", format!("xapp-1-A{}-1234567890123-{}", upper(10), hex(64))),
        around(
            "Slack webhook",
            "https://hooks.slack.com/services/{}",
            format!("T{}/B{}/{}", upper(8), upper(8), mixed(24)),
        ),
        bare("Stripe key", with("sk_live_", 24)),
        bare("Stripe restricted key", with("rk_live_", 24)),
        bare("Stripe webhook secret", with("whsec_", 32)),
        bare("Twilio key", with_hex("SK", 32)),
        around("Twilio auth token", "TWILIO_AUTH_TOKEN={}", hex(32)),
        bare("SendGrid key", format!("SG.{}.{}", mixed(22), mixed(43))),
        bare("Mailgun key", with_hex("key-", 32)),
        around("Mailchimp key", "mailchimp_api_key: {}", format!("{}-us12", hex(32))),
        bare("npm token", with("npm_", 36)),
        around("npm auth line", "//registry.npmjs.org/:_authToken={}", uuid()),
        bare("PyPI token", with("pypi-AgEIcHlwaS5vcmc", 70)),
        bare("crates.io token", with("cio", 32)),
        bare("RubyGems key", with_hex("rubygems_", 48)),
        bare("Docker token", with("dckr_pat_", 27)),
        around(
            "Docker auth",
            "{\"auths\": {\"ghcr.io\": {\"auth\": \"{}\"}}}",
            base64("annabel:hunter2-and-more"),
        ),
        bare("Hugging Face token", with("hf_", 34)),
        bare("OpenAI key", with("sk-", 48)),
        bare("OpenAI project key", with("sk-proj-", 60)),
        bare("Anthropic key", with("sk-ant-api03-", 80)),
        bare("OpenRouter key", with("sk-or-v1-", 64)),
        bare("Groq key", with("gsk_", 52)),
        bare("xAI key", with("xai-", 60)),
        bare("Perplexity key", with("pplx-", 48)),
        bare("Replicate token", with("r8_", 37)),
        bare("NVIDIA key", with("nvapi-", 64)),
        bare("LangSmith key", format!("lsv2_pt_{}_{}", hex(32), hex(10))),
        around("Cohere key", "cohere_api_key: {}", mixed(40)),
        around("Weights & Biases key", "WANDB_API_KEY={}", hex(40)),
        bare("Databricks token", with_hex("dapi", 32)),
        around("Snowflake password", "snowflake://ann:{}@account/db", "Wint3r!isCold".to_owned()),
        bare("Vault token", with("hvs.", 90)),
        bare("Terraform token", format!("{}.atlasv1.{}", mixed(14), mixed(67))),
        bare("Heroku key", with("HRKU-AA", 58)),
        around("Heroku key, old", "heroku_api_key = {}", uuid()),
        bare("DigitalOcean token", with_hex("dop_v1_", 64)),
        around("Cloudflare key", "CLOUDFLARE_API_TOKEN={}", mixed(40)),
        around("Datadog key", "datadog_api_key: {}", hex(32)),
        bare("New Relic key", format!("NRAK-{}", upper(27))),
        bare("Sentry token", with_hex("sntryu_", 64)),
        around("Sentry DSN", "https://{}@o1.ingest.sentry.io/1", hex(32)),
        bare("Telegram token", format!("123456789:AA{}", mixed(33))),
        bare(
            "Discord token",
            format!("{}.{}.{}", base64("198622483471925248").trim_end_matches('='), &MIXED[..6], mixed(27)),
        ),
        around(
            "Discord webhook",
            "https://discord.com/api/webhooks/{}",
            format!("198622483471925248/{}", mixed(68)),
        ),
        bare("Shopify token", with_hex("shpat_", 32)),
        bare("Square token", with("sq0atp-", 22)),
        bare("PayPal token", format!("access_token$production${}${}", &HEX[..16], hex(32))),
        bare(
            "age key",
            format!("AGE-SECRET-KEY-1{}", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".repeat(2)[..58].to_owned()),
        ),
        bare("RSA key", pem("RSA PRIVATE KEY")),
        bare("OpenSSH key", pem("OPENSSH PRIVATE KEY")),
        bare("PGP key", pem("PGP PRIVATE KEY BLOCK")),
        bare("JWT", jwt.clone()),
        around("bearer token", "Authorization: Bearer {}", mixed(40)),
        around("basic auth", "Authorization: Basic {}", base64("ann:hunter2-and-more")),
        around("password in an address", "postgres://ann:{}@db.example.org/x", "hunter2".to_owned()),
        around(
            "connection string",
            "Server=db;Database=x;User Id=sa;Password={};",
            "Tr0ub4dor&3".replace('&', "!"),
        ),
        around("JDBC address", "jdbc:mysql://db/x?user=ann&password={}", "Tr0ub4dor3".to_owned()),
        around("kube config token", "users:\n- name: x\n  user:\n    token: {}", jwt),
        around("kube config key", "    client-key-data: {}", base64(&pem("EC PRIVATE KEY"))),
        around("Kubernetes secret", "data:\n  password: {}", base64("hunter2-and-more!")),
        around(".netrc", "machine x.org login ann password {}", "hunter2x9".to_owned()),
        around(".pgpass", "db.example.org:5432:shop:ann:{}", "Tr0ub4dor&3".to_owned()),
        around("htpasswd", "ann:{}", format!("$apr1${}${}", &MIXED[..8], mixed(22))),
        around("shadow line", "root:{}:19000:0", format!("$6${}${}", mixed(16), mixed(86))),
        around("cookie", "Cookie: {}", format!("sessionid={}", mixed(32))),
        around("WireGuard key", "PrivateKey = {}", format!("{}=", mixed(43))),
        around("Django key", "SECRET_KEY = 'django-insecure-{}'", mixed(50)),
        around("Linear key", "lin: {}", with("lin_api_", 40)),
        around("Notion token", "t: {}", with("ntn_12345678901", 35)),
        bare("Figma token", with("figd_", 40)),
        bare("Postman key", format!("PMAK-{}-{}", hex(24), hex(34))),
        bare("Grafana token", format!("glsa_{}_{}", mixed(32), &HEX[..8])),
        bare("Airtable token", format!("pat{}.{}", mixed(14), hex(64))),
        bare("Pulumi token", with_hex("pul-", 40)),
        bare("Doppler token", with("dp.pt.", 43)),
        bare("Supabase token", with_hex("sbp_", 40)),
        bare("Atlassian token", with("ATATT3xFfGF0", 180)),
        bare("SonarQube token", with_hex("squ_", 40)),
        bare("Tailscale key", with("tskey-auth-", 30)),
        bare("HubSpot token", format!("pat-na1-{}", uuid())),
        bare("1Password token", with("ops_eyJ", 260)),
        around("Okta token", "okta_token: {}", format!("00{}", mixed(40))),
        around("Algolia key", "algolia admin = \"{}\"", hex(32)),
        bare("Dynatrace token", format!("dt0c01.{}.{}", upper(24), upper(64))),
    ]
}

const TOKEN: fn() -> String = || format!("ghp_{}", mixed(36));

fn disguises() -> Vec<Case> {
    let (token, key, password) = (TOKEN(), mixed(32), "hunter2X9".to_owned());
    let case = |name, text: String, secret: &str| (name, text, secret.to_owned());
    let percent = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    let json = |text: &str| serde_json::to_string(text).unwrap();
    let middle = &token[12..30];
    let tail = &token[22..];
    vec![
        case("YAML without quotes", format!("db:\n  password: {password}\n  port: 1"), &password),
        case("YAML key", format!("api_key: {key}\n"), &key),
        case("TOML", format!("[db]\npassword = \"{password}\""), &password),
        case("INI", format!("[db]\npassword = {password}\n"), &password),
        case("properties", format!("spring.datasource.password={password}\n"), &password),
        case(".env", format!("A=1\nDB_PASSWORD={password}\n"), &password),
        case("shell export", format!("export SERVICE_TOKEN={key}"), &key),
        case("PowerShell", format!("$env:SERVICE_TOKEN = \"{key}\""), &key),
        case("environment dump", format!("PATH=/bin\nSERVICE_SECRET={key}\nHOME=/x"), &key),
        case("Dockerfile", format!("ENV SERVICE_TOKEN {key}"), &key),
        case("dict of Python", format!("{{'user': 'ann', 'password': '{password}'}}"), &password),
        case("os.environ", format!("os.environ[\"SERVICE_TOKEN\"] = \"{key}\""), &key),
        case("typed assignment", format!("api_key: str = \"{key}\""), &key),
        case("keyword argument", format!("connect(host='x', password='{password}')"), &password),
        case("camelCase", format!("const clientSecret = '{key}';"), &key),
        case("upper case key", format!("\"PASSWORD\": \"{password}\""), &password),
        case("JSON in JSON", json(&json(&format!("{{\"password\": \"{password}\"}}"))), &password),
        case("token behind an escape", format!("'first\\n{token}\\nlast'"), &token),
        case("within a name", format!("MY_{token}"), &token),
        case(
            "percent-encoded",
            format!("https://x.org/?q={}", percent(&format!("token={token}"))),
            &percent(&token),
        ),
        case("percent-encoded name", format!("a=1%26password%3D{password}%26b"), &password),
        case("query of an address", format!("https://x.org/a?api_key={key}&b=1"), &key),
        case("HTML entities", format!("&quot;password&quot;: &quot;{password}&quot;"), &password),
        case("XML element", format!("<db><password>{password}</password></db>"), &password),
        case("XML attribute", format!("<db user=\"x\" password=\"{password}\"/>"), &password),
        case("named value in XML", format!("<add name=\"ApiToken\" value=\"{key}\"/>"), &key),
        case("named value in YAML", format!("- name: DB_PASSWORD\n  value: {password}\n"), &password),
        case("header", format!("X-Api-Key: {key}\r\n"), &key),
        case("curl with a header", format!("curl -H 'Authorization: token {key}' https://x.org"), &key),
        case("curl with a user", format!("curl -u ann:{password} https://x.org"), &password),
        case("flag of a command", format!("tool --password {password} run"), &password),
        case(
            "traceback",
            format!("ValueError: bad login: connect(password='{password}') failed\n  File \"x.py\""),
            &password,
        ),
        case("colours of a terminal", format!("{}\u{1b}[0m\u{1b}[32m{}", &token[..12], &token[12..]), middle),
        case("colour before it", format!("\u{1b}[31m{token}\u{1b}[0m"), &token),
        case("end of a line", format!("{}\n{}", &token[..22], &token[22..]), tail),
        case("two strings", format!("t = ('{}'\n     '{}')", &token[..22], &token[22..]), tail),
        case("strings with a plus", format!("t = \"{}\" + \"{}\"", &token[..22], &token[22..]), tail),
        case("quoted-printable", format!("{}=\n{}", &token[..22], &token[22..]), tail),
        case("letters without width", format!("{}\u{200b}{}", &token[..22], &token[22..]), tail),
        case(
            "base64",
            format!("blob: {}", base64(&format!("x {token} y"))),
            &base64(&format!("x {token} y")),
        ),
        case("base64 twice", base64(&base64(&token)), &base64(&base64(&token))),
        case("hexadecimal", token.bytes().map(|byte| format!("{byte:02x}")).collect(), "6768705f"),
        case(
            "bytes of Python",
            token.bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
            "\\x67\\x68\\x70",
        ),
        case(
            "escapes of JSON",
            token.chars().map(|letter| format!("\\u{:04x}", u32::from(letter))).collect(),
            "\\u0067\\u0068",
        ),
        case("cut in a table", format!("0  ann  {}...", &token[..20]), &token[..20]),
        case("cut at the end", format!("ann {}", &token[..20]), &token[..20]),
        case("column of a table", format!("name      value\npassword  {password}\n"), &password),
        case("table of Markdown", format!("| password | {password} |"), &password),
        case("pair in a list", format!("[('password', '{password}'), ('user', 'ann')]"), &password),
        case("comparison", format!("if password == '{password}':"), &password),
    ]
}

#[track_caller]
fn check(what: &str, cases: &[Case]) {
    let redaction = Redaction::default();
    let mut missed = Vec::new();
    for (name, text, secret) in cases {
        assert!(text.contains(secret.as_str()), "{name}: the case is wrong: {text}");
        let seen = redaction.text(text);
        if seen.contains(secret.as_str()) {
            missed.push(format!("{name}: {text}\n    {seen}"));
        }
    }
    let caught = cases.len() - missed.len();
    assert!(missed.is_empty(), "{what}: {caught} of {} caught; missed:\n{}", cases.len(), missed.join("\n"));
}

#[test]
fn all_kinds_of_credentials_are_caught() {
    let kinds = kinds();
    assert!(kinds.len() >= 100, "{}", kinds.len());
    check("kinds", &kinds);
}

#[test]
fn encoded_credentials_are_caught() {
    let disguises = disguises();
    assert!(disguises.len() >= 50, "{}", disguises.len());
    check("disguises", &disguises);
}

/// Known gaps. A case that is detected one day moves up.
#[test]
fn these_encodings_are_not_detected() {
    let token = TOKEN();
    let reversed: String = token.chars().rev().collect();
    let numbers: Vec<String> = token.bytes().map(|byte| byte.to_string()).collect();
    let spaced: Vec<String> = token.chars().map(String::from).collect();
    for text in
        [reversed, numbers.join(", "), spaced.join(" "), token.replace("ghp_", ""), token.to_uppercase()]
    {
        assert_eq!(Redaction::default().text(&text), text);
    }
}

#[test]
fn innocent_text_is_left_alone() {
    let (sha, uuid) = (hex(40), uuid());
    for text in [
        "the state is SG. and so is SG..",
        "max_tokens=4096, token_count = 12, n_tokens: 512",
        "tokenizer = AutoTokenizer.from_pretrained('bert-base-uncased')",
        "pad_token='[PAD]', eos_token=\"<|endoftext|>\"",
        "sorted(rows, key=lambda row: row[1])",
        "The password must have 8 characters, 1 digit and a capital.",
        "token = os.environ[\"TOKEN\"]",
        "password = getpass.getpass('Password for user1: ')",
        "api_key = config['api_key_v2']",
        "token = response.json()['access_token']",
        "secret = hashlib.sha256(data1).hexdigest()",
        "def login(user1, password1, token=None): return user1",
        "password: Optional[str] = None",
        "self.password = password1",
        "key = f'{prefix}-{index}'",
        "cache_key = 'users-2024-01'",
        "color: #a1b2c3; background: #0f0f0f",
        "x = 0x1f2e3d4c5b6a7988",
        "pandas==2.2.3 --hash=sha256:0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9",
        "integrity: sha512-aB3dE5fG7hJ9kL2mN4pQ6rS8tU0vW1xY3zA5bC7dE9fG2hJ4kL6m==",
        "author = 'Ann B. Clark 2nd'",
        "https://example.org/a?key=value1&page=2",
        "auth: required since 2.0",
        "Bearer authentication is described in RFC 6750",
        "password = {{ vault_password }}",
        "password: ${DB_PASSWORD}",
        "TOKEN=$(cat token.txt)",
        "secretName: my-secret-v2",
        "tokens per second: 1234.5",
        "task-12 risk-based-approach-2024-of-the-company",
        "the pass rate was 98.5%, pass=True",
        "key  value\na    1\nb    2",
        "password_file: /run/secrets/db1",
        "cookie: accepted",
        "run(['--pass-env', 'PI_SHOP_1'])",
        "password = 'db_password'",
        "getenv('API_TOKEN', 'OTHER_TOKEN_2')",
        &format!("commit {sha}"),
        &format!("twitter archive {sha}"),
        &format!("id = '{uuid}'"),
        &format!("run_key: {uuid}"),
    ] {
        assert_eq!(Redaction::default().text(text), text);
    }
}

/// Files that hold credentials on purpose. All other files are read.
const ON_PURPOSE: &[&str] = &[
    "crates/assistant/src/provider/account.rs",
    "crates/cli/tests/it/chat.rs",
    "crates/cli/tests/it/context.rs",
    "crates/cli/tests/it/mcp/redaction.rs",
    "crates/kernel/tests/tls/server.key",
    "crates/tools/src/redaction/assignments.rs",
    "crates/tools/src/redaction/names.rs",
    "crates/tools/src/redaction/positions.rs",
    "crates/tools/src/redaction/tests.rs",
    "crates/tools/src/redaction/tests/audit.rs",
    "crates/tools/tests/it/redaction.rs",
    "crates/tools/tests/it/search.rs",
    "web/test/page/assistant.mjs",
];

/// Texts of the project: sources, tests, docs, fixtures and notebooks.
#[test]
fn nothing_in_this_project_is_redacted() {
    /// Generated folders.
    const MADE: &[&str] = &["target", "node_modules", ".git", "dist"];
    fn walk(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.path().is_dir() {
                true if MADE.iter().any(|made| entry.file_name() == *made) => {}
                true => walk(&entry.path(), files),
                false => files.push(entry.path()),
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in [
        "crates", "docs", "fixtures", "examples", "skills", "bench", "xtask", "testkit", "web/src",
        "web/test",
    ] {
        walk(&root.join(folder), &mut files);
    }
    files.extend(
        ["README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "Cargo.lock"]
            .map(|name| root.join(name)),
    );
    let gone: Vec<&&str> = ON_PURPOSE.iter().filter(|name| !root.join(name).exists()).collect();
    assert!(gone.is_empty(), "listed, and not there: {gone:?}");
    files.retain(|file| !ON_PURPOSE.iter().any(|name| root.join(name) == *file));
    let (redaction, mut read, mut taken) = (Redaction::default(), 0, Vec::new());
    for file in &files {
        const LARGEST: u64 = 400_000;
        let is_small = file.metadata().is_ok_and(|about| about.len() <= LARGEST);
        let Some(text) = std::fs::read_to_string(file).ok().filter(|_| is_small) else { continue };
        read += 1;
        let before: Vec<&str> = text.lines().collect();
        let seen = redaction.text(&text);
        let lines = seen.lines().filter(|line| line.contains("[redacted: ") && !before.contains(line));
        taken.extend(lines.map(|line| format!("{}: {line}", file.display())));
    }
    assert!(read > 900, "{read} files");
    assert!(taken.is_empty(), "{}", taken.join("\n"));
}
