mod audit;

use cellist_kernel::environment::SECRET_WORDS;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::json;

use super::*;

/// Made up: as long and as mixed as real keys.
const BODY: &str = "aB3dE5fG7hJ9kL2mN4pQ6rS8tU0vW1xY3zA5bC7dE9fG2hJ4kL6m";

fn seen(text: &str) -> String {
    Redaction::default().text(text).into_owned()
}

/// Credentials in their usual form, with their labels. Assembled here, so that scanners do not
/// report them.
fn credentials() -> Vec<(String, &'static str)> {
    let with = |prefix: &str, length: usize| format!("{prefix}{}", &BODY[..length]);
    let hex = "0123456789abcdef0123456789abcdef";
    vec![
        (with("sk-", 48), "OpenAI key"),
        (with("sk-proj-", 40), "OpenAI key"),
        (with("sk-ant-api03-", 40), "Anthropic key"),
        (with("sk-or-v1-", 40), "OpenRouter key"),
        (with("AIza", 35), "Google key"),
        (with("ya29.", 40), "Google token"),
        (with("GOCSPX-", 28), "Google secret"),
        (format!("AKIA{}", "J2K3L4M5N6P7Q8R9"), "AWS key"),
        (with("ghp_", 36), "GitHub token"),
        (with("gho_", 36), "GitHub token"),
        (with("github_pat_", 50), "GitHub token"),
        (with("glpat-", 20), "GitLab token"),
        (with("xoxb-1234567890-", 24), "Slack token"),
        (with("hf_", 34), "Hugging Face token"),
        (with("sk_live_", 24), "Stripe key"),
        (with("rk_test_", 24), "Stripe key"),
        (with("gsk_", 52), "Groq key"),
        (with("npm_", 36), "npm token"),
        (format!("pypi-AgEI{BODY}"), "PyPI token"),
        (format!("dapi{hex}"), "Databricks token"),
        (format!("SG.{}.{}", &BODY[..22], &BODY[..43]), "SendGrid key"),
        (format!("eyJ{0}.eyJ{0}.{0}", &BODY[..20]), "JWT"),
        (
            format!("-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n{BODY}\n-----END RSA PRIVATE KEY-----"),
            "private key",
        ),
        (
            format!("-----BEGIN OPENSSH PRIVATE KEY-----\\n{BODY}\\n-----END OPENSSH PRIVATE KEY-----"),
            "private key",
        ),
    ]
}

#[test]
fn credentials_of_every_known_kind_are_redacted_anywhere() {
    for (credential, label) in credentials() {
        let mark = format!("[redacted: {label}]");
        for (before, after) in [
            ("", ""),
            ("x = '", "'\n"),
            ("é ", " é"),
            ("(", ")"),
            ("https://x.org/?q=", "&more"),
            ("> ", ", and"),
        ] {
            let text = format!("{before}{credential}{after}");
            assert_eq!(seen(&text), format!("{before}{mark}{after}"), "{text}");
        }
        assert_eq!(seen(&format!("{credential} {credential}")), format!("{mark} {mark}"));
    }
}

#[test]
fn secrets_are_found_by_their_context() {
    let key = &BODY[..40];
    let table = [
        (
            "postgres://ann:hunter2@db.example.org/x".to_owned(),
            "postgres://ann:[redacted: password]@db.example.org/x",
        ),
        ("redis://:SuperSecret99@cache:6379".to_owned(), "redis://:[redacted: password]@cache:6379"),
        ("password = \"hunter2\"".to_owned(), "password = \"[redacted: password]\""),
        ("{'DB_PASSWORD': 'Tr0ub4dor&3'}".to_owned(), "{'DB_PASSWORD': '[redacted: password]'}"),
        (format!("api_key=\"{key}\""), "api_key=\"[redacted: secret]\""),
        (format!("\"client_secret\": \"{key}\""), "\"client_secret\": \"[redacted: secret]\""),
        (format!("https://x.org/a?token={key}&b=1"), "https://x.org/a?token=[redacted: secret]&b=1"),
        (
            format!("Endpoint=sb://x/;SharedAccessKey={key}"),
            "Endpoint=sb://x/;SharedAccessKey=[redacted: secret]",
        ),
        ("A=1\nexport MY_TOKEN=abc123def456\nB=2".to_owned(), "A=1\nexport MY_TOKEN=[redacted: secret]\nB=2"),
        (format!("token='ghp_{}'", &BODY[..36]), "token='[redacted: GitHub token]'"),
        (format!("aws_secret_access_key = {key}"), "aws_secret_access_key = [redacted: AWS secret key]"),
        (format!("Authorization: Bearer {key}"), "Authorization: Bearer [redacted: bearer token]"),
        ("authorization: Basic dXNlcjpodW50ZXIy".to_owned(), "authorization: Basic [redacted: password]"),
        (format!("-----BEGIN PRIVATE KEY-----\n{BODY}\n{BODY}"), "[redacted: private key]"),
    ];
    for (text, expected) in table {
        assert_eq!(seen(&text), expected, "{text}");
    }
}

/// A made-up key of 2048 bits in PEM form.
fn key_file() -> Vec<String> {
    let line = |number: usize| {
        let letters = BODY.bytes().cycle().skip(number * 7).take(64);
        letters.map(char::from).collect::<String>()
    };
    let mut lines = vec!["-----BEGIN PRIVATE KEY-----".to_owned()];
    lines.push(format!("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC{}", &line(0)[..32]));
    lines.extend((1..26).map(line));
    lines.extend(["aB3dE5f=".to_owned(), "-----END PRIVATE KEY-----".to_owned()]);
    lines
}

#[test]
fn a_part_of_a_private_key_is_redacted() {
    const MARK: &str = "[redacted: private key]";
    let lines = key_file();
    let last = lines.len();
    // Ways to show the lines of a file: plain, numbered, quoted, in one line of JSON, indented.
    let shapes: [(&str, &str); 6] =
        [("", "\n"), ("  12: ", "\n"), ("    \"", "\\n\"\n"), ("", "\\n"), ("> ", "\n"), ("\t", "\r\n")];
    let parts = [
        0..last,
        1..last,
        2..last,
        9..last,
        last - 3..last,
        0..last - 1,
        0..9,
        0..2,
        1..last - 1,
        1..9,
        1..2,
    ];
    for (before, after) in shapes {
        for part in parts.clone() {
            let shown: String =
                lines[part.clone()].iter().map(|line| format!("{before}{line}{after}")).collect();
            let text = format!("What is here:\n{shown}That is all, or so.\n");
            let seen = seen(&text);
            assert_eq!(seen.matches(MARK).count(), 1, "{part:?}: {text}\n\n{seen}");
            assert!(seen.starts_with("What is here:\n") && seen.ends_with("That is all, or so.\n"), "{seen}");
            for line in &lines[part.clone()] {
                assert!(!seen.contains(line.as_str()), "{part:?}: {line}\n\n{seen}");
            }
        }
    }
    // A line that was cut in the middle.
    let cut = format!("{}\n{}\n{}… [40 more bytes]", lines[0], lines[1], &lines[2][..40]);
    assert_eq!(seen(&cut), format!("{MARK}… [40 more bytes]"));
    let encrypted = format!(
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n{}\n{}\n",
        lines[2], lines[3]
    );
    assert_eq!(seen(&encrypted), format!("{MARK}\n"));
}

#[test]
fn ordinary_text_is_not_redacted() {
    let base64 =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    for text in [
        "",
        "x = 1",
        "d41d8cd98f00b204e9800998ecf8427e",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "commit 4760700aa3b1c44298fc1c149afbf4c8996fb92427",
        "123e4567-e89b-12d3-a456-426614174000",
        base64,
        &format!("data:image/png;base64,{base64}"),
        "from sk-learn-contrib-imbalanced-learn import x",
        "pip install sk-video-classification-toolkit",
        "password = getpass.getpass()",
        "password = input('Password: ')",
        "def connect(password=None, token=None): ...",
        "password=\"your-password\"",
        "\"password\": \"string\"",
        "token = tokens[index]",
        "tokens = ['the', 'cat']",
        "token = \"<|endoftext|>\"",
        "tokenizer = \"bert-base-uncased-whole-word-masking\"",
        "api_key = os.environ[\"OPENAI_API_KEY\"]",
        "API_KEY=$OTHER_KEY_2 run",
        "postgres://user:password@localhost/db",
        "postgres://{user}:{password}@{host}/db",
        "https://example.org:8080/a@b",
        "see http://x.org and mail me@x.org: thanks",
        "hf_model = AutoModel.from_pretrained(name)",
        "AKIAlike words and ghp_short",
        "the bearer of bad news is somebody else entirely",
        "eyJhbGciOiJIUzI1NiJ9 is a header alone",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        &format!("{BODY}\n{BODY}\n-----END CERTIFICATE-----"),
        &format!("MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBa\n{BODY}\n{BODY}"),
        &format!("MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA{BODY}"),
        "assert text.startswith('-----BEGIN PRIVATE KEY-----')",
        "assert text.strip().endswith('-----END PRIVATE KEY-----')",
        "def check(text):\n    return text.endswith(\"-----END RSA PRIVATE KEY-----\")\n",
        "MHcCAQEEI is how some begin",
        "[redacted: GitHub token]",
    ] {
        assert_eq!(seen(text), text);
    }
}

#[test]
fn withheld_values_are_labelled_with_their_variable() {
    let redaction = Redaction::withholding([
        ("MY_API_KEY", "quite-secret-1"),
        ("SHORT_TOKEN", "abc"),
        ("PGPASSWORD", "postgres"),
        ("AWS_REGION", "eu-central-1"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/data/ann/key.json"),
        ("OPENAI_BASE_URL", "https://models.example.org/v1"),
        ("DATABASE_URL", "mysql://ann:Wint3r-is-c0ld@db/x"),
        ("GITHUB_TOKEN", "aaaabbbbccccdddd1111"),
    ]);
    let check = |text: &str, expected: &str| assert_eq!(redaction.text(text), expected);
    check("it is 'quite-secret-1'.", "it is '[redacted: MY_API_KEY]'.");
    check("quite-secret-12 is another", "quite-secret-12 is another");
    check("xaaaabbbbccccdddd1111x", "x[redacted: GITHUB_TOKEN]x");
    check("Wint3r-is-c0ld, abc, postgres", "[redacted: DATABASE_URL], abc, postgres");
    let plain = "eu-central-1 /data/ann/key.json https://models.example.org/v1 é";
    check(plain, plain);
    // A name takes precedence over a kind.
    let key = format!("ghp_{}", &BODY[..36]);
    let named = Redaction::withholding([("WORK_TOKEN", key.as_str())]);
    assert_eq!(named.text(&key), "[redacted: WORK_TOKEN]");
    let sent = serde_json::to_string(&redaction).unwrap();
    assert!(!sent.contains("quite-secret"), "{sent}");
    assert_eq!(serde_json::from_str::<Redaction>(&sent).unwrap(), redaction);
}

#[test]
fn every_name_withheld_from_kernels_counts_as_a_secret() {
    for word in SECRET_WORDS {
        let name = format!("my_{word}");
        let redaction = Redaction::withholding([(name.as_str(), "quite-secret-1")]);
        assert_eq!(redaction.text("quite-secret-1"), format!("[redacted: {name}]"));
    }
}

#[test]
fn json_strings_are_redacted_unless_redaction_is_off() {
    let key = format!("ghp_{}", &BODY[..36]);
    let mut value = json!({ "a": [key, 1, null], "b": { "c": "plain" } });
    let (before, mut redaction) = (value.clone(), Redaction::default());
    redaction.switch(false);
    redaction.json(&mut value);
    assert_eq!((&value, redaction.text(&key).as_ref()), (&before, key.as_str()));
    redaction.switch(true);
    redaction.json(&mut value);
    assert_eq!(value, json!({ "a": ["[redacted: GitHub token]", 1, null], "b": { "c": "plain" } }));
}

#[test]
fn only_our_own_marks_are_recognised() {
    let redaction = Redaction::withholding([("MY_API_KEY", "quite-secret-1")]);
    let marked = |text| redaction.marks_in(text);
    assert_eq!(marked("t = '[redacted: GitHub token]'"), ["[redacted: GitHub token]"]);
    assert_eq!(
        marked("[redacted: x] [redacted: MY_API_KEY][redacted: JWT]"),
        ["[redacted: MY_API_KEY]", "[redacted: JWT]"]
    );
    assert!(marked("[redacted: ] [redacted: nothing of ours] [redacted: password").is_empty());
}

#[test]
fn redacted_values_are_restored_where_unambiguous() {
    let redaction = Redaction::default();
    let (one, two) = (format!("ghp_{}", &BODY[..36]), format!("ghp_{}", &BODY[3..39]));
    let check = |of: &str, made: &str, expected: Result<&str, &str>| {
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(redaction.restored(made, of), expected, "{made}");
    };
    let mark = "[redacted: GitHub token]";
    check("x = 1", "x = 2", Ok("x = 2"));
    check(
        &format!("a = '{one}'"),
        &format!("b = '{mark}' + '{mark}'"),
        Ok(&format!("b = '{one}' + '{one}'")),
    );
    let both = format!("a = '{one}'\nb = '{two}'");
    check(&both, &format!("c = '{mark}'\nd = '{mark}'"), Ok(&format!("c = '{one}'\nd = '{two}'")));
    check(&both, &format!("c = '{mark}'"), Err(mark));
    check("x = 1", &format!("c = '{mark}'"), Err(mark));
    check(&format!("print('{mark}')"), &format!("print('{mark}', 1)"), Ok(&format!("print('{mark}', 1)")));
}

fn piece() -> impl Strategy<Value = String> {
    let known: Vec<String> = credentials().into_iter().map(|(credential, _)| credential).collect();
    let around = [
        "password = \"",
        "\"",
        "://u:",
        "@",
        "token=",
        "&",
        "?sig=",
        "\n",
        " ",
        "sk-",
        "é",
        "[redacted: JWT]",
    ];
    prop_oneof![
        3 => "[ -~]{0,30}",
        1 => "\\PC{0,10}",
        3 => prop::sample::select(known),
        3 => prop::sample::select(around.map(str::to_owned).to_vec()),
    ]
}

proptest! {
    // The same texts each time. A search by hand uses many more.
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn redaction_is_idempotent(pieces in prop::collection::vec(piece(), 0..12)) {
        let once = seen(&pieces.concat());
        prop_assert_eq!(seen(&once), once);
    }

    #[test]
    fn no_separate_credential_is_left(before in "[ -~é\n]{0,40}", after in "[ -~é\n]{0,40}", at in 0..22usize) {
        let (credential, _) = &credentials()[at];
        let text = format!("{before} {credential} {after}");
        prop_assert!(!seen(&text).contains(credential.as_str()));
    }

    #[test]
    fn any_text_is_redacted_without_a_panic(pieces in prop::collection::vec(prop_oneof![
        "\\PC{0,8}",
        any::<String>(),
        prop::sample::select(vec!["\u{1b}[", "%3", "%41", "\\u00", "\\x4", "&#", "=\n", "é", "token=", "password: ", "ghp_", "eyJ",
            "://", ":5432:", "twitter", "-----BEGIN PRIVATE KEY-----", "\u{200b}", "curl -u ", "\"", "aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ"]).prop_map(str::to_owned),
    ], 0..12)) {
        seen(&pieces.concat());
    }

    #[test]
    fn plain_words_stay_unchanged(words in prop::collection::vec("[a-z]{1,12}", 0..30)) {
        let text = words.join(" ");
        prop_assert_eq!(seen(&text), text);
    }
}

#[test]
fn withheld_values_are_recognised_but_not_stored() {
    let variables = [("OPENAI_API_KEY", "quite-long-key-7"), ("PASSED_TOKEN", "handed-on-1234")];
    let mut environment = ClientEnvironment {
        variables: variables.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        pass_env: vec!["PASSED_TOKEN".to_owned()],
        ..ClientEnvironment::default()
    };
    let mut redaction = Redaction::default();
    redaction.withhold_from(&mut environment, &Settings::default());
    // The second call finds nothing left to withhold.
    redaction.withhold_from(&mut environment, &Settings::default());
    let sent = serde_json::to_string(&(&environment, &redaction)).unwrap();
    assert!(!sent.contains("quite-long"), "{sent}");
    let (_, got): (ClientEnvironment, Redaction) = serde_json::from_str(&sent).unwrap();
    let seen = got.text("it printed quite-long-key-7 and handed-on-1234");
    assert_eq!(seen, "it printed [redacted: OPENAI_API_KEY] and handed-on-1234");
    let mut settings = Settings::default();
    settings.tools.redact = false;
    redaction.withhold_from(&mut environment, &settings);
    assert_eq!(redaction.text("quite-long-key-7"), "quite-long-key-7");
}
