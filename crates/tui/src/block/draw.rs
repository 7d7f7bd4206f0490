//! The lines of a block for a width.

use ansi_to_tui::IntoText;
use cellist_output::{StatusEvent, TreeLimits, json_tree, notices};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

use super::{Block, Piece, Source, State, spoken};
use crate::highlight::highlighted;
use crate::look::Role;
use crate::markdown::markdown;
use crate::picture::{Picturing, Prepared};
use crate::text::{broken, clamped, columns, fitting, indented, plain_lines, visible};

/// What stands before each line of a block.
const INDENT: &str = "  ";
/// What stands before a line of code.
const BAR: &str = "│ ";
/// As much of a title as is shown beside all else.
const LONGEST_TITLE: usize = 60;

/// How much of a block is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shown {
    /// The end of its output, in so many rows.
    Preview(usize),
    /// All.
    All,
}

/// How a block is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Columns that there are.
    pub width: usize,
    /// How much is shown.
    pub shown: Shown,
    /// What shows the rest, such as `Ctrl-O`.
    pub key: &'static str,
    /// How pictures are shown.
    pub picturing: Picturing,
}

/// Where a picture goes that is not made of letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The row that it begins in.
    pub row: usize,
    /// How many rows it takes.
    pub rows: usize,
    /// The column that it begins in.
    pub column: usize,
    /// What draws it there.
    pub payload: String,
}

/// A block as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawn {
    /// Its lines, none wider than the frame.
    pub lines: Vec<Line<'static>>,
    /// What is to be sent before them, once.
    pub before: Vec<String>,
    /// What is drawn over them.
    pub placed: Vec<Placed>,
}

impl Drawn {
    fn push(&mut self, lines: impl IntoIterator<Item = Line<'static>>) {
        self.lines.extend(lines);
    }
}

impl Block {
    /// Its lines.
    pub fn draw(&self, frame: &Frame) -> Drawn {
        let mut drawn = Drawn::default();
        drawn.push([self.heading(frame.width)]);
        drawn.push(self.source(frame));
        if let Some((share, counted)) = &self.progress {
            drawn.push([progress(*share, counted, frame.width)]);
        }
        let mut output = Drawn::default();
        let room = frame.width.saturating_sub(INDENT.len()).max(1);
        for piece in &self.pieces {
            match piece {
                Piece::Picture(picture, words) => match picture.prepare(&frame.picturing, room as u16) {
                    Some(prepared) => place(prepared, &mut output),
                    None => output.push(wrapped_text(words, room, Role::Aside)),
                },
                _ => output.push(piece.lines(room, frame.shown)),
            }
        }
        shorten(&mut output, frame);
        let from = drawn.lines.len();
        let moved = output.placed.into_iter().map(|it| Placed {
            row: it.row + from,
            column: it.column + INDENT.len(),
            ..it
        });
        drawn.placed.extend(moved);
        drawn.before = output.before;
        let indent = [Span::raw(INDENT)];
        drawn.push(output.lines.into_iter().map(|line| match line.spans.is_empty() {
            true => line,
            false => Line::from(indent.iter().cloned().chain(line.spans).collect::<Vec<_>>()),
        }));
        drawn
    }

    fn role(&self) -> Role {
        match self.state {
            State::Resting | State::Pending | State::FailedAsItMay => Role::Aside,
            State::Running(_) => Role::Position,
            State::Complete => Role::Good,
            State::Failed | State::TimedOut => Role::Bad,
            State::Cancelled => Role::Warning,
        }
    }

    /// `✓ [3] load the data  failed · 0.42 s`, as much of it as fits; the title gives first.
    fn heading(&self, width: usize) -> Line<'static> {
        let mut facts: Vec<(String, Role)> = Vec::new();
        facts.extend(self.state.word().map(|word| (word.to_owned(), self.role())));
        facts.extend(self.time.map(|time| (spoken(time), Role::Aside)));
        facts.extend(self.remarks.iter().map(|remark| (visible(remark), Role::Aside)));
        let mark = self.state.mark();
        let label = visible(&self.label);
        let taken = columns(mark) + 1 + if label.is_empty() { 0 } else { columns(&label) + 1 };
        let mut room = width.saturating_sub(taken);
        // Facts behind the first give way before the title does.
        let least = columns(&self.title).min(12);
        let wide = |facts: &[(String, Role)]| facts.iter().map(|(text, _)| columns(text) + 3).sum::<usize>();
        while facts.len() > 1 && wide(&facts) + least > room {
            facts.pop();
        }
        room = room.saturating_sub(wide(&facts)).min(LONGEST_TITLE);
        let title = fitting(&visible(&self.title), room);
        let mut spans = vec![Span::styled(mark, self.role().style()), Span::raw(" ")];
        if !label.is_empty() {
            spans.push(Span::styled(label, Role::Position.style()));
            spans.push(Span::raw(" "));
        }
        if !title.is_empty() {
            spans.push(Span::styled(title, Role::Title.style()));
            spans.push(Span::raw(if facts.is_empty() { "" } else { "  " }));
        }
        for (at, (text, role)) in facts.into_iter().enumerate() {
            if at > 0 {
                spans.push(Span::styled(" · ", Role::Aside.style()));
            }
            spans.push(Span::styled(text, role.style()));
        }
        // What is still too wide in a very narrow terminal is cut.
        broken(&Line::from(spans), width).swap_remove(0)
    }

    fn source(&self, frame: &Frame) -> Vec<Line<'static>> {
        let room = frame.width.saturating_sub(INDENT.len()).max(1);
        let indent = [Span::raw(INDENT)];
        let (lines, before) = match &self.source {
            Source::Hidden => return Vec::new(),
            Source::Markdown(text) => (markdown(text, room), &indent[..]),
            Source::Raw(text) => (plain_lines(text, Role::Aside.style()), &indent[..]),
            Source::Code { text, language } => {
                let bar = [Span::styled(BAR, self.role().style())];
                let width = frame.width.saturating_sub(BAR.chars().count()).max(1);
                let code = highlighted(text.trim_end_matches('\n'), language);
                let (code, more) = head(code, frame);
                let rows: Vec<_> = code.iter().flat_map(|line| broken(line, width)).collect();
                let mut rows = indented(rows, &bar, &bar);
                rows.extend(more.map(|notice| {
                    Line::from(vec![
                        bar[0].clone(),
                        Span::styled(fitting(&notice, width), Role::Aside.style()),
                    ])
                }));
                return rows;
            }
        };
        let rows: Vec<_> = lines.iter().flat_map(|line| broken(line, room)).collect();
        indented(rows, before, before)
    }
}

/// The beginning of code where only a part is shown, and what says so.
fn head(mut code: Vec<Line<'static>>, frame: &Frame) -> (Vec<Line<'static>>, Option<String>) {
    let Shown::Preview(most) = frame.shown else { return (code, None) };
    // One line more is better than a line that says so.
    if code.len() <= most + 1 {
        return (code, None);
    }
    let more = code.len() - most;
    code.truncate(most);
    let notice = format!("… {more} more lines of code ({} shows all)", frame.key);
    (code, Some(said(notice, more, frame)))
}

/// Leaves the end of the output, below a line that says how much is before it.
fn shorten(output: &mut Drawn, frame: &Frame) {
    let Shown::Preview(most) = frame.shown else { return };
    if output.lines.len() <= most {
        return;
    }
    let mut cut = output.lines.len() - most;
    // A picture is shown whole, or its last row would be all there is of it.
    let is_letters = output.placed.is_empty() && !output.before.is_empty();
    if let Some(placed) = output.placed.iter().find(|it| it.row < cut && cut < it.row + it.rows) {
        cut = placed.row;
    } else if is_letters {
        cut = 0;
    }
    output.placed.retain(|it| it.row >= cut);
    output.placed.iter_mut().for_each(|it| it.row = it.row + 1 - cut);
    if cut == 0 {
        output.placed.iter_mut().for_each(|it| it.row -= 1);
        return;
    }
    output.lines.drain(..cut);
    let notice = said(notices::hidden_lines(cut as u64, frame.key), cut, frame);
    let room = frame.width.saturating_sub(INDENT.len());
    output.lines.insert(0, Line::from(Span::styled(fitting(&notice, room), Role::Aside.style())));
}

/// A sentence, or the least of it where there is no room.
fn said(notice: String, count: usize, frame: &Frame) -> String {
    match columns(&notice) + INDENT.len() <= frame.width {
        true => notice,
        false => format!("… {count} hidden ({})", frame.key),
    }
}

fn place(prepared: Prepared, output: &mut Drawn) {
    let (row, rows) = (output.lines.len(), prepared.lines.len());
    output.before.extend(prepared.before);
    output.placed.extend(prepared.over.map(|payload| Placed { row, rows, column: 0, payload }));
    output.push(prepared.lines);
}

impl Piece {
    fn lines(&self, room: usize, shown: Shown) -> Vec<Line<'static>> {
        match self {
            Piece::Text(text) => coloured(text, Style::new(), room),
            Piece::Aside(text) => coloured(text, Role::Warning.style(), room),
            Piece::Markdown(text) => markdown(text, room),
            Piece::Json(json) => {
                let limits = match shown {
                    Shown::Preview(_) => TreeLimits::default(),
                    Shown::All => TreeLimits { depth: 16, items: 500, string: 2000, lines: 5000 },
                };
                let tree = json_tree(json, limits);
                tree.lines().flat_map(|line| broken(&tree_line(line), room)).collect()
            }
            Piece::Picture(_, words) | Piece::Unshown(words) => wrapped_text(words, room, Role::Aside),
            Piece::Error { name, message, traceback } => error(name, message, traceback, room),
            Piece::Status(events) => events.iter().map(|event| status(event, room)).collect(),
            Piece::Warning(text) => {
                let rows = wrapped_text(text, room.saturating_sub(2), Role::Warning);
                let mark = [Span::styled("⚠ ", Role::Warning.style())];
                indented(rows, &mark, &[Span::raw("  ")])
            }
        }
    }
}

/// Text with its own colours, in rows.
fn coloured(text: &str, style: Style, room: usize) -> Vec<Line<'static>> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    if !text.contains('\x1b') {
        return text
            .split('\n')
            .flat_map(|line| broken(&Line::from(Span::styled(clamped(line), style)), room))
            .collect();
    }
    // Line by line: one that cannot be read costs no other.
    let read = |line: &str| match line.into_text() {
        Ok(mut read) if read.lines.len() == 1 => {
            let line = read.lines.swap_remove(0);
            line.style(style)
        }
        _ => Line::from(Span::styled(visible(line), style)),
    };
    text.split('\n').flat_map(|line| broken(&read(line), room)).collect()
}

fn wrapped_text(text: &str, room: usize, role: Role) -> Vec<Line<'static>> {
    let lines = text
        .split('\n')
        .flat_map(|line| crate::text::wrapped(&[Span::styled(visible(line), role.style())], room));
    lines.collect()
}

/// A line of a tree: what is before the colon is a name.
fn tree_line(line: &str) -> Line<'static> {
    match line.split_once(": ") {
        Some((name, value)) if !name.trim_start().starts_with('"') || name.ends_with('"') => {
            Line::from(vec![
                Span::styled(format!("{}: ", visible(name)), Role::Position.style()),
                Span::raw(visible(value)),
            ])
        }
        _ => Line::from(visible(line)),
    }
}

/// What was raised: its name and message first, then where, with a bar so that it is seen as one.
fn error(name: &str, message: &str, traceback: &str, room: usize) -> Vec<Line<'static>> {
    let bad = Role::Bad.style();
    let bar = [Span::styled("▌ ", bad)];
    let width = room.saturating_sub(2).max(1);
    let raised = notices::raised(name, message);
    let mut rows: Vec<Line<'static>> = Vec::new();
    if !traceback.trim().is_empty() {
        // A rule as wide as some other screen says nothing on this one.
        let is_rule = |line: &&str| line.contains("--------------------") && !line.contains(' ');
        let kept: Vec<&str> = traceback.trim_end().split('\n').filter(|line| !is_rule(line)).collect();
        rows.extend(coloured(&kept.join("\n"), Style::new(), width));
    }
    let is_said = traceback.contains(name)
        && (message.is_empty() || message.lines().all(|line| traceback.contains(line)));
    if !is_said {
        rows.extend(
            raised.lines().flat_map(|line| broken(&Line::from(Span::styled(visible(line), bad)), width)),
        );
    }
    indented(rows, &bar, &bar)
}

/// `• read  path=a.txt  bytes=12`
fn status(event: &StatusEvent, room: usize) -> Line<'static> {
    let mut text = String::new();
    for (name, value) in &event.fields {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.push_str(&format!("  {name}={}", value.replace('\n', " ")));
    }
    let operation = fitting(&visible(&event.op), room.saturating_sub(2));
    let fields = fitting(&visible(&text), room.saturating_sub(2 + columns(&operation)));
    let mark = if room > 2 { "• " } else { "" };
    Line::from(vec![
        Span::styled(mark, Role::Position.style()),
        Span::styled(operation, Role::Title.style()),
        Span::styled(fields, Role::Aside.style()),
    ])
}

fn progress(share: Option<f64>, counted: &str, width: usize) -> Line<'static> {
    const WIDTH: usize = 24;
    let bar = share.map_or_else(String::new, |share| {
        let full = (share.clamp(0.0, 1.0) * WIDTH as f64) as usize;
        format!("{}{} ", "█".repeat(full), "░".repeat(WIDTH - full))
    });
    let text = fitting(format!("{bar}{}", visible(counted)).trim_end(), width.saturating_sub(INDENT.len()));
    Line::from(vec![Span::raw(INDENT), Span::styled(text, Role::Good.style())])
}
