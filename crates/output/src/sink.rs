//! One execution's text for one reader: cleaned, counted and cut as it comes, in bounded memory.

mod cut;
mod numbering;

use std::collections::VecDeque;
use std::fmt;

use memchr::memchr_iter;
use serde::{Deserialize, Serialize};

use crate::clean::{Ansi, Cleaner, clean};
use crate::limits::Limits;
use crate::notices;
use cut::Cut;
use numbering::Numbering;

/// Collects the output of an execution. Writing the raw bytes to an artifact is the caller's part, and totals
/// and line numbers are the artifact's: a line ends at `\n`, and a last line without one counts.
///
/// The text is that of all raw bytes, cleaned; cleaning neither removes nor adds a `\n`. Where it exceeds the
/// limits, its head and its tail are shown. Memory stays bounded whatever comes: about twice the limit and
/// the line that is open.
#[derive(Clone, Debug)]
pub struct Sink {
    limits: Limits,
    ansi: Ansi,
    cleaner: Cleaner,
    /// The end of the settled text.
    kept: String,
    /// Bytes of settled text that stood before `kept`, and the line ends in them.
    dropped: u64,
    dropped_newlines: u64,
    /// The start of the settled text, once some was dropped.
    head: String,
    numbering: Numbering,
    /// Displays in `kept` that an update can still find, in order.
    displays: VecDeque<Placed>,
    clear_before_next: bool,
    raw_bytes: u64,
    raw_newlines: u64,
    raw_at_line_start: bool,
}

/// A display's place in the text.
#[derive(Clone, Debug)]
struct Placed {
    id: String,
    from: u64,
    to: u64,
}

/// A part of a text that stands on lines of its own. Each but the last ends with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// It is shown.
    Shown(&'a str),
    /// Only a notice of it is shown.
    LeftOut {
        /// The bytes left out.
        text: &'a str,
        /// The notice in their place.
        notice: String,
    },
}

/// Displays further back can't be updated any more.
const MAX_DISPLAYS: usize = 1000;

/// The text for a reader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// The text, with one notice at its end where it was cut.
    pub text: String,
    /// How much was cut; `None` where nothing was.
    pub truncated: Option<Truncation>,
}

/// How much of an output is shown. Totals are of the raw output, as the artifact has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truncation {
    /// Lines of the raw output.
    pub total_lines: u64,
    /// Lines of which at least a part is shown.
    pub shown_lines: u64,
    /// Bytes of the raw output.
    pub total_bytes: u64,
    /// Bytes of cleaned text shown, without notices.
    pub shown_bytes: u64,
    /// The lines of the head, if there is one.
    pub head: Option<LineRange>,
    /// The lines of the tail, if there is one.
    pub tail: Option<LineRange>,
}

/// Lines from one to another, counted from 1, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRange {
    /// The first line.
    pub first: u64,
    /// The last line.
    pub last: u64,
}

impl fmt::Display for LineRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(f, "{}", self.first)
        } else {
            write!(f, "{}-{}", self.first, self.last)
        }
    }
}

impl Sink {
    /// An empty sink.
    pub fn new(limits: Limits, ansi: Ansi) -> Self {
        Self {
            limits,
            ansi,
            cleaner: Cleaner::new(ansi),
            kept: String::new(),
            dropped: 0,
            dropped_newlines: 0,
            head: String::new(),
            numbering: Numbering::default(),
            displays: VecDeque::new(),
            clear_before_next: false,
            raw_bytes: 0,
            raw_newlines: 0,
            raw_at_line_start: true,
        }
    }

    /// Takes bytes of a stream, split anywhere.
    pub fn push(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.clear_if_due();
            self.take(bytes);
        }
    }

    /// Takes a text that stands on lines of its own: a display's, or a traceback. Returns it as it belongs into
    /// the artifact, with the line ends that set it apart.
    pub fn block(&mut self, text: &str, display_id: Option<&str>) -> String {
        if text.is_empty() && display_id.is_none() {
            return String::new();
        }
        self.clear_if_due();
        let line_end = self.begin_line();
        let block = on_own_lines(text);
        let from = self.end();
        self.take(block.as_bytes());
        if let Some(id) = display_id {
            self.displays.push_back(Placed { id: id.to_owned(), from, to: self.end() });
            self.forget_displays();
        }
        line_end.to_owned() + &block
    }

    /// Takes a text that stands on lines of its own and is shown in part. Returns the whole of it as it belongs into the
    /// artifact, whose line numbers are kept.
    pub fn parts(&mut self, parts: &[Part<'_>]) -> String {
        self.clear_if_due();
        let mut whole = self.begin_line().to_owned();
        for (index, part) in parts.iter().enumerate() {
            let is_last = index + 1 == parts.len();
            let (Part::Shown(text) | Part::LeftOut { text, .. }) = part;
            let text = if is_last { on_own_lines(text) } else { (*text).to_owned() };
            match part {
                Part::Shown(_) => self.take(text.as_bytes()),
                Part::LeftOut { notice, .. } => {
                    self.count(text.as_bytes());
                    self.cleaner.push(notice.as_bytes(), &mut self.kept);
                    self.drop_excess();
                    let lines = signed(newlines(text.as_bytes())) - signed(newlines(notice.as_bytes()));
                    self.numbering.skip(self.end(), lines);
                }
            }
            whole.push_str(&text);
        }
        whole
    }

    /// Replaces the text of every display with this id, as far back as text is held; the text around it keeps
    /// its line numbers. Returns the new text as it belongs into the artifact, where it comes at the end. An
    /// update is not new output: a delayed clear stays delayed.
    pub fn update(&mut self, display_id: &str, text: &str) -> String {
        let line_end = self.begin_line();
        let block = on_own_lines(text);
        self.count(block.as_bytes());
        self.numbering.skip(self.end(), signed(newlines(block.as_bytes())));
        let shown = clean(block.as_bytes(), self.ansi);
        for index in 0..self.displays.len() {
            if self.displays[index].id == display_id {
                self.replace(index, &shown);
            }
        }
        self.drop_excess();
        line_end.to_owned() + &block
    }

    /// Removes the text shown so far: now, or (`wait`) when more comes. Totals and line numbers go on.
    pub fn clear(&mut self, wait: bool) {
        self.clear_before_next = wait;
        if wait {
            return;
        }
        self.cleaner.finish(&mut self.kept);
        self.kept.clear();
        self.head.clear();
        self.dropped = 0;
        self.dropped_newlines = 0;
        self.displays.clear();
        self.numbering = Numbering::default();
        self.numbering.skip(0, signed(self.raw_newlines));
    }

    /// Lines of the raw output so far.
    pub fn total_lines(&self) -> u64 {
        self.raw_newlines + u64::from(!self.raw_at_line_start)
    }

    /// Bytes of the raw output so far.
    pub fn total_bytes(&self) -> u64 {
        self.raw_bytes
    }

    /// A snapshot for a reader. Costs a copy of the visible text, not of all that was pushed.
    pub fn snapshot(&self, artifact_id: Option<&str>) -> Shown {
        let open = self.cleaner.open_line();
        if open.is_empty() {
            return self.shown(&self.kept, artifact_id);
        }
        self.shown(&format!("{}{open}", self.kept), artifact_id)
    }

    /// Ends the output. Given the artifact's id, the notice of a cut says where the whole is.
    pub fn finish(mut self, artifact_id: Option<&str>) -> Shown {
        self.cleaner.finish(&mut self.kept);
        self.shown(&self.kept, artifact_id)
    }

    fn take(&mut self, bytes: &[u8]) {
        // Bounds the text held between two snapshots.
        const PIECE: usize = 64 * 1024;
        for piece in bytes.chunks(PIECE) {
            self.count(piece);
            self.cleaner.push(piece, &mut self.kept);
            self.drop_excess();
        }
    }

    fn count(&mut self, bytes: &[u8]) {
        self.raw_bytes += bytes.len() as u64;
        self.raw_newlines += newlines(bytes);
        if let Some(last) = bytes.last() {
            self.raw_at_line_start = *last == b'\n';
        }
    }

    /// Ends the stream's line, if one is open, and with it any unfinished sequence. Returns the text that
    /// the artifact needs for that.
    fn begin_line(&mut self) -> &'static str {
        let line_end = if self.raw_at_line_start { "" } else { "\n" };
        if self.end() == 0 && self.cleaner.open_line().is_empty() {
            // Nothing to set the block apart from: the line before it was cleared.
            self.count(line_end.as_bytes());
            self.numbering.skip(0, signed(newlines(line_end.as_bytes())));
        } else {
            self.take(line_end.as_bytes());
        }
        self.cleaner.finish(&mut self.kept);
        line_end
    }

    fn clear_if_due(&mut self) {
        if self.clear_before_next {
            self.clear(false);
        }
    }

    /// Where the settled text ends.
    fn end(&self) -> u64 {
        self.dropped + self.kept.len() as u64
    }

    /// Drops settled text that can't be shown any more, rarely enough that it costs little.
    fn drop_excess(&mut self) {
        let wanted = self.limits.max_bytes + cut::MAX_SEQUENCE;
        if self.kept.len() <= 2 * wanted {
            return;
        }
        if self.dropped == 0 {
            let end = self.kept.floor_char_boundary(self.limits.head_bytes);
            self.head.push_str(&self.kept[..end]);
        }
        let excess = self.kept.floor_char_boundary(self.kept.len() - wanted);
        self.dropped += excess as u64;
        self.dropped_newlines += newlines(&self.kept.as_bytes()[..excess]);
        self.kept.drain(..excess);
        self.numbering.merge(self.head.len() as u64, self.dropped);
        self.forget_displays();
    }

    fn forget_displays(&mut self) {
        while self.displays.len() > MAX_DISPLAYS
            || self.displays.front().is_some_and(|first| first.from < self.dropped)
        {
            self.displays.pop_front();
        }
    }

    /// Gives a display another text. Line numbers behind it stay as they were.
    fn replace(&mut self, index: usize, text: &str) {
        let Placed { from, to, .. } = self.displays[index];
        let range = within(from - self.dropped)..within(to - self.dropped);
        let lost = newlines(&self.kept.as_bytes()[range.clone()]);
        self.kept.replace_range(range, text);
        let new_to = from + text.len() as u64;
        let moved = |at: u64| if at >= to { at - to + new_to } else { at };
        self.numbering.move_from(from, moved);
        self.numbering.skip(new_to, signed(lost) - signed(newlines(text.as_bytes())));
        self.displays[index].to = new_to;
        for later in self.displays.range_mut(index + 1..) {
            (later.from, later.to) = (moved(later.from), moved(later.to));
        }
    }

    /// Cuts `kept`, with the open line behind it, to the limits.
    fn shown(&self, kept: &str, artifact_id: Option<&str>) -> Shown {
        let head = if self.dropped == 0 { kept } else { &self.head };
        let Some(Cut { head_end, tail_start }) = cut::cut(head, kept, self.dropped > 0, &self.limits) else {
            return Shown { text: kept.to_owned(), truncated: None };
        };
        let (head, tail) = (&head[..head_end], &kept[tail_start..]);
        let tail_from = self.dropped + tail_start as u64;
        let before_tail = self.dropped_newlines + newlines(&kept.as_bytes()[..tail_start]);
        let head_lines = self.numbering.range(0, 0, head);
        let tail_lines = self.numbering.range(tail_from, before_tail, tail);
        let shared = matches!((head_lines, tail_lines), (Some(head), Some(tail)) if head.last == tail.first);
        let truncated = Truncation {
            total_lines: self.total_lines(),
            shown_lines: cut::lines(head) + cut::lines(tail) - u64::from(shared),
            total_bytes: self.raw_bytes,
            shown_bytes: (head.len() + tail.len()) as u64,
            head: head_lines,
            tail: tail_lines,
        };
        let notice = notices::truncated(&truncated, artifact_id);
        let mut text = String::with_capacity(head.len() + tail.len() + notice.len() + 16);
        for (part, mark) in [(head, notices::GAP), (tail, notice.as_str())] {
            text.push_str(part);
            if !part.is_empty() && !part.ends_with('\n') {
                text.push_str(cut::reset_after(part));
                text.push('\n');
            }
            text.push_str(mark);
            if mark == notices::GAP {
                text.push('\n');
            }
        }
        Shown { text, truncated: Some(truncated) }
    }
}

fn on_own_lines(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// An offset into text that is held.
fn within(offset: u64) -> usize {
    usize::try_from(offset).expect("text held in memory has an offset that fits")
}
