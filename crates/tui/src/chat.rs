//! A conversation on a terminal whose lines scroll away: the words of an answer as Markdown while they come, and calls
//! of tools as blocks.

use std::collections::HashMap;
use std::time::Duration;

use cellist_host::{Ending, Told, Usage};
use ratatui_core::text::Line;
use serde_json::Value;

use crate::block::{Block, Drawn, Frame, Piece, Shown, Source, State};
use crate::markdown::markdown;
use crate::picture::Picturing;
use crate::stream::to_terminal;
use crate::text::visible;

/// Lines of what a tool answered.
const PREVIEW: usize = 10;

/// A conversation as it is shown.
#[derive(Debug, Default)]
pub struct Talk {
    has_colour: bool,
    /// The part of an answer that may still change.
    text: String,
    /// How many lines of that have scrolled away and stay as they are.
    fixed: usize,
    /// Lines on the screen that the next drawing takes away.
    drawn: usize,
    /// Calls that have no result yet.
    calls: HashMap<String, (String, Value)>,
}

impl Talk {
    /// One in which nothing was said.
    pub fn new(has_colour: bool) -> Talk {
        Talk { has_colour, ..Talk::default() }
    }

    /// What is to be written to a terminal of this size, in columns and rows, for what was told.
    pub fn show(&mut self, told: &Told, size: (usize, usize)) -> String {
        let (width, _) = size;
        match told {
            // The terminal that was asked knows what it said, and proposals are not made there.
            Told::Verdict { .. } | Told::Proposal { .. } => String::new(),
            Told::Asked { words, notes, .. } => {
                let mut shown = self.end_text();
                for line in words.lines() {
                    shown += &self.aside(&format!("> {line}"));
                }
                for note in notes {
                    shown += &self.aside(&format!("note: {note}"));
                }
                shown
            }
            Told::Text(more) => {
                self.text.push_str(more);
                self.draw_text(size)
            }
            Told::Call { id, tool, arguments } => {
                let mut shown = self.end_text();
                self.calls.insert(id.clone(), (tool.clone(), arguments.clone()));
                shown += &self.block(Block { state: State::Pending, ..call(tool, arguments) }, width);
                self.drawn = 1;
                shown
            }
            Told::Question { id, path } => {
                let (tool, arguments) = self.calls.get(id).cloned().unwrap_or_default();
                let block = Block { source: code(&tool, &arguments), ..call(&tool, &arguments) };
                let about =
                    path.as_ref().map(|path| self.aside(&format!("other programs run or obey {path}")));
                self.clear() + &self.block(block, width) + &about.unwrap_or_default()
            }
            Told::Result { id, text, images, is_failure, duration_ms, .. } => {
                let (tool, arguments) = self.calls.remove(id).unwrap_or_default();
                let pictures = match images {
                    0 => None,
                    1 => Some("1 picture".to_owned()),
                    count => Some(format!("{count} pictures")),
                };
                let block = Block {
                    state: if *is_failure { State::Failed } else { State::Complete },
                    time: Some(Duration::from_millis(*duration_ms)),
                    remarks: pictures.into_iter().collect(),
                    source: code(&tool, &arguments),
                    pieces: vec![Piece::Text(text.clone())],
                    ..call(&tool, &arguments)
                };
                self.clear() + &self.block(block, width)
            }
            Told::Again { message, after_ms } => {
                // What came of a try that failed does not count.
                let cleared = self.clear();
                self.text.clear();
                self.fixed = 0;
                let when = match after_ms / 1000 {
                    0 => "at once".to_owned(),
                    seconds => format!("in {seconds} s"),
                };
                cleared + &self.aside(&format!("{message}; asked again {when}"))
            }
            Told::Ended { ending, usage } => {
                let mut shown = self.end_text();
                shown += &self.clear();
                let said = match ending {
                    Ending::Done => None,
                    Ending::Stopped => Some("stopped".to_owned()),
                    Ending::TooLong => Some("the answer may not be longer: see chat.max_tokens".to_owned()),
                    Ending::TooManySteps => {
                        Some("the answer had too many steps: see chat.max_steps".to_owned())
                    }
                    Ending::Refused => Some("the provider did not want to go on".to_owned()),
                    Ending::Failed { message, hint } => Some(format!("{message}; {hint}")),
                };
                for line in said.into_iter().chain(used(*usage)) {
                    shown += &self.aside(&line);
                }
                shown
            }
            Told::Undone { .. } => self.end_text() + &self.aside("what the answer changed was taken back"),
        }
    }

    /// Takes away what may still change.
    fn clear(&mut self) -> String {
        match std::mem::take(&mut self.drawn) {
            0 => String::new(),
            lines => format!("\x1b[{lines}A\r\x1b[J"),
        }
    }

    /// A line beside what is said. The terminal breaks one that is too long: what helps often stands at its end.
    fn aside(&self, text: &str) -> String {
        let line = visible(text);
        if self.has_colour { format!("\x1b[2m{line}\x1b[m\n") } else { format!("{line}\n") }
    }

    fn block(&self, block: Block, width: usize) -> String {
        let frame =
            Frame { width, shown: Shown::Preview(PREVIEW), key: "--json", picturing: Picturing::WORDS };
        to_terminal(&block.draw(&frame), self.has_colour)
    }

    /// The part of the answer that may still change, in place of what was drawn of it before.
    fn draw_text(&mut self, (width, height): (usize, usize)) -> String {
        let mut shown = self.clear();
        // Whole paragraphs stay as they are, so that a long answer costs no more than a short one.
        if let Some(end) = whole_paragraphs(&self.text) {
            let rest = self.text.split_off(end);
            let whole = std::mem::replace(&mut self.text, rest);
            shown += &self.lines(&whole, width, self.fixed).0;
            shown.push('\n');
            self.fixed = 0;
        }
        let (text, count) = self.lines(&self.text, width, self.fixed);
        shown += &text;
        // What does not fit on the screen could not be taken away again.
        let over = count.saturating_sub(height.saturating_sub(2).max(1));
        self.fixed += over;
        self.drawn = count - over;
        shown
    }

    /// The lines of a text from one on, and how many they are.
    fn lines(&self, text: &str, width: usize, from: usize) -> (String, usize) {
        let lines: Vec<Line<'static>> = markdown(text, width).into_iter().skip(from).collect();
        let count = lines.len();
        let drawn = Drawn { lines, ..Drawn::default() };
        (to_terminal(&drawn, self.has_colour), count)
    }

    /// What was written of the answer stays as it is, and something else may be written below it.
    pub fn end_text(&mut self) -> String {
        let had_text = !std::mem::take(&mut self.text).trim().is_empty();
        (self.fixed, self.drawn) = (0, 0);
        if had_text { "\n".to_owned() } else { String::new() }
    }
}

/// Where the last paragraph begins that is not at its end, if there are others before it. Code is one paragraph.
fn whole_paragraphs(text: &str) -> Option<usize> {
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

/// A call in a line: the tool, and what it is about.
fn call(tool: &str, arguments: &Value) -> Block {
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
    Block { label: visible(tool), title: visible(&title), ..Block::default() }
}

/// The code that a call brings.
fn code(tool: &str, arguments: &Value) -> Source {
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
        None => Source::Hidden,
        Some(text) if arguments["type"] == "markdown" || arguments["cell_type"] == "markdown" => {
            Source::Markdown(text)
        }
        Some(text) if tool == "bash" || tool == "write" => Source::Raw(text),
        Some(text) => Source::Code { text, language: "python".to_owned() },
    }
}

/// How much was read and written, where the provider has said so.
fn used(usage: Usage) -> Option<String> {
    if usage == Usage::default() {
        return None;
    }
    let known = if usage.cached > 0 { format!(" ({} known before)", usage.cached) } else { String::new() };
    let cost = usage.cost.map(|cost| format!(" · ${cost:.4}")).unwrap_or_default();
    Some(format!("{} tokens read{known}, {} written{cost}", usage.input, usage.output))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SIZE: (usize, usize) = (60, 20);

    #[test]
    fn words_are_drawn_again_until_their_paragraph_is_whole() {
        let mut talk = Talk::new(false);
        assert_eq!(talk.show(&Told::Text("Some *wo".into()), SIZE), "Some *wo\n");
        assert_eq!(talk.show(&Told::Text("rds*".into()), SIZE), "\x1b[1A\r\x1b[JSome words\n");
        let more = talk.show(&Told::Text("\n\nNext".into()), SIZE);
        assert_eq!(more, "\x1b[1A\r\x1b[JSome words\n\nNext\n");
        assert_eq!(talk.show(&Told::Text(".".into()), SIZE), "\x1b[1A\r\x1b[JNext.\n");
    }

    #[test]
    fn what_does_not_fit_on_the_screen_stays_as_it_is() {
        let mut talk = Talk::new(false);
        let text: String = (0..30).map(|index| format!("- item {index}\n")).collect();
        talk.show(&Told::Text(text), SIZE);
        assert_eq!((talk.drawn, talk.fixed), (18, 12));
        let again = talk.show(&Told::Text("- item 30\n".into()), SIZE);
        assert!(again.starts_with("\x1b[18A\r\x1b[J") && again.contains("item 12\n"), "{again:?}");
        assert!(!again.contains("item 11\n"), "{again:?}");
    }

    #[test]
    fn a_call_is_a_line_and_its_result_a_block_of_ten_lines() {
        let mut talk = Talk::new(false);
        let arguments = json!({ "path": "nb.ipynb", "action": "insert", "cell_index": 2, "cell_type": "code", "content": "x = 1" });
        let call = Told::Call { id: "1".into(), tool: "notebook".into(), arguments };
        let shown = talk.show(&call, SIZE);
        assert_eq!(shown.lines().count(), 1, "{shown}");
        assert!(shown.contains("notebook insert nb.ipynb 2 code"), "{shown}");
        let text = (0..30).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\n");
        let result = Told::Result {
            id: "1".into(),
            text,
            images: 0,
            is_failure: false,
            duration_ms: 5,
            deeds: Vec::new(),
            needs_mode: None,
        };
        let shown = talk.show(&result, SIZE);
        assert!(
            shown.starts_with("\x1b[1A\r\x1b[J") && shown.contains('✓') && shown.contains("x = 1"),
            "{shown}"
        );
        assert!(shown.contains("line 29") && !shown.contains("line 5\n"), "{shown}");
    }

    #[test]
    fn a_question_about_a_file_shows_its_path_spelled_out_and_the_content() {
        let mut talk = Talk::new(false);
        let arguments = json!({ "path": ".git/config", "content": "[core]\nfsmonitor = bad" });
        talk.show(&Told::Call { id: "1".into(), tool: "write".into(), arguments }, SIZE);
        let path = Some("/repo/.git/\u{1b}[2Jconfig".to_owned());
        let shown = talk.show(&Told::Question { id: "1".into(), path }, SIZE);
        assert!(shown.contains("other programs run or obey /repo/.git/"), "{shown:?}");
        assert!(shown.contains("fsmonitor = bad") && !shown.contains("\u{1b}[2J"), "{shown:?}");
        talk.show(
            &Told::Call { id: "2".into(), tool: "python".into(), arguments: json!({ "code": "1" }) },
            SIZE,
        );
        let shown = talk.show(&Told::Question { id: "2".into(), path: None }, SIZE);
        assert!(!shown.contains("other programs"), "{shown:?}");
    }

    #[test]
    fn tokens_that_the_provider_does_not_count_are_not_told() {
        let usage = Usage { input: 7, output: 2, ..Usage::default() };
        assert_eq!(used(usage).as_deref(), Some("7 tokens read, 2 written"));
        assert_eq!(used(Usage::default()), None);
    }

    #[test]
    fn what_went_wrong_is_told_to_its_end_in_a_narrow_terminal() {
        let (message, hint) =
            ("cannot reach http://127.0.0.1:9/v1/messages", "see that chat.base_url is right");
        let ending = Ending::Failed { message: message.into(), hint: hint.into() };
        let told = Told::Ended { ending, usage: Usage::default() };
        assert_eq!(Talk::new(false).show(&told, (20, 10)), format!("{message}; {hint}\n"));
    }

    #[test]
    fn words_of_a_try_that_failed_are_taken_away() {
        let mut talk = Talk::new(false);
        talk.show(&Told::Text("half".into()), SIZE);
        let shown = talk.show(&Told::Again { message: "it broke off".into(), after_ms: 500 }, SIZE);
        assert_eq!(shown, "\x1b[1A\r\x1b[Jit broke off; asked again at once\n");
        assert_eq!(talk.show(&Told::Text("whole".into()), SIZE), "whole\n");
    }
}
