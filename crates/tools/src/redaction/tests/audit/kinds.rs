//! Kinds of credentials, each with a made-up value.

use super::{Case, HEX, MIXED, around, bare, base64, hex, mixed, upper, uuid};

fn with(prefix: &str, length: usize) -> String {
    format!("{prefix}{}", mixed(length))
}

fn with_hex(prefix: &str, length: usize) -> String {
    format!("{prefix}{}", hex(length))
}

fn jwt() -> String {
    format!("eyJ{0}.eyJ{0}.{0}", mixed(30))
}

fn pem(kind: &str) -> String {
    let line = mixed(64);
    format!("-----BEGIN {kind}-----\n{line}\n{line}\n{}==\n-----END {kind}-----", mixed(20))
}

pub(super) fn kinds() -> Vec<Case> {
    [clouds_and_models(), platforms_and_files()].concat()
}

fn clouds_and_models() -> Vec<Case> {
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
    ]
}

fn platforms_and_files() -> Vec<Case> {
    vec![
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
        bare("JWT", jwt()),
        around("bearer token", "Authorization: Bearer {}", mixed(40)),
        around("basic auth", "Authorization: Basic {}", base64("ann:hunter2-and-more")),
        around("password in an address", "postgres://ann:{}@db.example.org/x", "hunter2".to_owned()),
        around(
            "connection string",
            "Server=db;Database=x;User Id=sa;Password={};",
            "Tr0ub4dor&3".replace('&', "!"),
        ),
        around("JDBC address", "jdbc:mysql://db/x?user=ann&password={}", "Tr0ub4dor3".to_owned()),
        around("kube config token", "users:\n- name: x\n  user:\n    token: {}", jwt()),
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
