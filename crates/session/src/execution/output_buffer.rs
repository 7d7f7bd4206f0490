//! Buffers the outputs of one cell for its notebook. Past a limit, keeps the first and the last outputs with a
//! notice between. Memory is bounded like the file.

use std::borrow::Cow;
use std::collections::VecDeque;

use cellist_kernel::Event;
use cellist_output::{
    Decoder, MimeBundle, MimeData, Output, Outputs, RawJson, StatusEvent, StreamName, notices,
};

use super::report::{Picture, Pictures};

/// Limit for the pictures kept for a model, in bytes of base64. The oldest are dropped first.
pub(super) const PICTURES: usize = 128 * 1024 * 1024;

/// Outputs larger than this are written into the notebook only once.
const LARGE: usize = 64 * 1024 * 1024;

/// Size of the chunks that hold text after the head. The oldest chunks can be dropped.
const PIECE: usize = 64 * 1024;

/// The outputs of one cell, updated by each event.
#[derive(Clone, Debug)]
pub struct OutputBuffer {
    /// Bytes for the head, and for the tail; `None` keeps everything.
    half: Option<usize>,
    head: Outputs,
    head_bytes: usize,
    tail: VecDeque<Output>,
    tail_bytes: usize,
    dropped_bytes: u64,
    /// Separate byte limit for pictures; without it they count towards `half`.
    picture_room: Option<usize>,
    picture_bytes: usize,
    pictures_left_out: usize,
    clear_before_next: bool,
    /// Whether outputs were cleared.
    is_cleared: bool,
    /// Path of the artifact with the full output, once known.
    pub artifact: Option<String>,
    stdout: Decoder,
    stderr: Decoder,
}

impl OutputBuffer {
    /// Creates an empty buffer that keeps up to `limit` bytes.
    pub fn new(limit: Option<usize>) -> OutputBuffer {
        OutputBuffer {
            half: limit.map(|limit| limit / 2),
            head: Outputs::new(),
            head_bytes: 0,
            tail: VecDeque::new(),
            tail_bytes: 0,
            dropped_bytes: 0,
            picture_room: None,
            picture_bytes: 0,
            pictures_left_out: 0,
            clear_before_next: false,
            is_cleared: false,
            artifact: None,
            stdout: Decoder::default(),
            stderr: Decoder::default(),
        }
    }

    /// Creates a buffer that starts with existing outputs.
    pub fn of(limit: Option<usize>, outputs: Vec<Output>) -> OutputBuffer {
        let mut kept = OutputBuffer::new(limit);
        for output in outputs {
            match output {
                Output::Stream { name, text } => kept.text(name, &text),
                output => kept.push(output),
            }
        }
        kept
    }

    /// Inserts earlier outputs at the start, unless the buffer was cleared.
    pub(super) fn put_before(&mut self, earlier: Vec<Output>) {
        if self.is_cleared {
            return;
        }
        let later: Vec<Output> = self.outputs().into_owned();
        let (limit, clear_before_next) = (self.half.map(|half| 2 * half), self.clear_before_next);
        *self = OutputBuffer::of(limit, earlier.into_iter().chain(later).collect());
        self.clear_before_next = clear_before_next;
    }

    /// Keeps pictures under a separate limit.
    pub fn with_pictures(mut self, room: usize) -> OutputBuffer {
        self.picture_room = Some(room);
        self
    }

    /// Returns the newest pictures within the limit.
    pub fn pictures(&self) -> Pictures {
        let (mut list, mut left_out, mut room) = (Vec::new(), self.pictures_left_out, Some(PICTURES));
        let data = self.head.iter().chain(&self.tail).filter_map(Output::data);
        for (mime, data) in data.rev().filter_map(MimeBundle::picture) {
            room = room.and_then(|room| room.checked_sub(data.len()));
            match room {
                Some(_) => list.push(Picture { mime: mime.to_owned(), data: data.to_owned() }),
                None => left_out += 1,
            }
        }
        list.reverse();
        Pictures { list, left_out }
    }

    /// Applies an event.
    pub fn apply(&mut self, event: Event) {
        match event {
            Event::Stream { name, bytes, .. } => self.stream(name, &bytes),
            Event::Display { data, metadata, display_id } => {
                self.push(Output::Display { data, metadata, display_id });
            }
            Event::Result { execution_count, data, metadata, display_id } => {
                self.push(Output::Result { execution_count, data, metadata, display_id });
            }
            Event::Error { name, message, traceback } => {
                self.push(Output::Error { name, message, traceback });
            }
            Event::UpdateDisplay { display_id, data, metadata } => {
                self.update(&display_id, &data, &metadata);
            }
            Event::WidgetText { model, text } => self.set_widget_text(&model, &text),
            Event::ClearOutput { wait } => self.clear(wait),
            // Late output reaches its own cell by another path.
            Event::Late { .. }
            | Event::Started { .. }
            | Event::InputRequested
            | Event::Progress { .. }
            | Event::Failure { .. }
            | Event::Comm(_)
            | Event::OutputLost
            | Event::OutputRefused { .. }
            | Event::Done(_)
            | Event::Died(_) => {}
        }
    }

    /// Whether the outputs are large enough to be written into the notebook only once, at the end of the cell. Each
    /// earlier write would copy them in memory.
    pub fn is_large(&self) -> bool {
        self.head_bytes + self.tail_bytes >= LARGE
    }

    /// Whether outputs were dropped.
    pub fn is_cut(&self) -> bool {
        self.dropped_bytes > 0
    }

    /// Whether an output can still be updated by its display id.
    pub fn has_display_ids(&self) -> bool {
        self.head.iter().chain(&self.tail).any(|output| output.display_id().is_some())
    }

    /// Sets the text of a widget's display.
    fn set_widget_text(&mut self, model: &str, text: &str) {
        self.head.iter_mut().chain(&mut self.tail).for_each(|output| output.set_widget_text(model, text));
    }

    /// Replaces the outputs with a display id. Returns whether there was one.
    pub fn update(&mut self, id: &str, data: &MimeBundle, metadata: &RawJson) -> bool {
        let mut updated = false;
        for output in self.head.iter_mut().chain(&mut self.tail) {
            updated |= output.update_display(id, data, metadata);
        }
        if updated && !self.tail.is_empty() {
            self.tail_bytes = self.tail.iter().map(|output| self.weigh(output)).sum();
        }
        if updated && self.picture_room.is_some() {
            let data = self.head.iter().chain(&self.tail).filter_map(Output::data);
            self.picture_bytes = data.map(MimeBundle::picture_bytes).sum();
            self.drop_pictures();
        }
        updated
    }

    /// Returns the outputs for the file. Status events of helpers are left out, because other programs cannot show
    /// them.
    pub fn saved(&self) -> Cow<'_, [Output]> {
        let outputs = self.outputs();
        if !outputs.iter().any(is_status) {
            return outputs;
        }
        let mut saved = Outputs::new();
        for output in outputs.iter().filter(|output| !is_status(output)) {
            match output {
                // Merges the text before and after a removed status event.
                Output::Stream { name, text } => saved.push_stream(*name, text),
                Output::Display { .. } | Output::Result { .. } | Output::Error { .. } => {
                    saved.push(anonymous(output));
                }
            }
        }
        Cow::Owned(saved.into())
    }

    /// Returns the current outputs. Copies them only if some were dropped. An incomplete character is left out, and
    /// display ids have no meaning here.
    pub fn outputs(&self) -> Cow<'_, [Output]> {
        if self.tail.is_empty() {
            return Cow::Borrowed(self.head.as_slice());
        }
        let mut all = Outputs::new();
        // Updates by display id were applied to all copies already; they must not apply again here.
        self.head.iter().for_each(|output| all.push(anonymous(output)));
        let mut tail = self.tail.iter();
        if self.dropped_bytes > 0 {
            let cut = match self.tail.front() {
                Some(Output::Stream { name, text }) => {
                    tail.next();
                    // Drops the rest of a line whose start was dropped.
                    let from = text.find('\n').map_or(0, |at| at + 1);
                    Some((*name, &text[from..], from))
                }
                _ => None,
            };
            let left_out = self.dropped_bytes + cut.map_or(0, |(_, _, from)| from as u64);
            all.push_stream(StreamName::Stderr, &notices::left_out(left_out, self.artifact.as_deref()));
            if let Some((name, rest, _)) = cut.filter(|(_, rest, _)| !rest.is_empty()) {
                all.push_stream(name, rest);
            }
        }
        tail.for_each(|output| all.push(anonymous(output)));
        Cow::Owned(all.into())
    }

    /// Ends both streams and flushes incomplete characters.
    pub fn finish(&mut self) {
        for name in [StreamName::Stdout, StreamName::Stderr] {
            let mut text = String::new();
            self.decoder(name).finish(|piece| text.push_str(piece));
            self.text(name, &text);
        }
    }

    fn decoder(&mut self, name: StreamName) -> &mut Decoder {
        match name {
            StreamName::Stdout => &mut self.stdout,
            StreamName::Stderr => &mut self.stderr,
        }
    }

    fn stream(&mut self, name: StreamName, bytes: &[u8]) {
        let mut decoder = std::mem::take(self.decoder(name));
        decoder.push(bytes, |text| self.text(name, text));
        *self.decoder(name) = decoder;
    }

    fn text(&mut self, name: StreamName, mut text: &str) {
        if text.is_empty() {
            return;
        }
        self.clear_if_due();
        let room = match self.half {
            None => usize::MAX,
            Some(half) if self.tail.is_empty() => half.saturating_sub(self.head_bytes),
            Some(_) => 0,
        };
        let size = self.piece();
        let (first, rest) = text.split_at(whole_lines(text, room, size));
        if !first.is_empty() {
            self.head.push_stream(name, first);
            self.head_bytes += first.len();
        }
        text = rest;
        while !text.is_empty() {
            let (piece, rest) = text.split_at(text.floor_char_boundary(size));
            match self.tail.back_mut() {
                Some(Output::Stream { name: last, text: so_far })
                    if *last == name && so_far.len() + piece.len() <= size =>
                {
                    so_far.push_str(piece);
                }
                _ => self.tail.push_back(Output::stream(name, piece)),
            }
            self.tail_bytes += piece.len();
            self.drop_oldest();
            text = rest;
        }
    }

    fn push(&mut self, output: Output) {
        self.clear_if_due();
        if let Output::Display { data, metadata, display_id: Some(id) }
        | Output::Result { data, metadata, display_id: Some(id), .. } = &output
        {
            self.update(id, data, metadata);
        }
        let size = self.weigh(&output);
        self.picture_bytes += output.data().map_or(0, MimeBundle::picture_bytes);
        let fits = self.half.is_none_or(|half| self.tail.is_empty() && self.head_bytes + size <= half);
        if fits {
            self.head_bytes += size;
            self.head.push(output);
        } else {
            self.tail_bytes += size;
            self.tail.push_back(output);
            self.drop_oldest();
        }
        self.drop_pictures();
    }

    fn clear(&mut self, wait: bool) {
        self.clear_before_next = wait;
        if !wait {
            self.is_cleared = true;
            self.head = Outputs::new();
            self.tail.clear();
            (self.head_bytes, self.tail_bytes, self.dropped_bytes) = (0, 0, 0);
            (self.picture_bytes, self.pictures_left_out) = (0, 0);
        }
    }

    fn clear_if_due(&mut self) {
        if self.clear_before_next {
            self.clear(false);
        }
    }

    /// Maximum size of a text chunk: at most the tail, and large enough for any character.
    fn piece(&self) -> usize {
        self.half.map_or(PIECE, |half| half.clamp(4, PIECE))
    }

    /// Drops the oldest outputs while the rest still fills the tail.
    fn drop_oldest(&mut self) {
        let Some(half) = self.half else { return };
        while let Some(oldest) = self.tail.front().map(|output| self.weigh(output))
            && self.tail_bytes - oldest >= half
            && self.tail.len() > 1
        {
            if let Some(data) = self.tail.pop_front().as_ref().and_then(Output::data) {
                self.picture_bytes = self.picture_bytes.saturating_sub(data.picture_bytes());
                self.pictures_left_out += usize::from(data.picture().is_some());
            }
            self.tail_bytes -= oldest;
            self.dropped_bytes += oldest as u64;
        }
    }

    /// Drops the oldest pictures while they exceed their limit.
    fn drop_pictures(&mut self) {
        let Some(room) = self.picture_room else { return };
        for output in self.head.iter_mut().chain(&mut self.tail) {
            if self.picture_bytes <= room {
                return;
            }
            if let Output::Display { data, .. } | Output::Result { data, .. } = output {
                self.pictures_left_out += usize::from(data.picture().is_some());
                self.picture_bytes = self.picture_bytes.saturating_sub(data.take_pictures());
            }
        }
    }

    /// Bytes that an output counts towards the limit.
    fn weigh(&self, output: &Output) -> usize {
        let apart = match self.picture_room {
            Some(_) => output.data().map_or(0, MimeBundle::picture_bytes),
            None => 0,
        };
        weight(output) - apart
    }
}

/// Number of bytes of `text` that fit into `room`: all, whole lines, or part of a long line.
fn whole_lines(text: &str, room: usize, piece: usize) -> usize {
    if text.len() <= room {
        return text.len();
    }
    let end = text.floor_char_boundary(room);
    match text[..end].rfind('\n') {
        Some(at) => at + 1,
        None if text.len() > piece => end,
        None => 0,
    }
}

/// Approximate size of an output in the file.
pub(super) fn weight(output: &Output) -> usize {
    match output {
        Output::Stream { text, .. } => text.len(),
        Output::Display { data, metadata, .. } | Output::Result { data, metadata, .. } => {
            let each = |(mime, data): (&str, &MimeData)| {
                mime.len()
                    + match data {
                        MimeData::Text(text) => text.len(),
                        MimeData::Json(json) => json.get().len(),
                    }
            };
            data.iter().map(each).sum::<usize>() + metadata.get().len()
        }
        Output::Error { name, message, traceback } => {
            name.len() + message.len() + traceback.iter().map(String::len).sum::<usize>()
        }
    }
}

/// Whether an output is only a status event.
fn is_status(output: &Output) -> bool {
    let Output::Display { data, .. } = output else { return false };
    let mut types = data.iter().map(|(mime, _)| mime).peekable();
    types.peek().is_some() && types.all(StatusEvent::is_status)
}

fn anonymous(output: &Output) -> Output {
    match output {
        Output::Display { data, metadata, .. } => {
            Output::Display { data: data.clone(), metadata: metadata.clone(), display_id: None }
        }
        Output::Result { execution_count, data, metadata, .. } => Output::Result {
            execution_count: *execution_count,
            data: data.clone(),
            metadata: metadata.clone(),
            display_id: None,
        },
        Output::Stream { .. } | Output::Error { .. } => output.clone(),
    }
}

#[cfg(test)]
mod tests;
