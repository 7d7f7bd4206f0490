//! The pictures of a reply: how many there are, how they are made to fit without holding anyone up, and where the
//! originals are kept.

use std::sync::Arc;

use cellist_output::notices;
use cellist_platform::aside::aside;
use cellist_session::execution::{Picture, Pictures};
use cellist_store::artifact::{ArtifactOrigin, Artifacts};
use tokio::sync::Semaphore;

use super::picture::{self, Fitted};
use super::reply::ShownPictures;
use super::{Composed, Reply};
use crate::answer::Block;

/// How many pictures a reply has.
const MOST: usize = 8;
/// Bytes of all pictures of a reply.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// How many originals of one reply are kept.
const MOST_KEPT: usize = 16;

/// Makes replies with pictures. Cheap to clone; all clones take turns.
#[derive(Clone, Debug)]
pub(crate) struct Gallery {
    artifacts: Artifacts,
    /// One picture is decoded at a time, however many ask.
    turn: Arc<Semaphore>,
}

/// The pictures of a reply, as they are gone through.
#[derive(Default)]
struct Hanging {
    /// How many were seen, and how many are shown with how many bytes.
    seen: usize,
    shown: usize,
    bytes: usize,
    kept: usize,
    /// Originals of pictures that are neither shown nor in a notebook.
    originals: Vec<String>,
}

impl Gallery {
    pub(crate) fn new(artifacts: Artifacts) -> Gallery {
        Gallery { artifacts, turn: Arc::new(Semaphore::new(1)) }
    }

    /// The reply with its pictures; each answer decides whether to show them. `origin` says where they came from.
    pub(crate) async fn reply(&self, mut composed: Composed, origin: &ArtifactOrigin) -> Reply {
        let (mut hanging, mut shown) = (Hanging::default(), Vec::with_capacity(composed.sections.len()));
        let is_in_notebook = composed.is_in_notebook;
        for section in &mut composed.sections {
            let Pictures { list, left_out } = std::mem::take(&mut section.pictures);
            let mut pictures = ShownPictures { more: left_out, ..ShownPictures::default() };
            for picture in list {
                self.hang(Arc::new(picture), &mut pictures, &mut hanging, is_in_notebook, origin).await;
            }
            shown.push(pictures);
        }
        Reply::new(composed, shown).kept_in(self.artifacts.clone(), origin.clone(), hanging.originals)
    }

    async fn hang(
        &self,
        picture: Arc<Picture>,
        pictures: &mut ShownPictures,
        hanging: &mut Hanging,
        is_in_notebook: bool,
        origin: &ArtifactOrigin,
    ) {
        hanging.seen += 1;
        let number = hanging.seen;
        let fitted = match hanging.shown < MOST {
            true => Some(self.fit(Arc::clone(&picture)).await),
            false => None,
        };
        let why = match fitted {
            Some(Ok(Fitted { mime, data, changed })) if hanging.bytes + data.len() <= MAX_BYTES => {
                hanging.bytes += data.len();
                hanging.shown += 1;
                pictures.blocks.push(Block::Image { mime: mime.to_owned(), data });
                match changed {
                    Some(changed) => changed,
                    None => return,
                }
            }
            Some(Err(error)) => format!("not shown, {error}"),
            Some(Ok(_)) | None => {
                pictures.more += 1;
                if !is_in_notebook {
                    hanging.originals.extend(self.keep(picture, hanging.kept, origin).await);
                    hanging.kept += 1;
                }
                return;
            }
        };
        let original = self.keep(picture, hanging.kept, origin).await;
        hanging.kept += 1;
        pictures.notes.push(match original {
            Some(id) => format!("[Image {number}: {why}. Original: {}]", notices::artifact(&id)),
            None => format!("[Image {number}: {why}]"),
        });
    }

    /// Makes a picture fit, on a thread of its own.
    async fn fit(&self, picture: Arc<Picture>) -> Result<Fitted, String> {
        let lost = || "it could not be looked at".to_owned();
        let turn = Arc::clone(&self.turn).acquire_owned().await.map_err(|_| lost())?;
        let fitted = aside(move || {
            let fitted = picture::fit(&picture);
            drop(turn);
            fitted
        });
        fitted.await.map_err(|_| lost())?
    }

    /// Keeps a picture as it came, unless so many are kept already.
    async fn keep(&self, picture: Arc<Picture>, kept: usize, origin: &ArtifactOrigin) -> Option<String> {
        if kept >= MOST_KEPT {
            return None;
        }
        let what = format!("{} of {}", picture.mime, origin.what);
        let mut writer = self.artifacts.begin(ArtifactOrigin { what, ..origin.clone() }, 0);
        let bytes = aside(move || picture::original(&picture)).await.ok()?;
        writer.keep_anyway();
        writer.write(bytes);
        writer.finish().await.id.map(String::from)
    }
}
