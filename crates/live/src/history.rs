//! The history of a notebook outside its file: changes and pending reviews, one JSON object per line. HistoryLines are
//! only appended; the last one about an entry counts.

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

/// A longer file with mostly outdated lines is compacted.
const LONG: u64 = 4 << 20;

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HistoryLine {
    /// The newest state of an entry. `writer` distinguishes processes that used the same number concurrently.
    Entry { writer: u64, entry: Entry },
    /// The pending review.
    Review(Review),
    /// The last submissions in the file.
    Heard(Heard),
    /// The submissions in the file once it has this revision. The process may be killed between the save and the
    /// next line.
    Saving { revision: String, heard: Heard },
}

/// Number of the last submission of each client.
pub(crate) type Heard = BTreeMap<String, u64>;

/// The history of a notebook on disk.
#[derive(Clone, Debug)]
pub(crate) struct History {
    file: PathBuf,
    writer: u64,
    review: Arc<Review>,
    heard: Heard,
    /// The last announced save.
    saving: Option<(Revision, Heard)>,
}

/// The parsed lines.
struct HistoryLines {
    journal: Journal,
    review: Review,
    heard: Heard,
    saving: Option<(Revision, Heard)>,
}

impl History {
    /// Returns the last submission of each client in a file of this revision.
    pub(crate) fn last_heard(&self, revision: Revision) -> &Heard {
        match &self.saving {
            Some((saved, heard)) if *saved == revision => heard,
            _ => &self.heard,
        }
    }

    /// Opens the history of a notebook. An unreadable history is treated as empty.
    pub(crate) fn open(store: &Store, path: &Path) -> (History, Journal, Review) {
        let file = store.history_file(path).unwrap_or_default();
        let bytes = fs::read(&file).unwrap_or_default();
        let HistoryLines { journal, review, heard, saving } = read(&bytes);
        let history = History {
            file,
            writer: getrandom::u64().unwrap_or_else(|_| std::process::id().into()),
            review: Arc::new(review.clone()),
            heard,
            saving,
        };
        if bytes.last().is_some_and(|last| *last != b'\n') {
            // A process was killed within a line; the next line must start clean.
            history.add(b"\n");
        }
        if bytes.len() as u64 > LONG {
            history.write_anew(store, path, bytes.len());
        }
        (history, journal, review)
    }

    /// Returns the lines to append for new entries of a state.
    pub(crate) fn news(&mut self, state: &mut State) -> Vec<u8> {
        let mut lines: Vec<HistoryLine> = Vec::new();
        let entries = state.take_noted().into_iter();
        lines.extend(entries.map(|entry| HistoryLine::Entry { writer: self.writer, entry }));
        if *self.review != **state.review() {
            self.review = Arc::clone(state.review());
            lines.push(HistoryLine::Review(Review::clone(&self.review)));
        }
        written(&lines)
    }

    /// Returns the submissions of a state that are not recorded as saved.
    pub(crate) fn unsaved(&self, state: &State) -> Option<Heard> {
        (self.heard != *state.heard()).then(|| state.heard().clone())
    }

    /// Records the submissions that are in the file once it has this revision.
    pub(crate) fn saving(&self, revision: Revision, heard: &Heard) {
        self.add(&written(&[HistoryLine::Saving { revision: revision.to_string(), heard: heard.clone() }]));
    }

    /// Records the submissions in the file; their clients need not send them again.
    pub(crate) fn saved(&self, heard: &Heard) {
        self.add(&written(&[HistoryLine::Heard(heard.clone())]));
    }

    /// Notes that these submissions are recorded as saved.
    pub(crate) fn set_saved(&mut self, heard: Heard) {
        self.heard = heard;
    }

    /// Appends lines. A failed write is ignored, so that work can go on.
    pub(crate) fn add(&self, lines: &[u8]) {
        if !lines.is_empty() {
            let _ = self.append(lines);
        }
    }

    fn append(&self, lines: &[u8]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = files::private(options.append(true).create(true)).open(&self.file)?;
        // One write, so that concurrent writers do not interleave.
        file.write_all(lines)
    }

    /// Compacts the file, unless it is short.
    fn write_anew(&self, store: &Store, path: &Path, length: usize) {
        let rewrite = || -> io::Result<()> {
            let HistoryLines { journal, review, heard, saving } = read(&fs::read(&self.file)?);
            let entries = journal.entries().iter().cloned();
            let mut lines: Vec<HistoryLine> =
                entries.map(|entry| HistoryLine::Entry { writer: self.writer, entry }).collect();
            lines.push(HistoryLine::Review(review));
            lines.push(HistoryLine::Heard(heard));
            let saving =
                saving.map(|(revision, heard)| HistoryLine::Saving { revision: revision.to_string(), heard });
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

fn read(bytes: &[u8]) -> HistoryLines {
    let mut entries: Vec<Entry> = Vec::new();
    let mut numbers: HashMap<(u64, u64), usize> = HashMap::new();
    let (mut review, mut heard, mut saving) = (Review::default(), Heard::new(), None);
    // Skips incomplete lines, and lines of newer versions.
    let lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    for line in lines {
        match line {
            HistoryLine::Review(newest) => review = newest,
            HistoryLine::Heard(newest) => heard = newest,
            HistoryLine::Saving { revision, heard } => {
                saving = revision.parse().ok().map(|revision: Revision| (revision, heard));
            }
            HistoryLine::Entry { writer, entry } => match numbers.get(&(writer, entry.number)) {
                Some(&at) => entries[at] = entry,
                None => {
                    // Another writer may update an older entry.
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
    HistoryLines { journal: Journal::of(entries), review, heard, saving }
}

fn written(lines: &[HistoryLine]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in lines {
        if serde_json::to_writer(&mut bytes, line).is_ok() {
            bytes.push(b'\n');
        }
    }
    bytes
}

/// Returns the history of a notebook that is not open here, oldest first.
pub fn history(store: &Store, path: &Path) -> Vec<Entry> {
    History::open(store, path).1.entries().to_vec()
}

/// Records a change of a notebook that is not open here.
pub fn record(store: &Store, path: &Path, before: &Notebook, after: &Notebook, author: &Author) {
    let (mut history, journal, review) = History::open(store, path);
    let mut state = State::new(before.clone(), 0, journal, review);
    state.take(after.clone(), author, now_ms());
    let news = history.news(&mut state);
    history.add(&news);
}

/// Why an undo failed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each wraps the error of a part")]
pub enum CannotUndo {
    #[error(transparent)]
    Nothing(#[from] NothingToUndo),
    #[error(transparent)]
    File(#[from] Error),
}

/// Undoes changes in a notebook that is not open here.
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
    fn history_and_pending_review_survive_a_restart() {
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

        // Another process continues and undoes an earlier entry.
        let mut state = State::new(Notebook::clone(state.notebook()), 0, journal, review);
        state.undo(&Undo::Turn("t".into()), &ann(), 9).unwrap();
        let news = history.news(&mut state);
        history.add(&news);
        // An incomplete line, as left by a killed process.
        history.add(b"{\"entry\":{\"wri");
        let (_, journal, review) = History::open(&store, &path);
        assert_eq!((journal.entries().len(), review.cells.len()), (3, 0));
        assert_eq!(journal.entries()[1].undone_by, Some(2));
    }

    #[test]
    fn concurrent_writers_both_keep_their_entries() {
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
