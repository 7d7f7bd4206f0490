//! The pictures of an answer: how many there are, how they are made to fit without holding anyone up, and where the
//! originals are kept.

use std::sync::Arc;

use cellist_output::notices;
use cellist_session::artifact::{Artifacts, Origin};
use cellist_session::execution::{Picture, Pictures};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::picture::{self, Fitted};
use super::{Budget, Composed};
use crate::answer::{Answer, Block};

/// How many pictures an answer has.
const MOST: usize = 8;
/// Bytes of all pictures of an answer.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// How many originals of one answer are kept.
const MOST_KEPT: usize = 16;

/// Makes answers with pictures. Cheap to clone; all clones take turns.
#[derive(Clone, Debug)]
pub(crate) struct Gallery {
    artifacts: Artifacts,
    /// One picture is decoded at a time, however many ask.
    turn: Arc<Semaphore>,
}

impl Gallery {
    pub(crate) fn new(artifacts: Artifacts) -> Gallery {
        Gallery { artifacts, turn: Arc::new(Semaphore::new(1)) }
    }

    /// The answer with its pictures. `origin` says where they came from.
    pub(crate) async fn answer(&self, mut composed: Composed, budget: Budget, origin: &Origin) -> Answer {
        let Pictures { list, left_out } = std::mem::take(&mut composed.pictures);
        let (mut blocks, mut notes, mut bytes, mut kept) = (Vec::new(), Vec::new(), 0, 0);
        let mut unseen = 0;
        for (index, picture) in list.into_iter().enumerate() {
            let number = index + 1;
            let mut why = None;
            let picture = Arc::new(picture);
            if blocks.len() < MOST {
                match self.fit(Arc::clone(&picture)).await {
                    Ok(Fitted { mime, data, changed }) if bytes + data.len() <= MAX_BYTES => {
                        bytes += data.len();
                        blocks.push(Block::Image { mime: mime.to_owned(), data });
                        match changed {
                            None => continue,
                            Some(changed) => why = Some(changed),
                        }
                    }
                    Ok(_) => {}
                    Err(error) => why = Some(format!("not shown, {error}")),
                }
            }
            kept += 1;
            let address = match kept <= MOST_KEPT {
                true => self.keep(picture, origin).await.map(|id| notices::artifact(&id)),
                false => None,
            };
            match (why, address) {
                (Some(why), Some(address)) => {
                    notes.push(format!("[Image {number}: {why}. Original: {address}]"))
                }
                (Some(why), None) => notes.push(format!("[Image {number}: {why}]")),
                (None, Some(address)) => {
                    notes.push(format!("[Image {number}: not shown, too many. It is in {address}]"))
                }
                (None, None) => unseen += 1,
            }
        }
        if unseen + left_out > 0 {
            notes.push(format!("[{} more images are not shown]", unseen + left_out));
        }
        notes.iter().for_each(|note| composed.line(note));
        let mut answer = composed.into_answer(budget);
        answer.blocks.splice(1..1, blocks);
        answer
    }

    /// Makes a picture fit, on a thread of its own.
    async fn fit(&self, picture: Arc<Picture>) -> Result<Fitted, String> {
        let lost = || "it could not be looked at".to_owned();
        let turn = Arc::clone(&self.turn).acquire_owned().await.map_err(|_| lost())?;
        let fitted = spawn_blocking(move || {
            let fitted = picture::fit(&picture);
            drop(turn);
            fitted
        });
        fitted.await.map_err(|_| lost())?
    }

    /// Keeps a picture as it came, and says where.
    async fn keep(&self, picture: Arc<Picture>, origin: &Origin) -> Option<String> {
        let what = format!("{} of {}", picture.mime, origin.what);
        let mut writer = self.artifacts.begin(Origin { what, ..origin.clone() }, 0);
        let bytes = spawn_blocking(move || picture::original(&picture)).await.ok()?;
        writer.keep_anyway();
        writer.write(bytes);
        writer.finish().await.id.map(String::from)
    }
}
