//! Syntax highlighting of Python. Other languages are shown without colour.

use std::cell::OnceCell;

use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use tree_sitter_highlight::{HighlightConfiguration, HighlightEvent, Highlighter};

use crate::style::TextRole;
use crate::text::{clamp_line, plain_lines, visible};

/// The captures of the query `python.scm`, and their roles.
const NAMES: [(&str, TextRole); 7] = [
    ("comment", TextRole::Comment),
    ("string", TextRole::Literal),
    ("constant", TextRole::Constant),
    ("keyword", TextRole::Keyword),
    ("function", TextRole::Function),
    ("type", TextRole::Type),
    ("plain", TextRole::Plain),
];

/// Maximum bytes of code that are highlighted.
const MOST: usize = 256 * 1024;

thread_local! {
    /// Built on first use, because it takes some milliseconds.
    static PYTHON: OnceCell<Option<HighlightConfiguration>> = const { OnceCell::new() };
}

/// The highlighted lines of code.
pub fn highlight(code: &str, language: &str) -> Vec<Line<'static>> {
    let is_python = matches!(language.to_ascii_lowercase().as_str(), "python" | "python3" | "ipython" | "py");
    if !is_python || code.len() > MOST {
        return plain_lines(code, Style::new());
    }
    let lines = PYTHON
        .with(|python| python.get_or_init(configuration).as_ref().and_then(|it| python_lines(code, it)));
    lines.unwrap_or_else(|| plain_lines(code, Style::new()))
}

fn configuration() -> Option<HighlightConfiguration> {
    let language = tree_sitter_python::LANGUAGE.into();
    let mut made =
        HighlightConfiguration::new(language, "python", include_str!("python.scm"), "", "").ok()?;
    made.configure(&NAMES.map(|(name, _)| name));
    Some(made)
}

fn python_lines(code: &str, configuration: &HighlightConfiguration) -> Option<Vec<Line<'static>>> {
    let mut highlighter = Highlighter::new();
    let events = highlighter.highlight(configuration, code.as_bytes(), None, None, |_| None).ok()?;
    let mut lines: Vec<Vec<Span<'static>>> = vec![Vec::new()];
    let mut roles: Vec<TextRole> = Vec::new();
    for event in events {
        match event.ok()? {
            HighlightEvent::HighlightStart(highlight) => {
                roles.push(NAMES.get(highlight.0).map_or(TextRole::Plain, |it| it.1))
            }
            HighlightEvent::HighlightEnd => drop(roles.pop()),
            HighlightEvent::Source { start, end } => {
                let style = roles.last().copied().unwrap_or(TextRole::Plain).style();
                for (at, piece) in code.get(start..end)?.split('\n').enumerate() {
                    if at > 0 {
                        lines.push(Vec::new());
                    }
                    let piece = visible(clamp_line(piece));
                    match lines.last_mut() {
                        Some(line) if !piece.is_empty() => line.push(Span::styled(piece, style)),
                        _ => {}
                    }
                }
            }
        }
    }
    Some(lines.into_iter().map(Line::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::to_plain;

    fn roles(code: &str) -> Vec<(String, TextRole)> {
        let spans = highlight(code, "python").into_iter().flat_map(|line| line.spans);
        let named = |style: Style| {
            let all = [
                TextRole::Keyword,
                TextRole::Literal,
                TextRole::Constant,
                TextRole::Function,
                TextRole::Comment,
            ];
            all.into_iter().find(|role| role.style() == style)
        };
        spans.filter_map(|span| Some((span.content.to_string(), named(span.style)?))).collect()
    }

    #[test]
    fn python_is_highlighted() {
        let found = roles("def f(x):\n    return 'a'  # why\n");
        for expected in [
            ("def", TextRole::Keyword),
            ("f", TextRole::Function),
            ("'a'", TextRole::Literal),
            ("# why", TextRole::Comment),
        ] {
            assert!(found.contains(&(expected.0.to_owned(), expected.1)), "{expected:?} in {found:?}");
        }
    }

    #[test]
    fn soft_keywords_are_highlighted_only_where_they_are_keywords() {
        let found = roles("match x:\n    case 1:\n        pass\n");
        assert!(found.contains(&("match".to_owned(), TextRole::Keyword)), "{found:?}");
        assert!(found.contains(&("case".to_owned(), TextRole::Keyword)), "{found:?}");
        assert_eq!(roles("match = case"), []);
    }

    #[test]
    fn no_character_is_lost_even_in_invalid_code() {
        for code in
            ["x = 1\n\ny = '''a\nb'''", "def (((\n%%bash\nls ~", "", "\n", "print('日本語')\n", "a\x1b[31mb"]
        {
            for language in ["python", "r"] {
                assert_eq!(
                    to_plain(&highlight(code, language)),
                    format!("{}\n", code.replace('\x1b', "^[")),
                    "{code:?}"
                );
            }
        }
    }
}
