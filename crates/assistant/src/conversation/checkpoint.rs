//! Going back to before a message: what its answer and all later ones changed in notebooks is taken back, the newest first.
//! What others did since stays.

use std::path::PathBuf;

use cellist_session::live::{Author, DocumentError, Unchanged, Undo};

use super::Conversation;
use super::told::Told;

/// Why it is not gone back.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum CannotRestore {
    #[error("an answer is under way")]
    Answering,
    #[error("there is no answer `{0}` in this conversation")]
    NoSuchTurn(String),
    #[error(transparent)]
    Session(#[from] cellist_session::Error),
    #[error(transparent)]
    Document(#[from] DocumentError),
}

impl Conversation {
    /// Takes back what an answer changed in notebooks, and with it what all later ones of the conversation changed. Where
    /// one cannot be taken back, those after it are, and it is said why.
    pub async fn restore(&self, turn: &str, author: Author) -> Result<(), CannotRestore> {
        let turns = {
            let state = self.0.lock();
            if state.answering.is_some() {
                return Err(CannotRestore::Answering);
            }
            let at = state.turns.iter().position(|past| past.turn == turn);
            let at = at.ok_or_else(|| CannotRestore::NoSuchTurn(turn.to_owned()))?;
            let later = state.turns[at..].iter().rev().filter(|past| !past.is_undone);
            later.map(|past| (past.turn.clone(), past.notebooks.clone())).collect::<Vec<_>>()
        };
        for (turn, notebooks) in turns {
            if self.take_back(&turn, notebooks, &author).await? {
                self.undone(&turn).await;
            }
        }
        Ok(())
    }

    /// Takes back what one answer changed. Tells whether that was anything.
    async fn take_back(
        &self,
        turn: &str,
        notebooks: Vec<PathBuf>,
        author: &Author,
    ) -> Result<bool, CannotRestore> {
        let mut is_any = false;
        for path in notebooks {
            // Of a notebook that is gone there is nothing to take back.
            if !path.exists() {
                continue;
            }
            let document = self.0.toolbox.documents().open(&path).await?;
            match document.undo(Undo::Turn(turn.to_owned()), author.clone()).await {
                Ok(_) => is_any = true,
                // It was only looked at, or taken back elsewhere.
                Err(DocumentError::Unchanged(unchanged)) if matches!(*unchanged, Unchanged::Nothing(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(is_any)
    }

    /// A person has taken back what was changed in a turn.
    pub async fn undone(&self, turn: &str) {
        const ASIDE: &str =
            "The person has taken back what you changed in the notebook with an earlier answer.";
        {
            let mut state = self.0.lock();
            state.turns.iter_mut().filter(|past| past.turn == turn).for_each(|past| past.is_undone = true);
            if state.aside.iter().all(|said| said != ASIDE) {
                state.aside.push(ASIDE.to_owned());
            }
        }
        self.0.tell(Told::Undone { turn: turn.to_owned() });
        self.0.keep_soon().await;
    }
}
