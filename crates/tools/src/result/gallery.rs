//! The pictures of a reply: limits, conversion off the async threads, and artifacts of the
//! originals.

use std::sync::Arc;

use cellist_output::notices;
use cellist_platform::aside::aside;
use cellist_session::execution::{Picture, Pictures};
use cellist_store::artifact::{ArtifactOrigin, Artifacts};
use tokio::sync::Semaphore;

use super::picture::{self, FittedPicture};
use super::reply::ShownPictures;
use super::{ReplyDraft, ToolReply};
use crate::answer::AnswerBlock;

/// Pictures in a reply.
const MOST: usize = 8;
/// Bytes of all pictures in a reply.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// Originals kept of one reply.
const MOST_KEPT: usize = 16;

/// Makes replies with pictures. Clones share one queue for conversions.
#[derive(Clone, Debug)]
pub(crate) struct Gallery {
    artifacts: Artifacts,
    /// Limits decoding to one picture at a time.
    turn: Arc<Semaphore>,
}

/// Progress through the pictures of a reply.
#[derive(Default)]
struct PictureCount {
    /// Pictures seen so far, pictures shown, and the bytes of those shown.
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

    /// Adds pictures to a reply. Each answer decides whether to show them.
    pub(crate) async fn reply(&self, mut composed: ReplyDraft, origin: &ArtifactOrigin) -> ToolReply {
        let (mut count, mut shown) = (PictureCount::default(), Vec::with_capacity(composed.sections.len()));
        let is_in_notebook = composed.is_in_notebook;
        for section in &mut composed.sections {
            let Pictures { list, left_out } = std::mem::take(&mut section.pictures);
            let mut pictures = ShownPictures { more: left_out, ..ShownPictures::default() };
            for picture in list {
                self.add_picture(Arc::new(picture), &mut pictures, &mut count, is_in_notebook, origin).await;
            }
            shown.push(pictures);
        }
        ToolReply::new(composed, shown).with_store(self.artifacts.clone(), origin.clone(), count.originals)
    }

    async fn add_picture(
        &self,
        picture: Arc<Picture>,
        pictures: &mut ShownPictures,
        count: &mut PictureCount,
        is_in_notebook: bool,
        origin: &ArtifactOrigin,
    ) {
        count.seen += 1;
        let number = count.seen;
        let fitted = match count.shown < MOST {
            true => Some(self.fit(Arc::clone(&picture)).await),
            false => None,
        };
        let why = match fitted {
            Some(Ok(FittedPicture { mime, data, changed })) if count.bytes + data.len() <= MAX_BYTES => {
                count.bytes += data.len();
                count.shown += 1;
                pictures.blocks.push(AnswerBlock::Image { mime: mime.to_owned(), data });
                match changed {
                    Some(changed) => changed,
                    None => return,
                }
            }
            Some(Err(error)) => format!("not shown: {error}"),
            Some(Ok(_)) | None => {
                pictures.more += 1;
                if !is_in_notebook {
                    count.originals.extend(self.keep(picture, count.kept, origin).await);
                    count.kept += 1;
                }
                return;
            }
        };
        let original = self.keep(picture, count.kept, origin).await;
        count.kept += 1;
        pictures.notes.push(match original {
            Some(id) => format!("[Image {number}: {why}. Original: {}]", notices::artifact(&id)),
            None => format!("[Image {number}: {why}]"),
        });
    }

    /// Converts a picture off the async threads.
    async fn fit(&self, picture: Arc<Picture>) -> Result<FittedPicture, String> {
        let lost = || "could not be processed".to_owned();
        let turn = Arc::clone(&self.turn).acquire_owned().await.map_err(|_| lost())?;
        let fitted = aside(move || {
            let fitted = picture::fit(&picture);
            drop(turn);
            fitted
        });
        fitted.await.map_err(|_| lost())?
    }

    /// Stores the original as an artifact, up to the limit.
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
