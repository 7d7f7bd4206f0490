//! What outlives the host: all that was said up to the end of the last answer, without any key. One conversation a
//! notebook; a new one takes its place.

use std::sync::{Arc, Mutex, PoisonError};

use cellist_platform::aside::aside;
use cellist_store::ConversationFiles;
use serde::{Deserialize, Serialize};

use super::told::Told;
use super::{Inner, Past, State, begins_turn};
use crate::message::Message;
use crate::provider::{Account, Provider};

/// The longest that is kept; the oldest answers are left out first.
const LONGEST: usize = 1 << 20;
/// How much of what a tool answered is kept.
const LONGEST_RESULT: usize = 4 << 10;

/// Whoever keeps what is said about one notebook.
#[derive(Debug)]
pub(super) struct Keeper {
    talks: ConversationFiles,
    /// One writes at a time, so that the newest is written last.
    writing: Mutex<()>,
}

/// What is kept.
#[derive(Default, Serialize, Deserialize)]
struct Kept {
    told: Vec<Told>,
    history: Vec<Message>,
    turns: Vec<Past>,
}

impl Keeper {
    pub(super) fn new(talks: ConversationFiles) -> Arc<Keeper> {
        Arc::new(Keeper { talks, writing: Mutex::default() })
    }
}

impl Inner {
    /// Takes up what was said before. What cannot be read is as good as nothing.
    pub(super) fn take_up(&self) {
        let kept = self.keeper.as_ref().and_then(|keeper| keeper.talks.read(&self.notebook));
        let kept = kept.and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok()).unwrap_or_default();
        let mut state = self.lock();
        (state.told, state.history) = (kept.told, kept.history);
        state.turns = kept.turns;
    }

    /// Forgets what was said, for whoever comes later.
    pub(super) fn forget(&self) {
        if let Some(keeper) = &self.keeper {
            let _writing = keeper.writing.lock().unwrap_or_else(PoisonError::into_inner);
            keeper.talks.forget(&self.notebook);
        }
    }

    /// Keeps what was said, on a thread where that may take its time.
    pub(super) async fn keep_soon(self: &Arc<Inner>) {
        if self.keeper.is_some() {
            let inner = Arc::clone(self);
            // What cannot be kept keeps nobody from talking.
            let _ = aside(move || inner.keep()).await;
        }
    }

    fn keep(&self) {
        let Some(keeper) = &self.keeper else { return };
        let _writing = keeper.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let (kept, accounts) = {
            let state = self.lock();
            // Another conversation has taken its place, and its file.
            if state.is_over {
                return;
            }
            (Kept::of(&state), state.accounts.clone())
        };
        if let Some(text) = kept.written() {
            let text = accounts.iter().fold(text, |text, account| without(account, &text));
            let _ = keeper.talks.keep(&self.notebook, text.as_bytes());
        }
    }
}

impl Kept {
    fn of(state: &State) -> Kept {
        let mut told = Vec::new();
        state.told.iter().for_each(|one| add(&mut told, one));
        Kept { told, history: state.history.clone(), turns: state.turns.clone() }
    }

    /// As it stands in a file; nothing where even the last answer is too long.
    fn written(mut self) -> Option<String> {
        // A model can do without most of it; people have read what was told.
        leave_out(&mut self.history, LONGEST / 2, begins_turn);
        let around = Kept { told: Vec::new(), history: self.history, turns: self.turns };
        let room = LONGEST.checked_sub(size(&around))?;
        leave_out(&mut self.told, room, |told| matches!(told, Told::Asked { .. }));
        if self.told.is_empty() {
            return None;
        }
        serde_json::to_string(&Kept { told: self.told, ..around }).ok()
    }
}

/// Leaves out the oldest until the rest has room. It begins where something begins.
fn leave_out<T: Serialize>(items: &mut Vec<T>, room: usize, begins: impl Fn(&T) -> bool) {
    let mut left = room;
    let newest = items.iter().rposition(|item| {
        let fits = left.checked_sub(size(item) + 1);
        left = fits.unwrap_or(0);
        fits.is_none()
    });
    let Some(last_out) = newest else { return };
    let next = items[last_out + 1..].iter().position(begins);
    items.drain(..next.map_or(items.len(), |next| last_out + 1 + next));
}

fn size(item: &impl Serialize) -> usize {
    serde_json::to_string(item).map_or(0, |text| text.len())
}

fn without(account: &Account, text: &str) -> String {
    Provider::new(account.clone()).as_sent(text)
}

/// Words that follow each other are one, and of long results only the beginning is kept.
fn add(told: &mut Vec<Told>, one: &Told) {
    match (told.last_mut(), one) {
        (Some(Told::Text(before)), Told::Text(more)) => before.push_str(more),
        (_, Told::Result { id, text, images, is_failure, duration_ms, deeds, needs_mode })
            if text.len() > LONGEST_RESULT =>
        {
            let shown = &text[..text.floor_char_boundary(LONGEST_RESULT)];
            told.push(Told::Result {
                id: id.clone(),
                text: format!("{shown}\n[{} more bytes were not kept]", text.len() - shown.len()),
                images: *images,
                is_failure: *is_failure,
                duration_ms: *duration_ms,
                deeds: deeds.clone(),
                needs_mode: *needs_mode,
            });
        }
        (_, one) => told.push(one.clone()),
    }
}

#[cfg(test)]
mod tests {
    use cellist_tools::Mode;

    use super::*;
    use crate::conversation::MessageId;
    use crate::message::Part;

    fn asked(words: &str) -> Told {
        Told::Asked {
            message: MessageId::default(),
            words: words.to_owned(),
            mode: Mode::Ask,
            model: String::new(),
            turn: String::new(),
            notebook_mode: false,
            notes: Vec::new(),
            attached: Vec::new(),
            selected: Vec::new(),
            outputs: Vec::new(),
        }
    }

    fn kept(told: Vec<Told>) -> Option<Vec<Told>> {
        let state = State { told, ..State::new() };
        Kept::of(&state).written().map(|text| {
            assert!(text.len() <= LONGEST);
            serde_json::from_str::<Kept>(&text).unwrap().told
        })
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_newest_stays() {
        let result = |text: String| Told::Result {
            id: "1".to_owned(),
            text,
            images: 0,
            is_failure: false,
            duration_ms: 0,
            deeds: Vec::new(),
            needs_mode: None,
        };
        let text = |text: &str| Told::Text(text.to_owned());
        let few = kept(vec![asked("a"), text("one "), text("two"), result("x".repeat(9000)), text("three")])
            .unwrap();
        assert_eq!((&few[1], &few[3]), (&text("one two"), &text("three")));
        let Told::Result { text: shown, .. } = &few[2] else { panic!("{few:?}") };
        assert!(shown.len() < 5000 && shown.ends_with("[4904 more bytes were not kept]"), "{shown}");
        let many = (0..10).flat_map(|number| [asked(&number.to_string()), text(&"word ".repeat(50_000))]);
        let kept_of_many = kept(many.collect()).unwrap();
        assert_eq!((kept_of_many.len(), &kept_of_many[0]), (8, &asked("6")));
        assert!(kept(vec![asked("a"), text(&"word ".repeat(500_000))]).is_none());
    }

    #[test]
    fn what_a_model_would_read_again_does_not_keep_the_rest_out() {
        let long = Message::model(vec![Part::Text("x".repeat(LONGEST))]);
        let history = vec![Message::person("a"), long, Message::person("b")];
        let state = State { told: vec![asked("a"), asked("b")], history, ..State::new() };
        let text = Kept::of(&state).written().unwrap();
        let kept: Kept = serde_json::from_str(&text).unwrap();
        assert_eq!((kept.told.len(), kept.history), (2, vec![Message::person("b")]));
    }
}
