//! What is kept of a notebook's history outside the file: who did what and what waits for review, one JSON object a
//! line. Lines are only added; the last one about a thing counts.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cellist_notebook::{Notebook, Revision};
use cellist_platform::clock::now_ms;
use cellist_platform::files;
use cellist_store::{Changed, Error, Missing, Store};
use serde::{Deserialize, Serialize};

use super::actor::Author;
use super::journal::{Entry, Journal, NothingToUndo, Undo};
use super::review::Review;
use super::state::{State, Unchanged};

/// A file that is longer than this, and mostly of lines that do not count any more, is written anew.
const LONG: u64 = 4 << 20;

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// An entry as it is now. `writer` tells those apart who may have given the same number at the same time.
    Entry { writer: u64, entry: Entry },
    /// What waits for review now.
    Review(Review),
    /// The last submissions that are in the file.
    Heard(Heard),
    /// Those that are in it as soon as it has this revision. Whoever saves may be killed before it can say that it did.
    Saving { revision: String, heard: Heard },
}

/// The number of the last submission of each client.
pub(crate) type Heard = BTreeMap<String, u64>;

/// The history of a notebook on disk.
#[derive(Clone, Debug)]
pub(crate) struct History {
    file: PathBuf,
    writer: u64,
    review: Arc<Review>,
    heard: Heard,
    /// What was about to be saved last.
    saving: Option<(Revision, Heard)>,
}

/// What the lines say.
struct Lines {
    journal: Journal,
    review: Review,
    heard: Heard,
    saving: Option<(Revision, Heard)>,
}

impl History {
    /// The last submission of each client that is in a file of this revision.
    pub(crate) fn last_heard(&self, revision: Revision) -> &Heard {
        match &self.saving {
            Some((saved, heard)) if *saved == revision => heard,
            _ => &self.heard,
        }
    }

    /// The history of a notebook, with what it says. One that cannot be read is as good as none.
    pub(crate) fn open(store: &Store, path: &Path) -> (History, Journal, Review) {
        let file = store.history_file(path).unwrap_or_default();
        let bytes = fs::read(&file).unwrap_or_default();
        let Lines { journal, review, heard, saving } = read(&bytes);
        let history = History {
            file,
            writer: getrandom::u64().unwrap_or_else(|_| std::process::id().into()),
            review: Arc::new(review.clone()),
            heard,
            saving,
        };
        if bytes.last().is_some_and(|last| *last != b'\n') {
            // Someone was killed within a line, which is not to spoil the next one.
            history.add(b"\n");
        }
        if bytes.len() as u64 > LONG {
            history.write_anew(store, path, bytes.len());
        }
        (history, journal, review)
    }

    /// What has to be added for what is new in a state.
    pub(crate) fn news(&mut self, state: &mut State) -> Vec<u8> {
        let mut lines: Vec<Line> = Vec::new();
        let entries = state.take_noted().into_iter();
        lines.extend(entries.map(|entry| Line::Entry { writer: self.writer, entry }));
        if *self.review != **state.review() {
            self.review = Arc::clone(state.review());
            lines.push(Line::Review(Review::clone(&self.review)));
        }
        written(&lines)
    }

    /// The submissions that a state has and that are not known to be in the file.
    pub(crate) fn unsaved(&self, state: &State) -> Option<Heard> {
        (self.heard != *state.heard()).then(|| state.heard().clone())
    }

    /// Notes that submissions are in the file as soon as it has this revision.
    pub(crate) fn saving(&self, revision: Revision, heard: &Heard) {
        self.add(&written(&[Line::Saving { revision: revision.to_string(), heard: heard.clone() }]));
    }

    /// Notes that submissions are in the file: their clients need not send them again.
    pub(crate) fn saved(&self, heard: &Heard) {
        self.add(&written(&[Line::Heard(heard.clone())]));
    }

    /// Submissions are in the file, and that was noted.
    pub(crate) fn set_saved(&mut self, heard: Heard) {
        self.heard = heard;
    }

    /// Adds lines. A history that cannot be written keeps nobody from working.
    pub(crate) fn add(&self, lines: &[u8]) {
        if !lines.is_empty() {
            let _ = self.append(lines);
        }
    }

    fn append(&self, lines: &[u8]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = files::private(options.append(true).create(true)).open(&self.file)?;
        // In one piece, so that those who write at the same time do not get in between.
        file.write_all(lines)
    }

    /// Leaves out what does not count any more, unless there is little of it.
    fn write_anew(&self, store: &Store, path: &Path, length: usize) {
        let rewrite = || -> io::Result<()> {
            let Lines { journal, review, heard, saving } = read(&fs::read(&self.file)?);
            let entries = journal.entries().iter().cloned();
            let mut lines: Vec<Line> =
                entries.map(|entry| Line::Entry { writer: self.writer, entry }).collect();
            lines.push(Line::Review(review));
            lines.push(Line::Heard(heard));
            let saving =
                saving.map(|(revision, heard)| Line::Saving { revision: revision.to_string(), heard });
            lines.extend(saving);
            let lines = written(&lines);
            if lines.len() > length / 2 {
                return Ok(());
            }
            let new = self.file.with_extension("new");
            let mut options = OpenOptions::new();
            let mut file = files::private(options.write(true).create(true).truncate(true)).open(&new)?;
            file.write_all(&lines)?;
            fs::rename(&new, &self.file)
        };
        let _ = store.locked(path, rewrite);
    }
}

fn read(bytes: &[u8]) -> Lines {
    let mut entries: Vec<Entry> = Vec::new();
    let mut numbers: HashMap<(u64, u64), usize> = HashMap::new();
    let (mut review, mut heard, mut saving) = (Review::default(), Heard::new(), None);
    // A line that was not written to its end, and those of a newer version, are passed over.
    let lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    for line in lines {
        match line {
            Line::Review(newest) => review = newest,
            Line::Heard(newest) => heard = newest,
            Line::Saving { revision, heard } => {
                saving = revision.parse().ok().map(|revision: Revision| (revision, heard));
            }
            Line::Entry { writer, entry } => match numbers.get(&(writer, entry.number)) {
                Some(&at) => entries[at] = entry,
                None => {
                    // What another writer says about an entry of before counts too.
                    let same = |known: &Entry| known.number == entry.number && known.at == entry.at;
                    let at = entries.iter().position(same).unwrap_or(entries.len());
                    numbers.insert((writer, entry.number), at);
                    if at == entries.len() {
                        entries.push(entry);
                    } else {
                        entries[at] = entry;
                    }
                }
            },
        }
    }
    Lines { journal: Journal::of(entries), review, heard, saving }
}

fn written(lines: &[Line]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in lines {
        if serde_json::to_writer(&mut bytes, line).is_ok() {
            bytes.push(b'\n');
        }
    }
    bytes
}

/// Who did what to a notebook that is not open here, oldest first.
pub fn history(store: &Store, path: &Path) -> Vec<Entry> {
    History::open(store, path).1.entries().to_vec()
}

/// Notes a change of a notebook that is not open here.
pub fn record(store: &Store, path: &Path, before: &Notebook, after: &Notebook, author: &Author) {
    let (mut history, journal, review) = History::open(store, path);
    let mut state = State::new(before.clone(), 0, journal, review);
    state.take(after.clone(), author, now_ms());
    let news = history.news(&mut state);
    history.add(&news);
}

/// Why nothing was taken back.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each is the error of a part and says what it is")]
pub enum CannotUndo {
    #[error(transparent)]
    Nothing(#[from] NothingToUndo),
    #[error(transparent)]
    File(#[from] Error),
}

/// Takes something back in a notebook that is not open here.
pub fn undo(
    store: &Store,
    path: &Path,
    undo: &Undo,
    author: &Author,
) -> Result<Changed<Vec<Entry>>, CannotUndo> {
    let (mut history, journal, review) = History::open(store, path);
    let mut undone = None;
    let changed = store.try_change(path, Missing::Refuse, |notebook| {
        let mut state = State::new(notebook.clone(), 0, journal, review);
        match state.undo(undo, author, now_ms()) {
            Ok(edited) => {
                *notebook = Notebook::clone(&edited.notebook);
                undone = Some(state);
                Ok(edited.value)
            }
            Err(Unchanged::Refused(error)) => Err(Error::new(path, error).into()),
            Err(Unchanged::Nothing(why)) => Err(CannotUndo::from(why)),
            Err(Unchanged::UnknownRevision { .. } | Unchanged::NoSuchHunk { .. }) => {
                unreachable!("an undo names neither revisions nor hunks")
            }
        }
    })?;
    if let Some(mut state) = undone {
        let news = history.news(&mut state);
        history.add(&news);
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::tests::{ann, bot, edit, perform, state};
    use cellist_settings::Home;
    use testkit::Scratch;

    fn place() -> (Scratch, Store, PathBuf) {
        let scratch = Scratch::new();
        let store = Store::new(Home::at(scratch.path().join("home")));
        let path = scratch.path().join("nb.ipynb");
        (scratch, store, path)
    }

    #[test]
    fn what_was_done_and_what_waits_is_there_for_the_next_one() {
        let (_scratch, store, path) = place();
        let (mut history, journal, review) = History::open(&store, &path);
        assert!(journal.entries().is_empty() && review.cells.is_empty());
        let mut state = state(&["1", "2"]);
        perform(&mut state, &ann(), &[edit("b", "two")]);
        perform(&mut state, &bot("t"), &[edit("a", "one")]);
        let news = history.news(&mut state);
        history.add(&news);
        assert!(history.news(&mut state).is_empty());
        let (mut history, journal, review) = History::open(&store, &path);
        assert_eq!((&journal, &review), (state.journal(), &**state.review()));

        // Someone else goes on from there, and says that something of before was taken back.
        let mut state = State::new(Notebook::clone(state.notebook()), 0, journal, review);
        state.undo(&Undo::Turn("t".into()), &ann(), 9).unwrap();
        let news = history.news(&mut state);
        history.add(&news);
        // Half a line, as someone leaves it who is killed.
        history.add(b"{\"entry\":{\"wri");
        let (_, journal, review) = History::open(&store, &path);
        assert_eq!((journal.entries().len(), review.cells.len()), (3, 0));
        assert_eq!(journal.entries()[1].undone_by, Some(2));
    }

    #[test]
    fn two_who_wrote_at_once_are_both_heard() {
        let (_scratch, store, path) = place();
        let (mut one, ..) = History::open(&store, &path);
        let (mut other, ..) = History::open(&store, &path);
        for (history, source, at) in [(&mut one, "x", 5), (&mut other, "y", 6)] {
            let mut state = state(&["1"]);
            let after = {
                let mut notebook = Notebook::clone(state.notebook());
                notebook.set_source(0, source);
                notebook
            };
            state.take(after, &ann(), at);
            let news = history.news(&mut state);
            history.add(&news);
        }
        let (_, journal, _) = History::open(&store, &path);
        let numbers: Vec<u64> = journal.entries().iter().map(|entry| entry.number).collect();
        assert_eq!(numbers, [0, 1]);
    }

    #[test]
    fn a_long_file_of_old_lines_is_written_anew() {
        let (_scratch, store, path) = place();
        let (mut history, ..) = History::open(&store, &path);
        let mut state = state(&["1"]);
        perform(&mut state, &ann(), &[edit("a", &"x".repeat(1 << 20))]);
        let news = history.news(&mut state);
        (0..6).for_each(|_| history.add(&news));
        let length = || fs::metadata(store.history_file(&path).unwrap()).unwrap().len();
        let before = length();
        let (_, journal, _) = History::open(&store, &path);
        assert!(length() < before / 2);
        assert_eq!(history_of(&store, &path), journal.entries());
    }

    fn history_of(store: &Store, path: &Path) -> Vec<Entry> {
        super::history(store, path)
    }
}
