//! Notebooks that no one wrote: any layout, any key order, any source, and any series of operations.

use cellist_notebook::{CellRef, CellType, Ids, Notebook, OnConflict, Operation, merge};
use proptest::prelude::*;

use crate::{open, sources};

/// Lines that try the text format, the JSON strings and the line splitting.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z =()\"\\\\]{0,12}",
        2 => prop::sample::select(vec![
            "# %% [code] cell:0", "# %% [markdown]", "# %%% [raw]", "# %%", "#%%", "# %% [", "# %% [cod]", "<<<<<<< ours",
            "é😀", "\u{2028}\u{85}\u{b}\u{c}", "\r", "\r\r", "\u{0}\u{1b}[0m", "\t", "{\"a\": [1]}", "\u{fffd}", "\u{feff}",
        ]).prop_map(str::to_owned),
        1 => any::<String>().prop_map(|text| text.replace('\n', "")),
    ]
}

fn source() -> impl Strategy<Value = String> {
    (prop::collection::vec(line(), 0..5), any::<bool>())
        .prop_map(|(lines, newline)| lines.join("\n") + if newline { "\n" } else { "" })
}

fn cell_type() -> impl Strategy<Value = CellType> {
    prop::sample::select(CellType::ALL.to_vec())
}

/// How a generated file is laid out.
#[derive(Clone, Debug)]
struct Style {
    newline: &'static str,
    indent: &'static str,
    comma: &'static str,
    colon: &'static str,
    ascii: bool,
    end: &'static str,
}

fn style() -> impl Strategy<Value = Style> {
    let newline = prop::sample::select(vec!["\n", "\r\n", ""]);
    let indent = prop::sample::select(vec![" ", "  ", "\t", ""]);
    let comma = prop::sample::select(vec![",", ", ", " ,"]);
    let colon = prop::sample::select(vec![": ", ":", " : "]);
    let end = prop::sample::select(vec!["\n", "", "\n\n", " "]);
    (newline, indent, comma, colon, any::<bool>(), end).prop_map(
        |(newline, indent, comma, colon, ascii, end)| Style { newline, indent, comma, colon, ascii, end },
    )
}

impl Style {
    fn string(&self, text: &str) -> String {
        let json = serde_json::to_string(text).unwrap();
        if !self.ascii {
            return json;
        }
        let mut units = String::new();
        for character in json.chars() {
            if character.is_ascii() {
                units.push(character);
            } else {
                let pair = character.encode_utf16(&mut [0; 2]).to_vec();
                pair.iter().for_each(|unit| units.push_str(&format!("\\u{unit:04X}")));
            }
        }
        units
    }

    fn wrap(&self, open: char, items: &[String], close: char, depth: usize) -> String {
        if items.is_empty() {
            return format!("{open}{close}");
        }
        let (inside, outside) = match self.newline {
            "" => (String::new(), String::new()),
            newline => (
                format!("{newline}{}", self.indent.repeat(depth + 1)),
                format!("{newline}{}", self.indent.repeat(depth)),
            ),
        };
        let comma = if self.newline.is_empty() {
            self.comma.to_owned()
        } else {
            self.comma.trim_end().to_owned() + &inside
        };
        format!("{open}{inside}{}{outside}{close}", items.join(&comma))
    }

    fn member(&self, key: &str, value: &str) -> String {
        format!("\"{key}\"{}{value}", self.colon)
    }
}

#[derive(Clone, Debug)]
struct MadeCell {
    kind: CellType,
    source: String,
    as_string: bool,
    keys_reversed: bool,
    id: usize,
    output: Option<String>,
}

fn made_cell() -> impl Strategy<Value = MadeCell> {
    (cell_type(), source(), any::<bool>(), any::<bool>(), 0usize..40, prop::option::of(line())).prop_map(
        |(kind, source, as_string, keys_reversed, id, output)| MadeCell {
            kind,
            source,
            as_string,
            keys_reversed,
            id,
            output,
        },
    )
}

fn write(style: &Style, minor: u64, cells: &[MadeCell]) -> Vec<u8> {
    let cell = |made: &MadeCell| {
        let source = if made.as_string {
            style.string(&made.source)
        } else {
            let lines: Vec<String> =
                made.source.split_inclusive('\n').map(|line| style.string(line)).collect();
            style.wrap('[', &lines, ']', 3)
        };
        let mut members = vec![style.member("cell_type", &format!("\"{}\"", made.kind))];
        if minor >= 5 {
            // Few numbers, so that some cells share an id.
            members.push(style.member("id", &format!("\"id-{}\"", made.id)));
        }
        members.push(style.member("metadata", "{}"));
        if made.kind == CellType::Code {
            members.push(style.member("execution_count", "1e0"));
            let outputs: Vec<String> = made.output.iter().map(|text| style.string(text)).collect();
            members.push(style.member("outputs", &style.wrap('[', &outputs, ']', 3)));
        }
        members.push(style.member("source", &source));
        if made.keys_reversed {
            members.reverse();
        }
        style.wrap('{', &members, '}', 2)
    };
    let cells: Vec<String> = cells.iter().map(cell).collect();
    let members = [
        style.member("cells", &style.wrap('[', &cells, ']', 1)),
        style.member("metadata", "{}"),
        style.member("nbformat", "4"),
        style.member("nbformat_minor", &minor.to_string()),
    ];
    (style.wrap('{', &members, '}', 0) + style.end).into_bytes()
}

fn file() -> impl Strategy<Value = Vec<u8>> {
    (style(), 3u64..=5, prop::collection::vec(made_cell(), 0..6))
        .prop_map(|(style, minor, cells)| write(&style, minor, &cells))
}

fn operation() -> impl Strategy<Value = (u8, prop::sample::Index, prop::sample::Index, CellType, String)> {
    (0u8..6, any::<prop::sample::Index>(), any::<prop::sample::Index>(), cell_type(), source())
}

/// Turns a drawn operation into one that is valid for `count` cells.
fn valid_operation(
    (which, at, to, kind, source): (u8, prop::sample::Index, prop::sample::Index, CellType, String),
    count: usize,
) -> Operation {
    if count == 0 || which == 0 {
        return Operation::Insert { index: at.index(count + 1) as i64, kind, source };
    }
    let cell = CellRef::Index(at.index(count) as i64);
    match which {
        1 => Operation::Delete { cell },
        2 => Operation::Move { cell, index: to.index(count) as i64 },
        3 => Operation::Retype { cell, kind },
        4 => Operation::Clear { cell },
        _ => Operation::Edit { cell, source },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn reading_and_writing_are_inverse(bytes in file()) {
        let mut notebook = open(bytes.clone());
        prop_assert_eq!(&notebook.to_bytes(), &bytes);
        let text = notebook.to_text();
        notebook.apply_text(&text, None).unwrap();
        prop_assert_eq!(&notebook.to_bytes(), &bytes);
        let mut copy = Notebook::empty(Ids::seeded(3));
        copy.apply_text(&text, None).unwrap();
        prop_assert_eq!(copy.to_text(), text);
    }

    #[test]
    fn operations_do_what_a_plain_list_would(bytes in file(), drawn in prop::collection::vec(operation(), 1..6)) {
        let mut notebook = open(bytes);
        let mut model: Vec<(CellType, String)> =
            notebook.cells().iter().map(|cell| (cell.cell_type(), cell.source().into_owned())).collect();
        for drawn in drawn {
            let operation = valid_operation(drawn, model.len());
            notebook.perform(std::slice::from_ref(&operation), None).unwrap();
            match operation {
                Operation::Insert { index, kind, source } => model.insert(index as usize, (kind, source)),
                Operation::Delete { cell: CellRef::Index(at) } => { model.remove(at as usize); }
                Operation::Move { cell: CellRef::Index(at), index } => {
                    let cell = model.remove(at as usize);
                    model.insert(index as usize, cell);
                }
                Operation::Retype { cell: CellRef::Index(at), kind } => model[at as usize].0 = kind,
                Operation::Edit { cell: CellRef::Index(at), source } => model[at as usize].1 = source,
                _ => {}
            }
        }
        let reread = open(notebook.to_bytes());
        let read: Vec<(CellType, String)> =
            reread.cells().iter().map(|cell| (cell.cell_type(), cell.source().into_owned())).collect();
        prop_assert_eq!(read, model);
        for cell in reread.cells() {
            prop_assert_eq!(cell.value("outputs").is_some(), cell.cell_type() == CellType::Code);
        }
    }

    #[test]
    fn merging_with_an_unchanged_side_loses_nothing(bytes in file(), drawn in prop::collection::vec(operation(), 1..4)) {
        let base = open(bytes);
        let mut changed = base.clone();
        for drawn in drawn {
            let operation = valid_operation(drawn, changed.cells().len());
            changed.perform(&[operation], None).unwrap();
        }
        let theirs = merge(&base, &base, &changed, OnConflict::Refuse).unwrap();
        prop_assert_eq!(theirs.notebook.to_bytes(), changed.to_bytes());
        let ours = merge(&base, &changed, &base, OnConflict::Refuse).unwrap();
        // Cells with equal sources and no ids of their own may be told apart differently, but not lost.
        let mut merged = sources(&ours.notebook);
        let mut wanted = sources(&changed);
        merged.sort();
        wanted.sort();
        prop_assert_eq!(merged, wanted);
    }

    #[test]
    fn appended_cells_of_both_sides_are_all_there(bytes in file(), ours in source(), theirs in source()) {
        let base = open(bytes);
        let count = base.cells().len();
        let (mut left, mut right) = (base.clone(), base.clone());
        left.insert(count, CellType::Raw, &format!("{ours}left"));
        right.insert(0, CellType::Raw, &format!("{theirs}right"));
        let merged = merge(&base, &left, &right, OnConflict::Refuse).unwrap().notebook;
        let merged = sources(&open(merged.to_bytes()));
        prop_assert_eq!(merged.len(), count + 2);
        let left = format!("{ours}left");
        let right = format!("{theirs}right");
        prop_assert!(merged.contains(&left), "{:?}", merged);
        prop_assert!(merged.contains(&right), "{:?}", merged);
    }
}

#[test]
fn what_operations_make_of_a_valid_notebook_is_valid() {
    let runner = ProptestConfig::with_cases(60);
    proptest!(runner, |(style in style(), drawn in prop::collection::vec(operation(), 1..5))| {
        let mut notebook = open(write(&style, 5, &[]));
        for drawn in drawn {
            let operation = valid_operation(drawn, notebook.cells().len());
            notebook.perform(&[operation], None).unwrap();
        }
        let verdict = testkit::validate_bytes(&notebook.to_bytes());
        prop_assert!(verdict.is_ok(), "{:?}\n{}", verdict, String::from_utf8_lossy(&notebook.to_bytes()));
    });
}
