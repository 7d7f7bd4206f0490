//! Finds credentials by their prefix: one table. A token may be cut at its end, continue after a
//! line end, or consist of two strings.

use std::ops::Range;

use super::SecretSpan;
use super::values::{always, has_both_cases, has_digit, is_random};

/// A kind of token.
pub(super) struct TokenKind {
    pub(super) label: &'static str,
    pub(super) prefixes: &'static [&'static str],
    /// The characters after the prefix, and their minimum number.
    letters: fn(u8) -> bool,
    least: usize,
    /// Checks the whole token, with its prefix.
    is_one: fn(&str) -> bool,
    start: TokenStart,
}

/// Positions at which a token may start.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenStart {
    /// Anywhere: the prefix is unmistakable.
    Anywhere,
    /// Only at the start of a word.
    Word,
}
use TokenStart::{Anywhere, Word};

const fn token(
    label: &'static str,
    prefixes: &'static [&'static str],
    (letters, least): (fn(u8) -> bool, usize),
    is_one: fn(&str) -> bool,
    start: TokenStart,
) -> TokenKind {
    TokenKind { label, prefixes, letters, least, is_one, start }
}

fn plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}
fn dashed(byte: u8) -> bool {
    plain(byte) || b"_-".contains(&byte)
}
fn dotted(byte: u8) -> bool {
    dashed(byte) || byte == b'.'
}
fn based(byte: u8) -> bool {
    plain(byte) || b"+/=_-".contains(&byte)
}
fn crypt(byte: u8) -> bool {
    plain(byte) || b"./$=,+".contains(&byte)
}
fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}
fn hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}
fn path(byte: u8) -> bool {
    dashed(byte) || byte == b'/'
}

pub(super) const TOKENS: &[TokenKind] = &[
    token("Anthropic key", &["sk-ant-"], (dashed, 20), is_random, Anywhere),
    token("OpenRouter key", &["sk-or-"], (dashed, 20), is_random, Word),
    token("OpenAI key", &["sk-"], (dashed, 20), is_random, Word),
    token("Google key", &["AIza"], (dashed, 35), |it| it.len() == 39, Anywhere),
    token("Google token", &["ya29."], (dashed, 20), always, Anywhere),
    token("Google token", &["1//0"], (dashed, 40), is_random, Word),
    token("Google secret", &["GOCSPX-"], (dashed, 20), always, Anywhere),
    token(
        "AWS key",
        &["AKIA", "ASIA", "ABIA", "ACCA"],
        (upper, 16),
        |it| it.len() == 20 && has_digit(it),
        Word,
    ),
    token("AWS key", &["ABSK"], (based, 100), has_both_cases, Word),
    token("GitHub token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], (plain, 36), always, Anywhere),
    token("GitHub token", &["github_pat_"], (dashed, 40), always, Anywhere),
    token(
        "GitLab token",
        &[
            "glpat-",
            "glptt-",
            "gldt-",
            "glrt-",
            "glcbt-",
            "glft-",
            "glffct-",
            "glsoat-",
            "gloas-",
            "glagent-",
            "glimt-",
            "GR1348941",
        ],
        (dotted, 20),
        has_digit,
        Anywhere,
    ),
    token(
        "Slack token",
        &["xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxe."],
        (dotted, 10),
        has_digit,
        Anywhere,
    ),
    token("Slack token", &["xapp-"], (dashed, 22), has_digit, Anywhere),
    token(
        "Slack webhook",
        &["hooks.slack.com/services/", "hooks.slack.com/workflows/"],
        (path, 20),
        always,
        Anywhere,
    ),
    token(
        "Discord webhook",
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        (path, 60),
        always,
        Anywhere,
    ),
    token("Hugging Face token", &["hf_", "api_org_"], (plain, 30), always, Word),
    token("Stripe key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_"], (plain, 16), always, Anywhere),
    token("Stripe secret", &["whsec_"], (based, 24), always, Anywhere),
    token("Groq key", &["gsk_"], (plain, 40), always, Word),
    token("xAI key", &["xai-"], (plain, 40), always, Word),
    token("Perplexity key", &["pplx-"], (plain, 40), always, Word),
    token("Replicate token", &["r8_"], (plain, 37), always, Word),
    token("NVIDIA key", &["nvapi-"], (dashed, 40), always, Word),
    token("Cerebras key", &["csk-"], (plain, 40), is_random, Word),
    token("LangSmith key", &["lsv2_pt_", "lsv2_sk_"], (dashed, 32), always, Anywhere),
    token("Pinecone key", &["pcsk_"], (dashed, 40), has_digit, Anywhere),
    token("Tavily key", &["tvly-"], (dashed, 28), is_random, Word),
    token("Weights & Biases key", &["wandb_v1_"], (dashed, 40), always, Anywhere),
    token("ElevenLabs key", &["sk_"], (hex, 48), always, Word),
    token("npm token", &["npm_"], (plain, 36), always, Word),
    token("PyPI token", &["pypi-AgE"], (dashed, 50), always, Anywhere),
    token(
        "crates.io token",
        &["cio"],
        (plain, 32),
        |it| it.len() == 35 && has_digit(it) && has_both_cases(it),
        Word,
    ),
    token("RubyGems key", &["rubygems_"], (hex, 48), always, Word),
    token("NuGet key", &["oy2"], (plain, 43), |it| it.len() == 46 && has_digit(it), Word),
    token("Docker token", &["dckr_pat_", "dckr_oat_"], (dashed, 24), always, Anywhere),
    token("SendGrid key", &["SG."], (dotted, 66), |it| parts(it, &[2, 22, 43]), Word),
    token("Mailgun key", &["key-"], (hex, 32), |it| it.len() == 36 && has_digit(it), Word),
    token("Brevo key", &["xkeysib-"], (dashed, 64), always, Anywhere),
    token("Twilio key", &["SK"], (hex, 32), |it| it.len() == 34 && has_digit(it), Word),
    token("Databricks token", &["dapi"], (hex, 32), always, Word),
    token("DigitalOcean token", &["doo_v1_", "dop_v1_", "dor_v1_"], (hex, 64), always, Anywhere),
    token("Vault token", &["hvs.", "hvb.", "hvr."], (dashed, 24), has_digit, Word),
    token("Heroku key", &["HRKU-"], (dashed, 36), always, Anywhere),
    token("New Relic key", &["NRAK-", "NRII-", "NRJS-", "NRAA-"], (dashed, 19), has_digit, Anywhere),
    token("Sentry token", &["sntrys_", "sntryu_"], (based, 40), always, Anywhere),
    token("Shopify token", &["shpat_", "shpca_", "shppa_", "shpss_"], (hex, 32), always, Anywhere),
    token("Square token", &["sq0atp-", "sq0csp-"], (dashed, 22), always, Anywhere),
    token(
        "PayPal token",
        &["access_token$production$", "access_token$sandbox$"],
        (|byte| plain(byte) || byte == b'$', 30),
        always,
        Anywhere,
    ),
    token("age key", &["AGE-SECRET-KEY-1"], (upper, 58), always, Anywhere),
    token("Linear key", &["lin_api_"], (plain, 32), always, Anywhere),
    token("Notion token", &["ntn_", "secret_"], (plain, 40), |it| it.len() < 60 && has_digit(it), Word),
    token("Figma token", &["figd_"], (dashed, 36), always, Word),
    token("Postman key", &["PMAK-"], (dashed, 50), always, Word),
    token("Doppler token", &["dp.pt.", "dp.st.", "dp.sa.", "dp.ct."], (dotted, 40), always, Word),
    token("Pulumi token", &["pul-"], (hex, 40), always, Word),
    token("Grafana token", &["glsa_", "glc_"], (based, 32), has_digit, Word),
    token(
        "Airtable token",
        &["pat"],
        (|byte| plain(byte) || byte == b'.', 79),
        |it| parts(it, &[17, 64]),
        Word,
    ),
    token("Supabase token", &["sbp_"], (hex, 40), always, Word),
    token("Supabase token", &["sb_secret_"], (dashed, 30), always, Word),
    token("Netlify token", &["nfp_"], (plain, 36), always, Word),
    token("Fly token", &["fo1_", "fm2_", "FlyV1 fm2_"], (based, 40), has_digit, Word),
    token("Atlassian token", &["ATATT3", "ATCTT3", "ATBB"], (based, 28), has_digit, Word),
    token("CircleCI token", &["CCIPAT_", "CCIPRJ_"], (dashed, 40), always, Word),
    token("Buildkite token", &["bkua_"], (hex, 40), always, Word),
    token("SonarQube token", &["squ_", "sqp_", "sqa_"], (hex, 40), always, Word),
    token("Tailscale key", &["tskey-"], (dashed, 24), has_digit, Anywhere),
    token("Mapbox token", &["sk.eyJ"], (dotted, 40), always, Word),
    token("HubSpot token", &["pat-na", "pat-eu"], (dashed, 36), has_digit, Word),
    token("Contentful token", &["CFPAT-"], (dashed, 40), always, Word),
    token("Neon key", &["napi_"], (plain, 40), always, Word),
    token("Dropbox token", &["sl."], (dashed, 100), has_both_cases, Word),
    token("Facebook token", &["EAAB", "EAAC", "EAAM", "EAAG"], (plain, 80), has_digit, Word),
    token("Prefect key", &["pnu_"], (plain, 36), always, Word),
    token(
        "Azure signature",
        &["SharedAccessSignature sr="],
        (|byte| based(byte) || b"%&.".contains(&byte), 40),
        always,
        Anywhere,
    ),
    token("JWT", &["eyJ"], (|byte| dotted(byte) || byte == b'=', 36), is_jwt, Anywhere),
    token("password hash", &["$2a$", "$2b$", "$2y$"], (crypt, 50), has_digit, Anywhere),
    token(
        "password hash",
        &["$1$", "$5$", "$6$", "$y$", "$apr1$", "$argon2"],
        (crypt, 24),
        |it| has_digit(it) && has_both_cases(it),
        Anywhere,
    ),
];

/// Characters that tell a cut token from a word.
const TELLING: usize = 8;

impl TokenKind {
    /// Returns the token whose prefix is at a position of the text.
    pub(super) fn find(&'static self, text: &str, at: usize) -> Option<SecretSpan<'static>> {
        let before = &text.as_bytes()[..at];
        let is_escaped = || before.len() >= 2 && before[before.len() - 2] == b'\\';
        let is_within = || before.last().is_some_and(u8::is_ascii_alphanumeric) && !is_escaped();
        let prefix = self.prefixes.iter().find(|prefix| text[at..].starts_with(**prefix))?;
        if self.start == Word && is_within() {
            return None;
        }
        let prefix = at..at + prefix.len();
        let run = TokenRun::of(text, prefix.clone(), self);
        let is_whole = run.count >= self.least && (self.is_one)(&run.letters);
        let is_cut = || {
            let rest = &text[run.end..];
            let is_end = rest.is_empty() || rest.starts_with("...") || rest.starts_with('…');
            is_end
                && run.count >= TELLING
                && run.count < self.least
                && has_digit(&run.letters[prefix.len()..])
        };
        (is_whole || is_cut()).then_some(SecretSpan { range: prefix.start..run.end, label: self.label })
    }

    /// Returns whether tokens of this kind may be longer than a line.
    fn is_long(&self) -> bool {
        self.least >= 36
    }
}

/// The characters of a token, without gaps.
struct TokenRun {
    letters: String,
    count: usize,
    end: usize,
}

impl TokenRun {
    fn of(text: &str, prefix: Range<usize>, token: &TokenKind) -> TokenRun {
        const MOST: usize = 16;
        let bytes = text.as_bytes();
        let run =
            |from: usize| from + bytes[from..].iter().take_while(|byte| (token.letters)(**byte)).count();
        let mut end = run(prefix.end);
        let mut letters = text[prefix.start..end].to_owned();
        for _ in 0..MOST {
            let count = letters.len() - prefix.len();
            let Some(next) = gap(bytes, end).filter(|_| count >= 4) else { break };
            let more = &text[next..run(next)];
            let goes_on = match count < token.least {
                true => !more.is_empty() && count + more.len() >= token.least.min(count + 16),
                false => token.is_long() && more.len() >= 16 && has_digit(more) && has_both_cases(more),
            };
            if !goes_on {
                break;
            }
            letters.push_str(more);
            end = next + more.len();
        }
        // A full stop ends a sentence, unless it is part of the prefix.
        let stops = letters.len() - letters.trim_end_matches('.').len().max(prefix.len());
        letters.truncate(letters.len() - stops);
        TokenRun { count: letters.len() - prefix.len(), letters, end: end - stops }
    }
}

/// Returns the position at which a token continues after a line end or in the next string.
fn gap(bytes: &[u8], at: usize) -> Option<usize> {
    const WIDEST: usize = 24;
    let is_quote = |byte: u8| b"'\"".contains(&byte);
    let rest = &bytes[at..bytes.len().min(at + WIDEST)];
    let width = rest.iter().take_while(|byte| b" \t\r\n\\'\"+>|#".contains(byte)).count();
    let gap = &rest[..width];
    let is_line = gap.contains(&b'\n') && !gap.iter().any(|byte| is_quote(*byte));
    let is_joined = gap.len() >= 3 && is_quote(gap[0]) && is_quote(gap[width - 1]);
    (is_line || is_joined).then_some(at + width)
}

fn parts(text: &str, lengths: &[usize]) -> bool {
    text.split('.').map(str::len).eq(lengths.iter().copied())
}

fn is_jwt(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let [head, body, sign, ..] = parts.as_slice() else { return false };
    let is_readable = body.starts_with("eyJ") && body.len() >= 13 && sign.len() >= 10;
    let is_encrypted = parts.len() == 5 && body.len() >= 40;
    head.len() >= 13 && (is_readable || is_encrypted)
}
