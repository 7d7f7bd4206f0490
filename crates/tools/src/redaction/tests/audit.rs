//! Kinds of credentials and encodings, each checked to leave nothing of the secret. Also texts of
//! this project, which must stay unchanged. Values are assembled here, so that scanners do not
//! report them.

mod kinds;

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
    let kinds = kinds::kinds();
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
    "crates/tools/src/redaction/tests/audit/kinds.rs",
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
