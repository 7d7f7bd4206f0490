//! The stored transcript, one file per notebook. It survives a restart of the host, ends with the last finished answer, and
//! contains no API key. A new conversation replaces it.

use std::sync::{Arc, Mutex, PoisonError};

use cellist_platform::aside::aside;
use cellist_store::ConversationFiles;
use serde::Serialize;

use super::transcript::{ChatTranscript, TranscriptEntry};
use super::{SharedConversation, begins_turn};
use crate::provider::{Account, Provider};

/// Maximum size of the file. The oldest answers are dropped first.
const LONGEST: usize = 1 << 20;
/// Maximum bytes of one tool result.
const LONGEST_RESULT: usize = 4 << 10;

/// The place of the stored transcript of one notebook.
#[derive(Debug)]
pub(super) struct TranscriptFile {
    talks: ConversationFiles,
    /// Serializes writers, so that the newest state is written last.
    writing: Mutex<()>,
}

impl TranscriptFile {
    pub(super) fn new(talks: ConversationFiles) -> Arc<TranscriptFile> {
        Arc::new(TranscriptFile { talks, writing: Mutex::default() })
    }
}

impl SharedConversation {
    /// Loads the stored transcript. An unreadable file counts as an empty one.
    pub(super) fn load(&self) {
        let bytes = self.file.as_ref().and_then(|file| file.talks.read(&self.notebook));
        let stored = bytes.and_then(|bytes| serde_json::from_slice::<ChatTranscript>(&bytes).ok());
        self.lock().transcript = stored.unwrap_or_default();
    }

    pub(super) fn delete_stored(&self) {
        if let Some(file) = &self.file {
            let _writing = file.writing.lock().unwrap_or_else(PoisonError::into_inner);
            file.talks.forget(&self.notebook);
        }
    }

    /// Writes the transcript on a blocking thread. A failed write does not disturb the conversation.
    pub(super) async fn store_transcript(self: &Arc<SharedConversation>) {
        if self.file.is_some() {
            let shared = Arc::clone(self);
            let _ = aside(move || shared.write_transcript()).await;
        }
    }

    fn write_transcript(&self) {
        let Some(file) = &self.file else { return };
        let _writing = file.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let (transcript, accounts) = {
            let state = self.lock();
            // A new conversation owns the file now.
            if state.is_over {
                return;
            }
            (state.transcript.compact(), state.accounts.clone())
        };
        if let Some(text) = transcript.into_json() {
            let text = accounts.iter().fold(text, |text, account| without_key(account, &text));
            let _ = file.talks.keep(&self.notebook, text.as_bytes());
        }
    }
}

impl ChatTranscript {
    /// A copy with adjacent texts joined and long results cut.
    fn compact(&self) -> ChatTranscript {
        let mut entries = Vec::new();
        self.entries.iter().for_each(|entry| push_compact(&mut entries, entry));
        ChatTranscript { entries, history: self.history.clone(), turns: self.turns.clone() }
    }

    /// The content of the file. Returns nothing if the last answer alone is too long.
    fn into_json(mut self) -> Option<String> {
        // The history gets at most half: the entries are all that a user sees again.
        drop_oldest(&mut self.history, LONGEST / 2, begins_turn);
        let rest = ChatTranscript { entries: Vec::new(), history: self.history, turns: self.turns };
        let room = LONGEST.checked_sub(json_size(&rest))?;
        drop_oldest(&mut self.entries, room, |entry| matches!(entry, TranscriptEntry::Asked { .. }));
        if self.entries.is_empty() {
            return None;
        }
        serde_json::to_string(&ChatTranscript { entries: self.entries, ..rest }).ok()
    }
}

/// Drops the oldest items until the rest fits into `room` bytes. The rest starts with an item that `begins` accepts.
fn drop_oldest<T: Serialize>(items: &mut Vec<T>, room: usize, begins: impl Fn(&T) -> bool) {
    let mut left = room;
    let newest = items.iter().rposition(|item| {
        let fits = left.checked_sub(json_size(item) + 1);
        left = fits.unwrap_or(0);
        fits.is_none()
    });
    let Some(last_out) = newest else { return };
    let next = items[last_out + 1..].iter().position(begins);
    items.drain(..next.map_or(items.len(), |next| last_out + 1 + next));
}

fn json_size(item: &impl Serialize) -> usize {
    serde_json::to_string(item).map_or(0, |text| text.len())
}

fn without_key(account: &Account, text: &str) -> String {
    Provider::new(account.clone()).as_sent(text)
}

fn push_compact(entries: &mut Vec<TranscriptEntry>, entry: &TranscriptEntry) {
    if let (Some(TranscriptEntry::Text(before)), TranscriptEntry::Text(more)) = (entries.last_mut(), entry) {
        return before.push_str(more);
    }
    let mut entry = entry.clone();
    if let TranscriptEntry::Result { text, .. } = &mut entry
        && text.len() > LONGEST_RESULT
    {
        let shown = &text[..text.floor_char_boundary(LONGEST_RESULT)];
        *text = format!("{shown}\n[{} more bytes were not stored]", text.len() - shown.len());
    }
    entries.push(entry);
}

#[cfg(test)]
mod tests {
    use cellist_tools::Mode;

    use super::*;
    use crate::conversation::MessageId;
    use crate::message::{MessagePart, ModelMessage};

    fn asked(words: &str) -> TranscriptEntry {
        TranscriptEntry::Asked {
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

    fn stored(entries: Vec<TranscriptEntry>) -> Option<Vec<TranscriptEntry>> {
        let transcript = ChatTranscript { entries, ..ChatTranscript::default() };
        transcript.compact().into_json().map(|text| {
            assert!(text.len() <= LONGEST);
            serde_json::from_str::<ChatTranscript>(&text).unwrap().entries
        })
    }

    #[test]
    fn a_stored_transcript_is_bounded_and_keeps_the_newest_answers() {
        let result = |text: String| TranscriptEntry::Result {
            id: "1".to_owned(),
            text,
            images: 0,
            is_failure: false,
            duration_ms: 0,
            deeds: Vec::new(),
            needs_mode: None,
        };
        let text = |text: &str| TranscriptEntry::Text(text.to_owned());
        let few =
            stored(vec![asked("a"), text("one "), text("two"), result("x".repeat(9000)), text("three")])
                .unwrap();
        assert_eq!((&few[1], &few[3]), (&text("one two"), &text("three")));
        let TranscriptEntry::Result { text: shown, .. } = &few[2] else { panic!("{few:?}") };
        assert!(shown.len() < 5000 && shown.ends_with("[4904 more bytes were not stored]"), "{shown}");
        let many = (0..10).flat_map(|number| [asked(&number.to_string()), text(&"word ".repeat(50_000))]);
        let stored_of_many = stored(many.collect()).unwrap();
        assert_eq!((stored_of_many.len(), &stored_of_many[0]), (8, &asked("6")));
        assert!(stored(vec![asked("a"), text(&"word ".repeat(500_000))]).is_none());
    }

    #[test]
    fn a_long_history_leaves_room_for_the_entries() {
        let long = ModelMessage::model(vec![MessagePart::Text("x".repeat(LONGEST))]);
        let history = vec![ModelMessage::person("a"), long, ModelMessage::person("b")];
        let entries = vec![asked("a"), asked("b")];
        let text = ChatTranscript { entries, history, turns: Vec::new() }.into_json().unwrap();
        let stored: ChatTranscript = serde_json::from_str(&text).unwrap();
        assert_eq!((stored.entries.len(), stored.history), (2, vec![ModelMessage::person("b")]));
    }

    #[test]
    fn the_format_of_the_file_stays() {
        let text =
            ChatTranscript { entries: vec![asked("a")], ..ChatTranscript::default() }.into_json().unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["told", "history", "turns"]);
        assert!(value["told"][0]["asked"].is_object(), "{text}");
    }
}
