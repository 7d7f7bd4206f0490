//! Renders a block as styled lines of a given width.

use ansi_to_tui::IntoText;
use cellist_output::{StatusEvent, TreeLimits, json_tree, notices};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

use super::{BlockSource, BlockState, CellBlock, OutputPiece, format_duration};
use crate::graphics::{ImageSupport, PreparedImage};
use crate::highlight::highlight;
use crate::markdown::render_markdown;
use crate::style::TextRole;
use crate::text::{break_line, clamp_line, display_width, fit_to_width, plain_lines, prefix_rows, visible};

/// The indent of output lines.
const INDENT: &str = "  ";
/// The prefix of code lines.
const BAR: &str = "│ ";
/// Maximum columns of a title.
const LONGEST_TITLE: usize = 60;

/// How much of a block is rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockDetail {
    /// At most so many rows: the start of the code and the end of the output.
    Preview(usize),
    /// Everything.
    All,
}

/// The options for rendering a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenderOptions {
    /// The columns of the terminal.
    pub width: usize,
    /// The amount of detail.
    pub detail: BlockDetail,
    /// The key or flag that shows the rest, such as `Ctrl-O`.
    pub key: &'static str,
    /// The terminal's support for images.
    pub images: ImageSupport,
}

/// An image that is drawn over empty lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePlacement {
    /// The first row.
    pub row: usize,
    /// The height in rows.
    pub rows: usize,
    /// The first column.
    pub column: usize,
    /// The escape sequence that draws it at the cursor.
    pub payload: String,
}

/// Lines for a terminal, with their images.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenderedLines {
    /// The lines, none wider than the options allow.
    pub lines: Vec<Line<'static>>,
    /// Escape sequences to send once, before the lines.
    pub before: Vec<String>,
    /// The images to draw over the lines.
    pub placed: Vec<ImagePlacement>,
}

impl RenderedLines {
    fn push(&mut self, lines: impl IntoIterator<Item = Line<'static>>) {
        self.lines.extend(lines);
    }
}

impl CellBlock {
    /// Renders the block.
    pub fn render(&self, options: &RenderOptions) -> RenderedLines {
        let mut rendered = RenderedLines::default();
        rendered.push([self.heading(options.width)]);
        rendered.push(self.source(options));
        if let Some((share, text)) = &self.progress {
            rendered.push([progress(*share, text, options.width)]);
        }
        let mut output = RenderedLines::default();
        let room = options.width.saturating_sub(INDENT.len()).max(1);
        for piece in &self.pieces {
            match piece {
                OutputPiece::Image(image, words) => match image.prepare(&options.images, room as u16) {
                    Some(prepared) => place(prepared, &mut output),
                    None => output.push(wrapped_text(words, room, TextRole::Aside)),
                },
                _ => output.push(piece.lines(room, options.detail)),
            }
        }
        shorten(&mut output, options);
        let from = rendered.lines.len();
        let moved = output.placed.into_iter().map(|it| ImagePlacement {
            row: it.row + from,
            column: it.column + INDENT.len(),
            ..it
        });
        rendered.placed.extend(moved);
        rendered.before = output.before;
        let indent = [Span::raw(INDENT)];
        rendered.push(output.lines.into_iter().map(|line| match line.spans.is_empty() {
            true => line,
            false => Line::from(indent.iter().cloned().chain(line.spans).collect::<Vec<_>>()),
        }));
        rendered
    }

    fn role(&self) -> TextRole {
        match self.state {
            BlockState::Resting | BlockState::Pending | BlockState::FailedAllowed => TextRole::Aside,
            BlockState::Running(_) => TextRole::Position,
            BlockState::Complete => TextRole::Good,
            BlockState::Failed | BlockState::TimedOut => TextRole::Bad,
            BlockState::Cancelled => TextRole::Warning,
        }
    }

    /// The heading, such as `✓ [3] load the data  failed · 0.42 s`. In a narrow terminal remarks go first, then the title.
    fn heading(&self, width: usize) -> Line<'static> {
        let mut facts: Vec<(String, TextRole)> = Vec::new();
        facts.extend(self.state.word().map(|word| (word.to_owned(), self.role())));
        facts.extend(self.time.map(|time| (format_duration(time), TextRole::Aside)));
        facts.extend(self.remarks.iter().map(|remark| (visible(remark), TextRole::Aside)));
        let mark = self.state.mark();
        let label = visible(&self.label);
        let taken = display_width(mark) + 1 + if label.is_empty() { 0 } else { display_width(&label) + 1 };
        let mut room = width.saturating_sub(taken);
        // All facts but the first give way before the title.
        let least = display_width(&self.title).min(12);
        let wide = |facts: &[(String, TextRole)]| {
            facts.iter().map(|(text, _)| display_width(text) + 3).sum::<usize>()
        };
        while facts.len() > 1 && wide(&facts) + least > room {
            facts.pop();
        }
        room = room.saturating_sub(wide(&facts)).min(LONGEST_TITLE);
        let title = fit_to_width(&visible(&self.title), room);
        let mut spans = vec![Span::styled(mark, self.role().style()), Span::raw(" ")];
        if !label.is_empty() {
            spans.push(Span::styled(label, TextRole::Position.style()));
            spans.push(Span::raw(" "));
        }
        if !title.is_empty() {
            spans.push(Span::styled(title, TextRole::Title.style()));
            spans.push(Span::raw(if facts.is_empty() { "" } else { "  " }));
        }
        for (at, (text, role)) in facts.into_iter().enumerate() {
            if at > 0 {
                spans.push(Span::styled(" · ", TextRole::Aside.style()));
            }
            spans.push(Span::styled(text, role.style()));
        }
        // In a very narrow terminal the heading is cut.
        break_line(&Line::from(spans), width).swap_remove(0)
    }

    fn source(&self, options: &RenderOptions) -> Vec<Line<'static>> {
        let room = options.width.saturating_sub(INDENT.len()).max(1);
        let indent = [Span::raw(INDENT)];
        let (lines, before) = match &self.source {
            BlockSource::Hidden => return Vec::new(),
            BlockSource::Markdown(text) => (render_markdown(text, room), &indent[..]),
            BlockSource::Raw(text) => (plain_lines(text, TextRole::Aside.style()), &indent[..]),
            BlockSource::Code { text, language } => {
                let bar = [Span::styled(BAR, self.role().style())];
                let width = options.width.saturating_sub(BAR.chars().count()).max(1);
                let code = highlight(text.trim_end_matches('\n'), language);
                let (code, more) = head(code, options);
                let rows: Vec<_> = code.iter().flat_map(|line| break_line(line, width)).collect();
                let mut rows = prefix_rows(rows, &bar, &bar);
                rows.extend(more.map(|notice| {
                    Line::from(vec![
                        bar[0].clone(),
                        Span::styled(fit_to_width(&notice, width), TextRole::Aside.style()),
                    ])
                }));
                return rows;
            }
        };
        let rows: Vec<_> = lines.iter().flat_map(|line| break_line(line, room)).collect();
        prefix_rows(rows, before, before)
    }
}

/// The first lines of code, with a notice if lines are missing.
fn head(mut code: Vec<Line<'static>>, options: &RenderOptions) -> (Vec<Line<'static>>, Option<String>) {
    let BlockDetail::Preview(most) = options.detail else { return (code, None) };
    // A notice would take the place of the one missing line.
    if code.len() <= most + 1 {
        return (code, None);
    }
    let more = code.len() - most;
    code.truncate(most);
    let notice = format!("… {more} more lines of code ({} shows all)", options.key);
    (code, Some(or_short(notice, more, options)))
}

/// Keeps the end of the output, below a notice about the hidden lines.
fn shorten(output: &mut RenderedLines, options: &RenderOptions) {
    let BlockDetail::Preview(most) = options.detail else { return };
    if output.lines.len() <= most {
        return;
    }
    let mut cut = output.lines.len() - most;
    // An image is never cut.
    let has_text_image = output.placed.is_empty() && !output.before.is_empty();
    if let Some(placed) = output.placed.iter().find(|it| it.row < cut && cut < it.row + it.rows) {
        cut = placed.row;
    } else if has_text_image {
        cut = 0;
    }
    output.placed.retain(|it| it.row >= cut);
    output.placed.iter_mut().for_each(|it| it.row = it.row + 1 - cut);
    if cut == 0 {
        output.placed.iter_mut().for_each(|it| it.row -= 1);
        return;
    }
    output.lines.drain(..cut);
    let notice = or_short(notices::hidden_lines(cut as u64, options.key), cut, options);
    let room = options.width.saturating_sub(INDENT.len());
    output.lines.insert(0, Line::from(Span::styled(fit_to_width(&notice, room), TextRole::Aside.style())));
}

/// The notice, or a short form if it does not fit.
fn or_short(notice: String, count: usize, options: &RenderOptions) -> String {
    match display_width(&notice) + INDENT.len() <= options.width {
        true => notice,
        false => format!("… {count} hidden ({})", options.key),
    }
}

fn place(prepared: PreparedImage, output: &mut RenderedLines) {
    let (row, rows) = (output.lines.len(), prepared.lines.len());
    output.before.extend(prepared.before);
    output.placed.extend(prepared.over.map(|payload| ImagePlacement { row, rows, column: 0, payload }));
    output.push(prepared.lines);
}

impl OutputPiece {
    fn lines(&self, room: usize, detail: BlockDetail) -> Vec<Line<'static>> {
        match self {
            OutputPiece::Text(text) => coloured(text, Style::new(), room),
            OutputPiece::Stderr(text) => coloured(text, TextRole::Warning.style(), room),
            OutputPiece::Markdown(text) => render_markdown(text, room),
            OutputPiece::Json(json) => {
                let limits = match detail {
                    BlockDetail::Preview(_) => TreeLimits::default(),
                    BlockDetail::All => TreeLimits { depth: 16, items: 500, string: 2000, lines: 5000 },
                };
                let tree = json_tree(json, limits);
                tree.lines().flat_map(|line| break_line(&tree_line(line), room)).collect()
            }
            OutputPiece::Image(_, words) | OutputPiece::ImageNotice(words) => {
                wrapped_text(words, room, TextRole::Aside)
            }
            OutputPiece::Error { name, message, traceback } => error(name, message, traceback, room),
            OutputPiece::Status(events) => events.iter().map(|event| status(event, room)).collect(),
            OutputPiece::Warning(text) => {
                let rows = wrapped_text(text, room.saturating_sub(2), TextRole::Warning);
                let mark = [Span::styled("⚠ ", TextRole::Warning.style())];
                prefix_rows(rows, &mark, &[Span::raw("  ")])
            }
        }
    }
}

/// Breaks text with ANSI colours into rows.
fn coloured(text: &str, style: Style, room: usize) -> Vec<Line<'static>> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    if !text.contains('\x1b') {
        return text
            .split('\n')
            .flat_map(|line| break_line(&Line::from(Span::styled(clamp_line(line), style)), room))
            .collect();
    }
    // Each line is parsed alone, so that one bad sequence does not affect the others.
    let read = |line: &str| match line.into_text() {
        Ok(mut read) if read.lines.len() == 1 => {
            let line = read.lines.swap_remove(0);
            line.style(style)
        }
        _ => Line::from(Span::styled(visible(line), style)),
    };
    text.split('\n').flat_map(|line| break_line(&read(line), room)).collect()
}

fn wrapped_text(text: &str, room: usize, role: TextRole) -> Vec<Line<'static>> {
    let lines = text
        .split('\n')
        .flat_map(|line| crate::text::wrap_words(&[Span::styled(visible(line), role.style())], room));
    lines.collect()
}

/// A line of a JSON tree, with the name before the colon in colour.
fn tree_line(line: &str) -> Line<'static> {
    match line.split_once(": ") {
        Some((name, value)) if !name.trim_start().starts_with('"') || name.ends_with('"') => {
            Line::from(vec![
                Span::styled(format!("{}: ", visible(name)), TextRole::Position.style()),
                Span::raw(visible(value)),
            ])
        }
        _ => Line::from(visible(line)),
    }
}

/// An exception: the traceback, then type and message if the traceback does not contain them.
fn error(name: &str, message: &str, traceback: &str, room: usize) -> Vec<Line<'static>> {
    let bad = TextRole::Bad.style();
    let bar = [Span::styled("▌ ", bad)];
    let width = room.saturating_sub(2).max(1);
    let raised = notices::raised(name, message);
    let mut rows: Vec<Line<'static>> = Vec::new();
    if !traceback.trim().is_empty() {
        // IPython draws a rule for the width of another terminal.
        let is_rule = |line: &&str| line.contains("--------------------") && !line.contains(' ');
        let lines: Vec<&str> = traceback.trim_end().split('\n').filter(|line| !is_rule(line)).collect();
        rows.extend(coloured(&lines.join("\n"), Style::new(), width));
    }
    let is_contained = traceback.contains(name)
        && (message.is_empty() || message.lines().all(|line| traceback.contains(line)));
    if !is_contained {
        rows.extend(
            raised.lines().flat_map(|line| break_line(&Line::from(Span::styled(visible(line), bad)), width)),
        );
    }
    prefix_rows(rows, &bar, &bar)
}

/// A status event, such as `• read  path=a.txt  bytes=12`.
fn status(event: &StatusEvent, room: usize) -> Line<'static> {
    let mut text = String::new();
    for (name, value) in &event.fields {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.push_str(&format!("  {name}={}", value.replace('\n', " ")));
    }
    let operation = fit_to_width(&visible(&event.op), room.saturating_sub(2));
    let fields = fit_to_width(&visible(&text), room.saturating_sub(2 + display_width(&operation)));
    let mark = if room > 2 { "• " } else { "" };
    Line::from(vec![
        Span::styled(mark, TextRole::Position.style()),
        Span::styled(operation, TextRole::Title.style()),
        Span::styled(fields, TextRole::Aside.style()),
    ])
}

fn progress(share: Option<f64>, text: &str, width: usize) -> Line<'static> {
    const WIDTH: usize = 24;
    let bar = share.map_or_else(String::new, |share| {
        let full = (share.clamp(0.0, 1.0) * WIDTH as f64) as usize;
        format!("{}{} ", "█".repeat(full), "░".repeat(WIDTH - full))
    });
    let text = fit_to_width(format!("{bar}{}", visible(text)).trim_end(), width.saturating_sub(INDENT.len()));
    Line::from(vec![Span::raw(INDENT), Span::styled(text, TextRole::Good.style())])
}
