//! Other programs write the file after our saves. They had read an older version, the newest, another notebook, or
//! part of the newest. Their text stays; sources of ours that they had not read come back.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use cellist_live::Documents;
use cellist_notebook::{Cell, CellType, Ids, Notebook};
use cellist_output::{Output, StreamName};
use cellist_store::Missing;
use proptest::prelude::*;
use serde_json::json;

use crate::bed::Bed;

/// The version that the other program had read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The version this many saves before the newest, at least one.
    Stale(usize),
    Current,
    Unrelated,
    /// The newest, of which it copies one new cell into its own notebook.
    PartlyOurs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    InPlace,
    ByRename,
}

/// A change by cellist; each save also adds a cell.
#[derive(Clone, Copy, Debug)]
enum Ours {
    Edit(usize),
    Print { cell: usize, length: usize },
    Tag(usize),
    Delete(usize),
    Move(usize),
}

/// A change by the other program.
#[derive(Clone, Copy, Debug)]
enum Theirs {
    Edit,
    Add,
    ClearOutputs,
    Delete,
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![
        (1usize..4).prop_map(Kind::Stale),
        Just(Kind::Current),
        Just(Kind::Unrelated),
        Just(Kind::PartlyOurs),
    ]
}

fn ours() -> impl Strategy<Value = Ours> {
    prop_oneof![
        (0usize..9).prop_map(Ours::Edit),
        (0usize..9, 1usize..200).prop_map(|(cell, length)| Ours::Print { cell, length }),
        (0usize..9).prop_map(Ours::Tag),
        (0usize..9).prop_map(Ours::Delete),
        (0usize..9).prop_map(Ours::Move),
    ]
}

fn theirs() -> impl Strategy<Value = Theirs> {
    prop_oneof![Just(Theirs::Edit), Just(Theirs::Add), Just(Theirs::ClearOutputs), Just(Theirs::Delete)]
}

fn parse(bytes: &[u8]) -> Notebook {
    Notebook::parse(bytes.to_vec(), Ids::seeded(0)).unwrap()
}

/// Cells of both sides. The other program edits and deletes only its own.
fn start(minor: usize) -> Vec<u8> {
    let text =
        format!("{{\"cells\": [], \"metadata\": {{}}, \"nbformat\": 4, \"nbformat_minor\": {minor}}}\n");
    let mut notebook = Notebook::parse(text.into_bytes(), Ids::seeded(9)).unwrap();
    for (index, source) in
        ["theirs 0", "ours 0", "ours 1", "theirs 1", "ours 2", "theirs 2"].iter().enumerate()
    {
        notebook.insert(index, CellType::Code, source);
    }
    notebook.to_bytes()
}

/// The position of a cell of one side, the `number`th from the top and round again.
fn of_side(notebook: &Notebook, side: &str, number: usize) -> Option<usize> {
    let is_of_side = |(at, cell): (usize, &Cell)| cell.source().starts_with(side).then_some(at);
    let places: Vec<usize> = notebook.cells().iter().enumerate().filter_map(is_of_side).collect();
    places.get(number % places.len().max(1)).copied()
}

fn print(length: usize, mark: usize) -> [Output; 1] {
    [Output::stream(StreamName::Stdout, format!("{mark} ").repeat(length))]
}

fn change_ours(notebook: &mut Notebook, change: Ours, save: usize) {
    let place = |number| of_side(notebook, "ours", number);
    match change {
        Ours::Edit(cell) => {
            let Some(at) = place(cell) else { return };
            let source = format!("{}\nours again {save}", notebook.cells()[at].source());
            notebook.set_source(at, &source);
        }
        Ours::Print { cell, length } => {
            let Some(at) = place(cell) else { return };
            notebook.set_outputs(at, &print(length, save), Some(save as u64 + 1));
        }
        Ours::Tag(cell) => {
            let Some(at) = place(cell) else { return };
            notebook.set_cell_metadata(at, "tags", &json!([format!("tag {save}")]));
        }
        Ours::Delete(cell) => {
            let Some(at) = place(cell) else { return };
            notebook.remove(at);
        }
        Ours::Move(cell) => {
            let Some(at) = place(cell) else { return };
            notebook.shift(at, 0);
        }
    }
}

fn change_theirs(notebook: &mut Notebook, change: Theirs) {
    let last = notebook.cells().len();
    let edit = |notebook: &mut Notebook| {
        let at = of_side(notebook, "theirs", 1).unwrap();
        notebook.set_source(at, "theirs, another text");
    };
    match change {
        Theirs::Edit => edit(notebook),
        Theirs::Add => notebook.insert(last / 2, CellType::Markdown, "theirs, a new cell"),
        Theirs::ClearOutputs => {
            (0..last).for_each(|at| notebook.clear_outputs(at));
            edit(notebook);
        }
        Theirs::Delete => {
            let at = of_side(notebook, "theirs", 1).unwrap();
            notebook.remove(at);
        }
    }
}

/// The file that the other program writes, from the versions it has read.
fn foreign(kind: Kind, change: Theirs, versions: &[Vec<u8>]) -> Vec<u8> {
    let newest = versions.last().unwrap();
    let unrelated = || {
        let mut notebook = Notebook::empty(Ids::seeded(1234));
        for at in 0..4 {
            notebook.insert(at, CellType::Code, &format!("unrelated {at}"));
        }
        notebook
    };
    let notebook = match kind {
        Kind::Stale(saves) => {
            let mut notebook = parse(&versions[versions.len().saturating_sub(saves + 1)]);
            change_theirs(&mut notebook, change);
            notebook
        }
        Kind::Current => {
            let mut notebook = parse(newest);
            change_theirs(&mut notebook, change);
            notebook
        }
        Kind::Unrelated => unrelated(),
        Kind::PartlyOurs => {
            let (mut notebook, ours) = (unrelated(), parse(newest));
            let added = ours.cells().last().unwrap();
            notebook.insert(2, CellType::Code, &added.source());
            notebook
        }
    };
    notebook.to_bytes()
}

fn write(path: &Path, way: Way, bytes: &[u8], at: SystemTime) {
    let target = match way {
        Way::InPlace => path.to_owned(),
        Way::ByRename => path.with_extension("new"),
    };
    fs::write(&target, bytes).unwrap();
    File::options().append(true).open(&target).unwrap().set_times(FileTimes::new().set_modified(at)).unwrap();
    if way == Way::ByRename {
        fs::rename(&target, path).unwrap();
    }
}

/// Everything that reveals a write to a file.
fn state(path: &Path) -> (u64, SystemTime, Vec<u8>) {
    let metadata = fs::metadata(path).unwrap();
    (metadata.ino(), metadata.modified().unwrap(), fs::read(path).unwrap())
}

fn source_of(cell: &Cell) -> String {
    cell.source().into_owned()
}

/// The sources in the newest version that an older one lacks.
fn news(versions: &[Vec<u8>], saves: usize) -> Vec<String> {
    let base: Vec<String> =
        parse(&versions[versions.len().saturating_sub(saves + 1)]).cells().iter().map(source_of).collect();
    let newest = parse(versions.last().unwrap());
    newest.cells().iter().map(source_of).filter(|source| !base.contains(source)).collect()
}

/// Whether at least half of their cells are cells of ours, by id or by source.
fn shares_half(ours: &[u8], theirs: &[u8]) -> bool {
    let (ours, theirs) = (parse(ours), parse(theirs));
    let is_ours = |cell: &&Cell| {
        let is_same = |our: &Cell| {
            our.source() == cell.source() || cell.stored_id().is_some() && our.stored_id() == cell.stored_id()
        };
        ours.cells().iter().any(is_same)
    };
    theirs.cells().iter().filter(is_ours).count() * 2 >= theirs.cells().len()
}

/// A cell without its source and its id, which a file of format 4.4 has not.
fn rest(cell: &Cell) -> Vec<(String, Vec<u8>)> {
    let keys = cell.keys().into_iter().filter(|key| !["source", "id"].contains(&&**key));
    keys.map(|key| (key.to_string(), cell.value(&key).unwrap().to_vec())).collect()
}

/// Checks that `found` is `theirs` plus the `expected` sources and the cell of the last command.
#[track_caller]
fn assert_theirs(theirs: &Notebook, found: &Notebook, expected: &[String], last: &str) {
    let of_them = |cell: &&Cell| theirs.cells().iter().any(|their| their.source() == cell.source());
    let mut kept = found.cells().iter().filter(of_them);
    for their in theirs.cells() {
        // A newer text of ours replaces an older one; the rest of the cell is theirs.
        let is_replaced = expected.iter().any(|source| source.starts_with(&*their.source()));
        match kept.clone().next() {
            Some(cell) if cell.source() == their.source() => {
                assert_eq!(rest(cell), rest(their));
                kept.next();
            }
            _ => assert!(is_replaced, "{} is gone", their.source()),
        }
    }
    assert_eq!(kept.next().map(source_of), None);
    let mut added: Vec<String> = found
        .cells()
        .iter()
        .filter(|cell| !of_them(cell))
        .map(source_of)
        .filter(|source| source != last)
        .collect();
    let mut expected: Vec<String> = expected.to_vec();
    added.sort();
    expected.sort();
    assert_eq!(added, expected);
    assert_eq!(found.cells().iter().filter(|cell| cell.source() == last).count(), 1);
}

/// Some saves of ours, a write of another program, then a check and a change of ours.
#[derive(Clone, Debug)]
struct Case {
    minor: usize,
    saves: Vec<Vec<Ours>>,
    kind: Kind,
    change: Theirs,
    way: Way,
    delay: Duration,
}

fn cases() -> impl Strategy<Value = Case> {
    let saves = prop::collection::vec(prop::collection::vec(ours(), 0..3), 1..4);
    let ways = prop_oneof![3 => Just(Way::InPlace), 1 => Just(Way::ByRename)];
    (4usize..=5, saves, kinds(), theirs(), ways, 0u64..=10_000).prop_map(
        |(minor, saves, kind, change, way, delay)| Case {
            minor,
            saves,
            kind,
            change,
            way,
            delay: Duration::from_millis(delay),
        },
    )
}

impl Case {
    fn begin(&self) -> (Bed, Vec<Vec<u8>>) {
        let bed = Bed::new(&[]);
        fs::write(&bed.path, start(self.minor)).unwrap();
        let mut versions = vec![fs::read(&bed.path).unwrap()];
        for save in 0..self.saves.len() {
            self.save(&bed, save);
            versions.push(fs::read(&bed.path).unwrap());
        }
        (bed, versions)
    }

    fn save(&self, bed: &Bed, save: usize) {
        let change = |notebook: &mut Notebook| {
            self.saves[save].iter().for_each(|change| change_ours(notebook, *change, save));
            notebook.insert(notebook.cells().len(), CellType::Code, &format!("ours, added by save {save}"));
            Ok(())
        };
        bed.store.change(&bed.path, Missing::Refuse, change).unwrap();
    }

    /// The sources that must return to the other program's file.
    fn expected(&self, versions: &[Vec<u8>], theirs: &[u8]) -> Vec<String> {
        match (self.kind, self.way) {
            (Kind::Stale(saves), Way::InPlace) if shares_half(versions.last().unwrap(), theirs) => {
                news(versions, saves)
            }
            _ => Vec::new(),
        }
    }
}

proptest! {
    #[test]
    fn foreign_files_stand_and_no_source_that_their_author_had_not_read_is_lost(case in cases()) {
        let (bed, versions) = case.begin();
        let bytes = foreign(case.kind, case.change, &versions);
        write(&bed.path, case.way, &bytes, SystemTime::now() + case.delay);

        // A check, or an edit without effect, does not change the file.
        let before = state(&bed.path);
        let opened = bed.store.open(&bed.path).unwrap();
        prop_assert_eq!(opened.notebook.to_bytes(), bytes.clone());
        let unchanged = bed.store.change(&bed.path, Missing::Refuse, |_| Ok(())).unwrap();
        prop_assert!(!unchanged.written);
        prop_assert_eq!(state(&bed.path), before);

        let changed = bed.add("the last command").unwrap();
        let found = parse(&fs::read(&bed.path).unwrap());
        let expected = case.expected(&versions, &bytes);
        assert_theirs(&parse(&bytes), &found, &expected, "the last command");
        prop_assert_eq!(changed.notices.is_empty(), expected.is_empty());
        prop_assert_eq!(opened.notices.is_empty(), expected.is_empty());
    }
}

/// The same with an open notebook: checks the final state of its owner and of the file.
async fn beside_an_open_notebook(case: &Case) {
    let (bed, _) = case.begin();
    let documents = Documents::new(bed.store.clone());
    let document = documents.open(&bed.path).await.unwrap();
    let read = fs::read(&bed.path).unwrap();
    // A stale writer has not read the owner's last save.
    let author = cellist_live::Actor::new(cellist_live::ActorKind::Person, "ann").into();
    let edit = |notebook: &mut Notebook, _: Option<&cellist_notebook::Snapshot>| {
        notebook.insert(0, CellType::Code, "ours, of the owner");
        Ok(())
    };
    document.edit(None, author, edit).await.unwrap();
    let versions = vec![read, fs::read(&bed.path).unwrap()];
    let bytes = foreign(case.kind, case.change, &versions);
    write(&bed.path, case.way, &bytes, SystemTime::now() + case.delay);

    let expected = case.expected(&versions, &bytes);
    let theirs = parse(&bytes);
    let is_settled = |notebook: &Notebook| {
        let sources: Vec<String> = notebook.cells().iter().map(source_of).collect();
        let has = |source: String| sources.contains(&source);
        theirs.cells().iter().map(source_of).all(has) && expected.iter().cloned().all(has)
    };
    let mut views = document.watch();
    let seen = views.wait_for(|view| view.saved == view.version && is_settled(&view.notebook));
    let view = tokio::time::timeout(Duration::from_secs(60), seen)
        .await
        .expect("it is seen in time")
        .unwrap()
        .clone();
    assert_eq!(fs::read(&bed.path).unwrap(), view.notebook.to_bytes());
    assert_eq!(view.notices.is_empty(), expected.is_empty(), "{:?}", view.notices);
    if expected.is_empty() {
        assert_eq!(fs::read(&bed.path).unwrap(), bytes);
    }
    if matches!(case.change, Theirs::ClearOutputs) {
        assert!(view.notebook.cells().iter().all(|cell| !cell.has_run()));
    }
    drop(document);
    documents.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_notebook_follows_the_same_rules() {
    for kind in [Kind::Stale(1), Kind::Current, Kind::Unrelated, Kind::PartlyOurs] {
        for way in [Way::InPlace, Way::ByRename] {
            for (minor, change) in [(4, Theirs::Edit), (5, Theirs::Edit), (5, Theirs::ClearOutputs)] {
                let saves = vec![vec![Ours::Print { cell: 0, length: 200 }]];
                let case = Case { minor, saves, kind, change, way, delay: Duration::from_secs(3) };
                beside_an_open_notebook(&case).await;
            }
        }
    }
}
