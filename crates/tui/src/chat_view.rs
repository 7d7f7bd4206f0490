//! A conversation on a scrolling terminal: answers as Markdown while they arrive, and tool calls as blocks.

use std::collections::HashMap;
use std::time::Duration;

use cellist_host::{AnswerEnding, TokenUsage, TranscriptEntry};
use ratatui_core::text::Line;
use serde_json::Value;

use crate::ansi::to_terminal;
use crate::block::{
    BlockDetail, BlockSource, BlockState, CellBlock, OutputPiece, RenderOptions, RenderedLines,
};
use crate::graphics::ImageSupport;
use crate::markdown::render_markdown;
use crate::text::visible;

/// The rows of a tool's result.
const PREVIEW: usize = 10;

/// Converts the transcript of a conversation to terminal output.
///
/// The last paragraph and a pending call are drawn again when they change. Everything above them is final, so a long answer
/// costs no more than a short one.
#[derive(Debug, Default)]
pub struct ChatView {
    has_colour: bool,
    /// The part of the answer that may still change.
    text: String,
    /// The number of its lines that have scrolled off the screen and are final.
    scrolled: usize,
    /// The number of lines that the next drawing replaces.
    drawn: usize,
    /// The calls without a result, by id.
    calls: HashMap<String, (String, Value)>,
}

impl ChatView {
    /// Starts with an empty conversation.
    pub fn new(has_colour: bool) -> ChatView {
        ChatView { has_colour, ..ChatView::default() }
    }

    /// Returns the output for an entry, on a terminal of this size in columns and rows.
    pub fn show(&mut self, entry: &TranscriptEntry, size: (usize, usize)) -> String {
        let (width, _) = size;
        match entry {
            // The terminal shows decisions itself, and has no conversations about one cell.
            TranscriptEntry::Verdict { .. } | TranscriptEntry::Proposal { .. } => String::new(),
            TranscriptEntry::Asked { words, notes, .. } => {
                let mut shown = self.end_text();
                for line in words.lines() {
                    shown += &self.aside(&format!("> {line}"));
                }
                for note in notes {
                    shown += &self.aside(&format!("note: {note}"));
                }
                shown
            }
            TranscriptEntry::Text(more) => {
                self.text.push_str(more);
                self.draw_text(size)
            }
            TranscriptEntry::Call { id, tool, arguments } => {
                let mut shown = self.end_text();
                self.calls.insert(id.clone(), (tool.clone(), arguments.clone()));
                shown +=
                    &self.block(CellBlock { state: BlockState::Pending, ..call(tool, arguments) }, width);
                self.drawn = 1;
                shown
            }
            TranscriptEntry::Question { id, path } => {
                let (tool, arguments) = self.calls.get(id).cloned().unwrap_or_default();
                let block = CellBlock { source: code(&tool, &arguments), ..call(&tool, &arguments) };
                let about = path.as_ref();
                let about = about.map(|path| self.aside(&format!("other programs run or obey {path}")));
                self.clear() + &self.block(block, width) + &about.unwrap_or_default()
            }
            TranscriptEntry::Result { id, text, images, is_failure, duration_ms, .. } => {
                let (tool, arguments) = self.calls.remove(id).unwrap_or_default();
                let remark = match images {
                    0 => None,
                    1 => Some("1 image".to_owned()),
                    count => Some(format!("{count} images")),
                };
                let block = CellBlock {
                    state: if *is_failure { BlockState::Failed } else { BlockState::Complete },
                    time: Some(Duration::from_millis(*duration_ms)),
                    remarks: remark.into_iter().collect(),
                    source: code(&tool, &arguments),
                    pieces: vec![OutputPiece::Text(text.clone())],
                    ..call(&tool, &arguments)
                };
                self.clear() + &self.block(block, width)
            }
            TranscriptEntry::Again { message, after_ms } => {
                // The text of the failed try is void.
                let cleared = self.clear();
                self.text.clear();
                self.scrolled = 0;
                let when = match after_ms / 1000 {
                    0 => "now".to_owned(),
                    seconds => format!("in {seconds} s"),
                };
                cleared + &self.aside(&format!("{message}; retrying {when}"))
            }
            TranscriptEntry::Ended { ending, usage } => {
                let mut shown = self.end_text();
                shown += &self.clear();
                for line in ending_note(ending).into_iter().chain(token_count(*usage)) {
                    shown += &self.aside(&line);
                }
                shown
            }
            TranscriptEntry::Undone { .. } => {
                self.end_text() + &self.aside("the changes of the answer were undone")
            }
        }
    }

    /// Erases the lines that may still change.
    fn clear(&mut self) -> String {
        match std::mem::take(&mut self.drawn) {
            0 => String::new(),
            lines => format!("\x1b[{lines}A\r\x1b[J"),
        }
    }

    /// A dim line. A long one is wrapped by the terminal, never cut: hints stand at its end.
    fn aside(&self, text: &str) -> String {
        let line = visible(text);
        if self.has_colour { format!("\x1b[2m{line}\x1b[m\n") } else { format!("{line}\n") }
    }

    fn block(&self, block: CellBlock, width: usize) -> String {
        let options = RenderOptions {
            width,
            detail: BlockDetail::Preview(PREVIEW),
            key: "--json",
            images: ImageSupport::WORDS,
        };
        to_terminal(&block.render(&options), self.has_colour)
    }

    /// Draws the changing part of the answer again.
    fn draw_text(&mut self, (width, height): (usize, usize)) -> String {
        let mut shown = self.clear();
        // Complete paragraphs are final.
        if let Some(end) = complete_paragraphs(&self.text) {
            let rest = self.text.split_off(end);
            let whole = std::mem::replace(&mut self.text, rest);
            shown += &self.lines(&whole, width, self.scrolled).0;
            shown.push('\n');
            self.scrolled = 0;
        }
        let (text, count) = self.lines(&self.text, width, self.scrolled);
        shown += &text;
        // Lines that have left the screen cannot be erased.
        let over = count.saturating_sub(height.saturating_sub(2).max(1));
        self.scrolled += over;
        self.drawn = count - over;
        shown
    }

    /// The lines of a Markdown text from one on, and their number.
    fn lines(&self, text: &str, width: usize, from: usize) -> (String, usize) {
        let lines: Vec<Line<'static>> = render_markdown(text, width).into_iter().skip(from).collect();
        let count = lines.len();
        let rendered = RenderedLines { lines, ..RenderedLines::default() };
        (to_terminal(&rendered, self.has_colour), count)
    }

    /// Ends the current text, so that other output can follow below it.
    pub fn end_text(&mut self) -> String {
        let had_text = !std::mem::take(&mut self.text).trim().is_empty();
        (self.scrolled, self.drawn) = (0, 0);
        if had_text { "\n".to_owned() } else { String::new() }
    }
}

/// The end of the complete paragraphs, if there are any. A code block is one paragraph.
fn complete_paragraphs(text: &str) -> Option<usize> {
    let (mut at, mut end, mut in_code) = (0, None, false);
    for line in text.split_inclusive('\n') {
        at += line.len();
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if line.trim().is_empty() && !in_code && at < text.len() {
            end = Some(at);
        }
    }
    end
}

/// A call as a heading: the tool and its main arguments.
fn call(tool: &str, arguments: &Value) -> CellBlock {
    const SHOWN: [&str; 9] =
        ["action", "path", "notebook", "cell", "cell_index", "cells", "type", "cell_type", "index"];
    let word = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(list) if list.iter().all(|item| !item.is_object()) => {
            let words: Vec<String> = list
                .iter()
                .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
                .collect();
            words.join(", ")
        }
        Value::Array(list) => format!("{} cells", list.len()),
        other => other.to_string(),
    };
    let about = SHOWN.iter().filter_map(|name| arguments.get(name)).map(word);
    let more = arguments.get("command").map(word);
    let title = about.chain(more).collect::<Vec<_>>().join(" ");
    let title = title.lines().next().unwrap_or_default().to_owned();
    CellBlock { label: visible(tool), title: visible(&title), ..CellBlock::default() }
}

/// The code in a call's arguments.
fn code(tool: &str, arguments: &Value) -> BlockSource {
    let text = |name: &str| arguments[name].as_str().map(str::to_owned);
    let pieces = || {
        let cells = arguments["cells"].as_array()?;
        let code: Vec<&str> = cells.iter().filter_map(|cell| cell["code"].as_str()).collect();
        (!code.is_empty()).then(|| code.join("\n\n"))
    };
    let found = match tool {
        "write" | "edit" => text("content").or_else(|| text("new")),
        _ => text("content").or_else(|| text("code")).or_else(|| text("command")).or_else(pieces),
    };
    match found {
        None => BlockSource::Hidden,
        Some(text) if arguments["type"] == "markdown" || arguments["cell_type"] == "markdown" => {
            BlockSource::Markdown(text)
        }
        Some(text) if tool == "bash" || tool == "write" => BlockSource::Raw(text),
        Some(text) => BlockSource::Code { text, language: "python".to_owned() },
    }
}

/// Why an answer is incomplete, with a hint.
fn ending_note(ending: &AnswerEnding) -> Option<String> {
    match ending {
        AnswerEnding::Done => None,
        AnswerEnding::Stopped => Some("stopped".to_owned()),
        AnswerEnding::TooLong => {
            Some("the answer reached its limit of tokens; see chat.max_tokens".to_owned())
        }
        AnswerEnding::TooManySteps => {
            Some("the answer reached its limit of steps; see chat.max_steps".to_owned())
        }
        AnswerEnding::Refused => Some("the provider refused to continue".to_owned()),
        AnswerEnding::Failed { message, hint } => Some(format!("{message}; {hint}")),
    }
}

/// The count of tokens, if the provider reports it.
fn token_count(usage: TokenUsage) -> Option<String> {
    if usage == TokenUsage::default() {
        return None;
    }
    let cached = if usage.cached > 0 { format!(" ({} cached)", usage.cached) } else { String::new() };
    let cost = usage.cost.map(|cost| format!(" · ${cost:.4}")).unwrap_or_default();
    Some(format!("{} tokens read{cached}, {} written{cost}", usage.input, usage.output))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SIZE: (usize, usize) = (60, 20);

    #[test]
    fn text_is_drawn_again_until_its_paragraph_is_complete() {
        let mut view = ChatView::new(false);
        assert_eq!(view.show(&TranscriptEntry::Text("Some *wo".into()), SIZE), "Some *wo\n");
        assert_eq!(view.show(&TranscriptEntry::Text("rds*".into()), SIZE), "\x1b[1A\r\x1b[JSome words\n");
        let more = view.show(&TranscriptEntry::Text("\n\nNext".into()), SIZE);
        assert_eq!(more, "\x1b[1A\r\x1b[JSome words\n\nNext\n");
        assert_eq!(view.show(&TranscriptEntry::Text(".".into()), SIZE), "\x1b[1A\r\x1b[JNext.\n");
    }

    #[test]
    fn lines_beyond_the_screen_are_final() {
        let mut view = ChatView::new(false);
        let text: String = (0..30).map(|index| format!("- item {index}\n")).collect();
        view.show(&TranscriptEntry::Text(text), SIZE);
        assert_eq!((view.drawn, view.scrolled), (18, 12));
        let again = view.show(&TranscriptEntry::Text("- item 30\n".into()), SIZE);
        assert!(again.starts_with("\x1b[18A\r\x1b[J") && again.contains("item 12\n"), "{again:?}");
        assert!(!again.contains("item 11\n"), "{again:?}");
    }

    #[test]
    fn a_call_is_a_line_and_its_result_a_block_of_ten_lines() {
        let mut view = ChatView::new(false);
        let arguments = json!({ "path": "nb.ipynb", "action": "insert", "cell_index": 2, "cell_type": "code", "content": "x = 1" });
        let call = TranscriptEntry::Call { id: "1".into(), tool: "notebook".into(), arguments };
        let shown = view.show(&call, SIZE);
        assert_eq!(shown.lines().count(), 1, "{shown}");
        assert!(shown.contains("notebook insert nb.ipynb 2 code"), "{shown}");
        let text = (0..30).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\n");
        let result = TranscriptEntry::Result {
            id: "1".into(),
            text,
            images: 0,
            is_failure: false,
            duration_ms: 5,
            deeds: Vec::new(),
            needs_mode: None,
        };
        let shown = view.show(&result, SIZE);
        assert!(
            shown.starts_with("\x1b[1A\r\x1b[J") && shown.contains('✓') && shown.contains("x = 1"),
            "{shown}"
        );
        assert!(shown.contains("line 29") && !shown.contains("line 5\n"), "{shown}");
    }

    #[test]
    fn a_question_about_a_file_shows_its_escaped_path_and_the_content() {
        let mut view = ChatView::new(false);
        let arguments = json!({ "path": ".git/config", "content": "[core]\nfsmonitor = bad" });
        view.show(&TranscriptEntry::Call { id: "1".into(), tool: "write".into(), arguments }, SIZE);
        let path = Some("/repo/.git/\u{1b}[2Jconfig".to_owned());
        let shown = view.show(&TranscriptEntry::Question { id: "1".into(), path }, SIZE);
        assert!(shown.contains("other programs run or obey /repo/.git/"), "{shown:?}");
        assert!(shown.contains("fsmonitor = bad") && !shown.contains("\u{1b}[2J"), "{shown:?}");
        view.show(
            &TranscriptEntry::Call {
                id: "2".into(),
                tool: "python".into(),
                arguments: json!({ "code": "1" }),
            },
            SIZE,
        );
        let shown = view.show(&TranscriptEntry::Question { id: "2".into(), path: None }, SIZE);
        assert!(!shown.contains("other programs"), "{shown:?}");
    }

    #[test]
    fn tokens_are_shown_only_if_the_provider_counts_them() {
        let usage = TokenUsage { input: 7, output: 2, ..TokenUsage::default() };
        assert_eq!(token_count(usage).as_deref(), Some("7 tokens read, 2 written"));
        assert_eq!(token_count(TokenUsage::default()), None);
    }

    #[test]
    fn a_failure_is_shown_whole_in_a_narrow_terminal() {
        let (message, hint) = ("cannot reach http://127.0.0.1:9/v1/messages", "check chat.base_url");
        let ending = AnswerEnding::Failed { message: message.into(), hint: hint.into() };
        let ended = TranscriptEntry::Ended { ending, usage: TokenUsage::default() };
        assert_eq!(ChatView::new(false).show(&ended, (20, 10)), format!("{message}; {hint}\n"));
    }

    #[test]
    fn the_text_of_a_failed_try_is_erased() {
        let mut view = ChatView::new(false);
        view.show(&TranscriptEntry::Text("half".into()), SIZE);
        let shown =
            view.show(&TranscriptEntry::Again { message: "it was interrupted".into(), after_ms: 500 }, SIZE);
        assert_eq!(shown, "\x1b[1A\r\x1b[Jit was interrupted; retrying now\n");
        assert_eq!(view.show(&TranscriptEntry::Text("whole".into()), SIZE), "whole\n");
    }
}
