//! Renders Markdown as styled lines: headings, lists, quotes, code, tables.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};

use crate::highlight::highlight;
use crate::style::TextRole;
use crate::table::{ColumnAlignment, Table};
use crate::text::{break_line, prefix_rows, visible, wrap_words};

/// The deepest nesting that is indented.
const DEEPEST: usize = 8;

/// Renders a Markdown text, wrapped to a width.
pub fn render_markdown(text: &str, width: usize) -> Vec<Line<'static>> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut renderer = MarkdownRenderer::new(width.max(1));
    for event in Parser::new_ext(text, options) {
        renderer.take(event);
    }
    renderer.end_paragraph();
    while renderer.lines.last().is_some_and(|line| line.spans.is_empty()) {
        renderer.lines.pop();
    }
    renderer.lines
}

/// A list, item or quote around the current line.
#[derive(Debug)]
enum MarkdownContainer {
    Quote,
    /// A list, with the number of the next item if it is ordered.
    List(Option<u64>),
    /// An item, and whether its bullet or number was written.
    Item {
        mark: String,
        is_marked: bool,
    },
}

struct MarkdownRenderer {
    width: usize,
    lines: Vec<Line<'static>>,
    containers: Vec<MarkdownContainer>,
    spans: Vec<Span<'static>>,
    styles: Vec<Style>,
    links: Vec<String>,
    code: Option<(String, String)>,
    table: Option<Table>,
    cell: String,
}

impl MarkdownRenderer {
    fn new(width: usize) -> MarkdownRenderer {
        let (lines, containers, spans, styles, links) = Default::default();
        MarkdownRenderer {
            width,
            lines,
            containers,
            spans,
            styles,
            links,
            code: None,
            table: None,
            cell: String::new(),
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text, Style::new()),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text, TextRole::Constant.style());
            }
            Event::Html(text) | Event::InlineHtml(text) => {
                let is_break = text.trim_start().to_ascii_lowercase().starts_with("<br");
                if is_break {
                    self.text("\n", Style::new())
                } else {
                    self.text(text.trim_end(), TextRole::Aside.style())
                }
            }
            Event::FootnoteReference(name) => self.text(&format!("[{name}]"), TextRole::Aside.style()),
            Event::SoftBreak => self.text(" ", Style::new()),
            Event::HardBreak => self.end_line(),
            Event::Rule => {
                self.end_paragraph();
                let rule = "─".repeat(self.room());
                self.push_rows(vec![Line::from(Span::styled(rule, TextRole::Aside.style()))]);
                self.gap();
            }
            Event::TaskListMarker(is_done) => self.text(if is_done { "☑ " } else { "☐ " }, Style::new()),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.end_paragraph();
                let style = Style::new().add_modifier(Modifier::BOLD);
                self.styles.push(match level {
                    HeadingLevel::H1 => style.fg(Color::Cyan).add_modifier(Modifier::UNDERLINED),
                    HeadingLevel::H2 => style.fg(Color::Cyan),
                    HeadingLevel::H3 | HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => style,
                });
            }
            Tag::BlockQuote(_) => {
                self.end_paragraph();
                self.containers.push(MarkdownContainer::Quote);
            }
            Tag::List(number) => {
                self.end_line();
                self.containers.push(MarkdownContainer::List(number));
            }
            Tag::Item => {
                self.end_line();
                let mark = match self.containers.last_mut() {
                    Some(MarkdownContainer::List(Some(number))) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                self.containers.push(MarkdownContainer::Item { mark, is_marked: false });
            }
            Tag::CodeBlock(kind) => {
                self.end_paragraph();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::Table(alignments) => {
                self.end_paragraph();
                let alignment = |alignment: &Alignment| match alignment {
                    Alignment::Right => ColumnAlignment::Right,
                    Alignment::Center => ColumnAlignment::Centre,
                    Alignment::Left | Alignment::None => ColumnAlignment::Left,
                };
                self.table = Some(Table {
                    alignments: alignments.iter().map(alignment).collect(),
                    ..Table::default()
                });
            }
            Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.styles.push(Style::new().add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.styles.push(Style::new().add_modifier(Modifier::BOLD)),
            Tag::Strikethrough => self.styles.push(Style::new().add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.styles.push(Style::new().add_modifier(Modifier::UNDERLINED));
                self.links.push(dest_url.to_string());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_paragraph(),
            TagEnd::Heading(_) => {
                self.end_paragraph();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.end_line();
                self.containers.pop();
                self.gap();
            }
            TagEnd::List(_) => {
                self.end_line();
                self.containers.pop();
                if self.containers.is_empty() {
                    self.gap();
                }
            }
            TagEnd::Item => {
                self.end_line();
                self.containers.pop();
            }
            TagEnd::CodeBlock => {
                let (language, code) = self.code.take().unwrap_or_default();
                let room = self.room().saturating_sub(2);
                let rows: Vec<Line<'static>> = highlight(code.trim_end_matches('\n'), &language)
                    .iter()
                    .flat_map(|line| break_line(line, room))
                    .collect();
                let mark = [Span::raw("  ")];
                self.push_rows(prefix_rows(rows, &mark, &mark));
                self.gap();
            }
            TagEnd::Table => {
                let table = self.table.take().unwrap_or_default();
                let lines = table.lines(self.room());
                self.push_rows(lines);
                self.gap();
            }
            TagEnd::TableCell => {
                let text = std::mem::take(&mut self.cell);
                if let Some(table) = &mut self.table {
                    table.rows.last_mut().unwrap_or(&mut table.head).push(text);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.styles.pop()),
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                let address = self.links.pop().unwrap_or_default();
                let is_shown = self.spans.last().is_some_and(|span| span.content == address);
                // An embedded image has no useful address.
                if !is_shown && !address.is_empty() && !address.starts_with("data:") {
                    self.text(&format!(" ({address})"), TextRole::Aside.style());
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str, style: Style) {
        if let Some((_, code)) = &mut self.code {
            return code.push_str(text);
        }
        let text: Vec<String> = text.split('\n').map(visible).collect();
        let text = text.join("\n");
        if self.table.is_some() {
            return self.cell.push_str(&text.replace('\n', " "));
        }
        let style = self.styles.iter().fold(style, |all, one| all.patch(*one));
        self.spans.push(Span::styled(text, style));
    }

    fn room(&self) -> usize {
        let taken: usize = self.containers.iter().take(DEEPEST).map(MarkdownContainer::width).sum();
        self.width.saturating_sub(taken).max(1)
    }

    fn end_line(&mut self) {
        if !self.spans.is_empty() {
            let rows = wrap_words(&std::mem::take(&mut self.spans), self.room());
            self.push_rows(rows);
        }
    }

    fn end_paragraph(&mut self) {
        let was_open = !self.spans.is_empty();
        self.end_line();
        if was_open && !matches!(self.containers.last(), Some(MarkdownContainer::Item { .. })) {
            self.gap();
        }
    }

    fn gap(&mut self) {
        if self.lines.last().is_some_and(|line| !line.spans.is_empty()) {
            self.lines.push(Line::default());
        }
    }

    /// Appends rows with the prefixes of all containers.
    fn push_rows(&mut self, rows: Vec<Line<'static>>) {
        let (mut first, mut rest) = (Vec::new(), Vec::new());
        for container in self.containers.iter_mut().take(DEEPEST) {
            match container {
                MarkdownContainer::Quote => {
                    first.push(Span::styled("│ ", TextRole::Aside.style()));
                    rest.push(Span::styled("│ ", TextRole::Aside.style()));
                }
                MarkdownContainer::List(_) => {}
                MarkdownContainer::Item { mark, is_marked } => {
                    let blank = " ".repeat(mark.chars().count());
                    let shown = if *is_marked { blank.clone() } else { mark.clone() };
                    *is_marked = true;
                    first.push(Span::styled(shown, TextRole::Position.style()));
                    rest.push(Span::raw(blank));
                }
            }
        }
        self.lines.extend(prefix_rows(rows, &first, &rest));
    }
}

impl MarkdownContainer {
    fn width(&self) -> usize {
        match self {
            MarkdownContainer::Quote => 2,
            MarkdownContainer::List(_) => 0,
            MarkdownContainer::Item { mark, .. } => mark.chars().count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{line_width, to_plain};

    const TEXT: &str = "# A *title*\n\nSome prose with `code`, a [link](https://example.org/x) and more words than fit.\n\n\
        - one\n- two\n  1. deep\n  2. deeper, with a longer remark\n\n> quoted\n> text\n\n```python\ndef f():\n    pass\n```\n\n\
        | a | b |\n|--:|---|\n| 1 | x |\n| 22 | y |\n\n---\nthe end\n";

    #[test]
    fn markdown_is_laid_out_for_the_width() {
        let narrow = to_plain(&render_markdown(TEXT, 40));
        insta::assert_snapshot!(narrow, @"
        A title

        Some prose with code, a link
        (https://example.org/x) and more words
        than fit.

        • one
        • two
          1. deep
          2. deeper, with a longer remark

        │ quoted text

          def f():
              pass

         a  b
        ──  ─
         1  x
        22  y

        ────────────────────────────────────────

        the end
        ");
        let wide = narrow
            .replace("a link\n(https", "a link (https")
            .replace("words\nthan fit", "words than fit")
            .replace(&"─".repeat(40), &"─".repeat(80));
        assert_eq!(to_plain(&render_markdown(TEXT, 80)), wide);
    }

    #[test]
    fn no_line_is_too_wide_at_any_depth() {
        let deep = "> ".repeat(200) + "x\n\n" + &"- ".repeat(200) + "y";
        for text in [TEXT, &deep] {
            for width in [1, 7, 20] {
                render_markdown(text, width);
            }
            assert!(render_markdown(text, 40).iter().all(|line| line_width(line) <= 40));
        }
    }

    #[test]
    fn emphasis_has_a_style() {
        let lines = render_markdown("a **b** _c_", 40);
        let bold = lines[0].spans.iter().find(|span| span.content == "b").unwrap();
        assert!(bold.style.add_modifier.contains(Modifier::BOLD));
    }

    #[test]
    fn escape_sequences_in_a_text_are_escaped() {
        let lines = render_markdown("a \u{1b}[31mb `\u{1b}]0;x\u{7}`", 80);
        assert!(!to_plain(&lines).contains('\u{1b}'));
    }
}
