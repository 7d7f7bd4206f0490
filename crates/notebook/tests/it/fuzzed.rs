//! The bodies of the fuzz targets, driven by proptest: bytes and texts near the real thing.

use proptest::prelude::*;

#[path = "../../../../fuzz/bodies/load.rs"]
mod load;
#[path = "../../../../fuzz/bodies/text.rs"]
mod text;

/// Texts made of the tokens that matter to the parsers.
fn pieces(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(pieces), 0..24).prop_map(|pieces| pieces.concat())
}

const JSON: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    " ",
    "\n",
    "\r\n",
    "\t",
    "\"cells\"",
    "\"nbformat\": 4",
    "\"cell_type\": \"code\"",
    "\"cell_type\":\"markdown\"",
    "\"source\": []",
    "\"source\":\"x\\n\"",
    "\"source\": [\"a\\n\", \"\\ud800\"]",
    "\"id\": \"a\"",
    "\"outputs\"",
    "NaN",
    "1e0",
    "\"\\u00e9\"",
    "\u{feff}",
    "null",
    "é",
];

const MARKED: &[&str] = &[
    "# %% [code]",
    "# %% [markdown] cell:0",
    "# %% [raw] cell:1",
    "# %% [code] cell:99",
    "# %%",
    "#%%",
    "# %%% [",
    "%",
    "[",
    " ",
    "\n",
    "\n",
    "\r\n",
    "\r",
    "x = 1",
    "\u{2028}",
    "\u{0}",
    "é",
    "# %% [cod]",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_load_or_fail_cleanly(data in prop::collection::vec(any::<u8>(), 0..200)) {
        load::load(&data);
    }

    #[test]
    fn anything_like_a_notebook_loads_or_fails_cleanly(cells in pieces(JSON), rest in pieces(JSON)) {
        load::load(rest.as_bytes());
        load::load(format!("{{\"cells\": [{cells}], \"nbformat\": 4}}").as_bytes());
        load::load(format!("{{\"cells\": [{{\"cell_type\": \"code\", \"source\": [], {cells}}}], \"nbformat\": 4}}").as_bytes());
    }

    #[test]
    fn any_text_is_refused_or_reads_back(data in any::<String>()) {
        text::text(&data);
        text::text(&format!("# %% [code]\n{data}"));
    }

    #[test]
    fn anything_like_marked_text_is_refused_or_reads_back(data in pieces(MARKED)) {
        text::text(&data);
        text::text(&format!("# %% [code]\n{data}"));
    }
}

/// Real notebooks with a few bytes changed, dropped or doubled.
#[test]
fn damaged_notebooks_load_or_fail_cleanly() {
    let corpus: Vec<Vec<u8>> = testkit::fixtures()
        .into_iter()
        .map(|path| std::fs::read(path).unwrap())
        .filter(|bytes| bytes.len() < 8_000)
        .collect();
    assert!(corpus.len() > 60);
    let damage = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3), 1..4);
    proptest!(ProptestConfig::with_cases(4000), |(which in any::<prop::sample::Index>(), damage in damage)| {
        let mut bytes = corpus[which.index(corpus.len())].clone();
        for (at, byte, how) in damage {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.truncate(at),
                _ => bytes.insert(at, byte),
            }
        }
        load::load(&bytes);
    });
}
