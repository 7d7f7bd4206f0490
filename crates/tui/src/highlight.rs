//! Code with its words in colour. Python is understood; other languages are shown as they are.

use std::cell::OnceCell;

use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use tree_sitter_highlight::{HighlightConfiguration, HighlightEvent, Highlighter};

use crate::look::Role;
use crate::text::{clamped, plain_lines, visible};

/// What our query finds, with what that is to us.
const NAMES: [(&str, Role); 7] = [
    ("comment", Role::Comment),
    ("string", Role::Literal),
    ("constant", Role::Constant),
    ("keyword", Role::Keyword),
    ("function", Role::Function),
    ("type", Role::Type),
    ("plain", Role::Plain),
];

/// More code than this is shown without colour.
const MOST: usize = 256 * 1024;

thread_local! {
    /// Made when first needed: it takes some milliseconds, which a command that shows no code does not spend.
    static PYTHON: OnceCell<Option<HighlightConfiguration>> = const { OnceCell::new() };
}

/// The lines of a piece of code.
pub fn highlighted(code: &str, language: &str) -> Vec<Line<'static>> {
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
    let mut roles: Vec<Role> = Vec::new();
    for event in events {
        match event.ok()? {
            HighlightEvent::HighlightStart(highlight) => {
                roles.push(NAMES.get(highlight.0).map_or(Role::Plain, |it| it.1))
            }
            HighlightEvent::HighlightEnd => drop(roles.pop()),
            HighlightEvent::Source { start, end } => {
                let style = roles.last().copied().unwrap_or(Role::Plain).style();
                for (at, piece) in code.get(start..end)?.split('\n').enumerate() {
                    if at > 0 {
                        lines.push(Vec::new());
                    }
                    let piece = visible(clamped(piece));
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

    fn roles(code: &str) -> Vec<(String, Role)> {
        let spans = highlighted(code, "python").into_iter().flat_map(|line| line.spans);
        let named = |style: Style| {
            let all = [Role::Keyword, Role::Literal, Role::Constant, Role::Function, Role::Comment];
            all.into_iter().find(|role| role.style() == style)
        };
        spans.filter_map(|span| Some((span.content.to_string(), named(span.style)?))).collect()
    }

    #[test]
    fn the_words_of_python_have_their_colours() {
        let found = roles("def f(x):\n    return 'a'  # why\n");
        for expected in
            [("def", Role::Keyword), ("f", Role::Function), ("'a'", Role::Literal), ("# why", Role::Comment)]
        {
            assert!(found.contains(&(expected.0.to_owned(), expected.1)), "{expected:?} in {found:?}");
        }
    }

    #[test]
    fn a_word_that_is_a_keyword_only_here_and_there_is_coloured_only_there() {
        let found = roles("match x:\n    case 1:\n        pass\n");
        assert!(found.contains(&("match".to_owned(), Role::Keyword)), "{found:?}");
        assert!(found.contains(&("case".to_owned(), Role::Keyword)), "{found:?}");
        assert_eq!(roles("match = case"), []);
    }

    #[test]
    fn no_letter_is_lost_in_whatever_language_and_however_wrong_it_is() {
        for code in
            ["x = 1\n\ny = '''a\nb'''", "def (((\n%%bash\nls ~", "", "\n", "print('日本語')\n", "a\x1b[31mb"]
        {
            for language in ["python", "r"] {
                assert_eq!(
                    to_plain(&highlighted(code, language)),
                    format!("{}\n", code.replace('\x1b', "^[")),
                    "{code:?}"
                );
            }
        }
    }
}
