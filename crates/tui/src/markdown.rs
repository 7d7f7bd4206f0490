//! Markdown as lines of a terminal: headings, lists, quotes, code, tables.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};

use crate::highlight::highlighted;
use crate::look::Role;
use crate::table::{Side, Table};
use crate::text::{broken, indented, visible, wrapped};

/// Quotes and lists in each other are indented up to here.
const DEEPEST: usize = 8;

/// The lines of a Markdown text, wrapped to a width.
pub fn markdown(text: &str, width: usize) -> Vec<Line<'static>> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = Page::new(width.max(1));
    for event in Parser::new_ext(text, options) {
        page.take(event);
    }
    page.end_paragraph();
    while page.lines.last().is_some_and(|line| line.spans.is_empty()) {
        page.lines.pop();
    }
    page.lines
}

/// What a line stands within.
#[derive(Debug)]
enum Within {
    Quote,
    /// A list, with the number of its next item if it counts.
    List(Option<u64>),
    /// An item, with its mark until that was written.
    Item {
        mark: String,
        is_marked: bool,
    },
}

struct Page {
    width: usize,
    lines: Vec<Line<'static>>,
    within: Vec<Within>,
    spans: Vec<Span<'static>>,
    styles: Vec<Style>,
    links: Vec<String>,
    code: Option<(String, String)>,
    table: Option<Table>,
    cell: String,
}

impl Page {
    fn new(width: usize) -> Page {
        let (lines, within, spans, styles, links) = Default::default();
        Page { width, lines, within, spans, styles, links, code: None, table: None, cell: String::new() }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text, Style::new()),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text, Role::Constant.style());
            }
            Event::Html(text) | Event::InlineHtml(text) => {
                let is_break = text.trim_start().to_ascii_lowercase().starts_with("<br");
                if is_break {
                    self.text("\n", Style::new())
                } else {
                    self.text(text.trim_end(), Role::Aside.style())
                }
            }
            Event::FootnoteReference(name) => self.text(&format!("[{name}]"), Role::Aside.style()),
            Event::SoftBreak => self.text(" ", Style::new()),
            Event::HardBreak => self.end_line(),
            Event::Rule => {
                self.end_paragraph();
                let rule = "─".repeat(self.room());
                self.put(vec![Line::from(Span::styled(rule, Role::Aside.style()))]);
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
                self.within.push(Within::Quote);
            }
            Tag::List(number) => {
                self.end_line();
                self.within.push(Within::List(number));
            }
            Tag::Item => {
                self.end_line();
                let mark = match self.within.last_mut() {
                    Some(Within::List(Some(number))) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                self.within.push(Within::Item { mark, is_marked: false });
            }
            Tag::CodeBlock(kind) => {
                self.end_paragraph();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::Table(sides) => {
                self.end_paragraph();
                let side = |side: &Alignment| match side {
                    Alignment::Right => Side::Right,
                    Alignment::Center => Side::Middle,
                    Alignment::Left | Alignment::None => Side::Left,
                };
                self.table = Some(Table { sides: sides.iter().map(side).collect(), ..Table::default() });
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
                self.within.pop();
                self.gap();
            }
            TagEnd::List(_) => {
                self.end_line();
                self.within.pop();
                if self.within.is_empty() {
                    self.gap();
                }
            }
            TagEnd::Item => {
                self.end_line();
                self.within.pop();
            }
            TagEnd::CodeBlock => {
                let (language, code) = self.code.take().unwrap_or_default();
                let room = self.room().saturating_sub(2);
                let rows: Vec<Line<'static>> = highlighted(code.trim_end_matches('\n'), &language)
                    .iter()
                    .flat_map(|line| broken(line, room))
                    .collect();
                let mark = [Span::raw("  ")];
                self.put(indented(rows, &mark, &mark));
                self.gap();
            }
            TagEnd::Table => {
                let table = self.table.take().unwrap_or_default();
                let lines = table.lines(self.room());
                self.put(lines);
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
                let is_said = self.spans.last().is_some_and(|span| span.content == address);
                // An image within a text is data, not an address.
                if !is_said && !address.is_empty() && !address.starts_with("data:") {
                    self.text(&format!(" ({address})"), Role::Aside.style());
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
        let taken: usize = self.within.iter().take(DEEPEST).map(Within::wide).sum();
        self.width.saturating_sub(taken).max(1)
    }

    fn end_line(&mut self) {
        if !self.spans.is_empty() {
            let rows = wrapped(&std::mem::take(&mut self.spans), self.room());
            self.put(rows);
        }
    }

    fn end_paragraph(&mut self) {
        let was_open = !self.spans.is_empty();
        self.end_line();
        if was_open && !matches!(self.within.last(), Some(Within::Item { .. })) {
            self.gap();
        }
    }

    fn gap(&mut self) {
        if self.lines.last().is_some_and(|line| !line.spans.is_empty()) {
            self.lines.push(Line::default());
        }
    }

    /// Puts rows where they stand, with the marks of all that they stand within.
    fn put(&mut self, rows: Vec<Line<'static>>) {
        let (mut first, mut rest) = (Vec::new(), Vec::new());
        for within in self.within.iter_mut().take(DEEPEST) {
            match within {
                Within::Quote => {
                    first.push(Span::styled("│ ", Role::Aside.style()));
                    rest.push(Span::styled("│ ", Role::Aside.style()));
                }
                Within::List(_) => {}
                Within::Item { mark, is_marked } => {
                    let blank = " ".repeat(mark.chars().count());
                    let shown = if *is_marked { blank.clone() } else { mark.clone() };
                    *is_marked = true;
                    first.push(Span::styled(shown, Role::Position.style()));
                    rest.push(Span::raw(blank));
                }
            }
        }
        self.lines.extend(indented(rows, &first, &rest));
    }
}

impl Within {
    fn wide(&self) -> usize {
        match self {
            Within::Quote => 2,
            Within::List(_) => 0,
            Within::Item { mark, .. } => mark.chars().count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{line_columns, to_plain};

    const TEXT: &str = "# A *title*\n\nSome prose with `code`, a [link](https://example.org/x) and more words than fit.\n\n\
        - one\n- two\n  1. deep\n  2. deeper, with a longer remark\n\n> quoted\n> text\n\n```python\ndef f():\n    pass\n```\n\n\
        | a | b |\n|--:|---|\n| 1 | x |\n| 22 | y |\n\n---\nthe end\n";

    #[test]
    fn markdown_is_laid_out_for_the_width() {
        let narrow = to_plain(&markdown(TEXT, 40));
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
        assert_eq!(to_plain(&markdown(TEXT, 80)), wide);
    }

    #[test]
    fn nothing_is_wider_than_the_screen_and_no_depth_is_too_deep() {
        let deep = "> ".repeat(200) + "x\n\n" + &"- ".repeat(200) + "y";
        for text in [TEXT, &deep] {
            for width in [1, 7, 20] {
                markdown(text, width);
            }
            assert!(markdown(text, 40).iter().all(|line| line_columns(line) <= 40));
        }
    }

    #[test]
    fn emphasis_is_seen() {
        let lines = markdown("a **b** _c_", 40);
        let bold = lines[0].spans.iter().find(|span| span.content == "b").unwrap();
        assert!(bold.style.add_modifier.contains(Modifier::BOLD));
    }

    #[test]
    fn nothing_in_a_text_reaches_the_terminal_as_a_command() {
        let lines = markdown("a \u{1b}[31mb `\u{1b}]0;x\u{7}`", 80);
        assert!(!to_plain(&lines).contains('\u{1b}'));
    }
}
