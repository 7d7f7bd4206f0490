//! `read`: a notebook as cell-marked text, a part of it, its JSON, an artifact, or any file for those who have files.

use std::fs;
use std::io::Read;

use cellist_notebook::{CellRef, LineRange, Selector};
use cellist_session::Store;
use cellist_session::aside::aside;

use super::excerpt::Excerpt;
use super::open::Seen;
use super::target::{Place, Sight};
use super::{Call, Toolbox};
use crate::answer::{Answer, Block};
use crate::budget;
use crate::caller::ToolSet;
use crate::reach::Identity;

/// How an artifact is named.
pub(super) const SCHEME: &str = "artifact://";

/// A larger file is not read into memory.
pub(super) const LARGEST: u64 = 64 * 1024 * 1024;

/// A file, and the part of it that is meant.
pub(super) struct Target {
    pub(super) place: Place,
    pub(super) part: Option<Selector>,
}

impl Sight<'_> {
    /// A file with what stands behind its path: a file whose whole name exists goes before a selector.
    pub(super) fn target(&self, named: &str) -> Result<Target, Answer> {
        let whole = self.caller.cwd.join(named.trim());
        let split = match fs::symlink_metadata(&whole) {
            Ok(_) => None,
            Err(_) => Selector::split(named.trim()).map_err(|error| {
                Answer::failure(super::target::with_hint(format!("{named}: {error}"), error.hint()))
            })?,
        };
        let (path, part) = split.map_or((named, None), |(path, part)| (path, Some(part)));
        let place = self.place(path)?;
        if !place.is_notebook() && self.caller.tools != ToolSet::All {
            return Err(place.failure(
                "is not a notebook; other files are read and changed with the tools of your client",
                None,
            ));
        }
        Ok(Target { place, part })
    }
}

impl Toolbox {
    pub(super) async fn read(&self, call: Call<'_>) -> Result<Answer, Answer> {
        let path = call.arguments.text("path").unwrap_or_default().trim();
        if let Some(address) = path.strip_prefix(SCHEME) {
            let (id, lines) =
                address.split_once(':').map_or((address, None), |(id, lines)| (id, Some(lines)));
            return self.artifact_lines(id, lines, budget::budget(call.arguments)).await;
        }
        let editor = self.editor();
        let target = self.sight(&call, &editor).target(path)?;
        match target.place.is_notebook() {
            true => self.read_notebook(&call, target).await,
            false => self.read_file(target, budget::budget(call.arguments)).await,
        }
    }

    async fn read_notebook(&self, call: &Call<'_>, target: Target) -> Result<Answer, Answer> {
        let Target { place, part } = target;
        let most = budget::budget(call.arguments);
        let open = match (self.open(call, place.clone()).await, &part) {
            (Ok(open), _) => open,
            // What is wrong with a file can only be mended by someone who sees it.
            (Err(failure), Some(Selector::Raw)) if place.real.is_file() => {
                let text = self.text_of(&place).await?;
                let excerpt = Excerpt::whole(&text, &format!("{}:raw", place.name), most);
                return Ok(shown(excerpt.text, format!("{}; {}", failure.all_text(), excerpt.about)));
            }
            (Err(failure), _) => return Err(failure),
        };
        let Seen { notebook, revision, others } = open.read(call).await?;
        let name = open.name();
        let (text, is_all) = match &part {
            None | Some(Selector::Lines(_)) => (notebook.to_text(), true),
            Some(Selector::Raw) => (String::from_utf8_lossy(&notebook.to_bytes()).into_owned(), false),
            Some(Selector::Cell(cell)) => {
                let at = open.find(&notebook, &CellRef::Name(cell.clone()))?;
                self.glance(call, &open, &notebook, &[at]);
                let heading = format!("cell {at} of {}", notebook.cells().len());
                let excerpt = Excerpt::whole(&notebook.cell_text(at), &heading, most);
                return Ok(shown(excerpt.text, format!("{name}: {}; revision {revision}", excerpt.about)));
            }
        };
        let excerpt = match &part {
            Some(Selector::Lines(ranges)) => Excerpt::lines(&text, ranges, name, most)
                .map_err(|error| open.failure(&error, error.hint()))?,
            Some(Selector::Raw) => Excerpt::whole(&text, &format!("{name}:raw"), most),
            Some(Selector::Cell(_)) | None => Excerpt::whole(&text, name, most),
        };
        if is_all && excerpt.is_complete {
            let all: Vec<usize> = (0..notebook.cells().len()).collect();
            self.glance(call, &open, &notebook, &all);
            call.agent.knows_text(open.path(), revision);
        }
        let others = match excerpt.is_complete {
            true => None,
            false => others.sentence(),
        };
        let about = format!("{} · {} · revision {revision}", self.heading(&open, &notebook), excerpt.about);
        Ok(shown(excerpt.text, [Some(about), others].into_iter().flatten().collect::<Vec<_>>().join("\n")))
    }

    async fn read_file(&self, target: Target, most: usize) -> Result<Answer, Answer> {
        let Target { place, part } = target;
        let text = self.text_of(&place).await?;
        let all: &[LineRange] = &[];
        let ranges = match &part {
            None | Some(Selector::Raw) => all,
            Some(Selector::Lines(ranges)) => ranges,
            Some(Selector::Cell(cell)) => {
                return Err(place.failure(format_args!("has no cells, so there is no #{cell}"), None));
            }
        };
        let excerpt = match ranges {
            [] => Excerpt::whole(&text, &place.name, most),
            ranges => Excerpt::lines(&text, ranges, &place.name, most)
                .map_err(|error| place.failure(&error, error.hint()))?,
        };
        let about = format!("{} · {}", place.name, excerpt.about);
        Ok(shown(excerpt.text, about))
    }

    /// The text of a file, which must be text and not too large.
    pub(super) async fn text_of(&self, place: &Place) -> Result<String, Answer> {
        let (store, at) = (self.documents.store().clone(), place.clone());
        let read = aside(move || whole_text(&store, &at)).await;
        let read = read.unwrap_or_else(|_| Err("could not be read".to_owned()));
        read.map_err(|problem| place.failure(problem, None))
    }
}

/// Reads the very file whose use was allowed, and no other that has taken its place since.
fn whole_text(store: &Store, place: &Place) -> Result<String, String> {
    let file = store.open_real(&place.real).map_err(|error| cellist_session::in_words(&error))?;
    let metadata = file.metadata().map_err(|error| cellist_session::in_words(&error))?;
    if metadata.is_dir() {
        return Err("is a folder, not a file".to_owned());
    }
    if !metadata.is_file() {
        return Err("is not a regular file".to_owned());
    }
    if metadata.len() > LARGEST {
        return Err(format!("has {} bytes, which is too large to read as text", metadata.len()));
    }
    if place.admitted.identity != Some(Identity::of(&metadata)) {
        return Err("was replaced while it was opened; call again".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).map_err(|error| cellist_session::in_words(&error))?;
    String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())
}

/// The text alone, so that it can be written back as it is, and beside it what it is.
pub(super) fn shown(text: String, about: String) -> Answer {
    let blocks = [text, about].into_iter().filter(|text| !text.is_empty()).map(Block::Text);
    Answer { blocks: blocks.collect(), ..Answer::default() }
}
