//! Whether typed code is complete, so that Enter runs it.

/// Whether code looks complete: no bracket or string is open, and an empty line has ended an indented block.
pub(super) fn is_complete(code: &str) -> bool {
    let Some(last) = code.lines().last() else { return true };
    if last.trim_end().ends_with('\\') || is_open(code) {
        return false;
    }
    if last.trim_end().ends_with(':') {
        return false;
    }
    let is_block = code.lines().any(|line| line.starts_with([' ', '\t']) || line.trim_end().ends_with(':'));
    // A cell magic applies to all following lines, so it needs an empty line, too.
    let is_cell_magic = code.starts_with("%%");
    !(is_block || is_cell_magic) || code.ends_with('\n') || last.trim().is_empty()
}

/// Whether a bracket or a triple-quoted string is open.
fn is_open(code: &str) -> bool {
    let mut depth = 0i32;
    let mut rest = code;
    while let Some(letter) = rest.chars().next() {
        let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| rest.starts_with(quote));
        if let Some(quote) = quote {
            rest = &rest[quote.len()..];
            let mut end = None;
            let mut escaped = false;
            for (at, letter) in rest.char_indices() {
                match letter {
                    _ if escaped => escaped = false,
                    '\\' => escaped = true,
                    '\n' if quote.len() == 1 => {
                        end = Some(at);
                        break;
                    }
                    _ if rest[at..].starts_with(quote) => {
                        end = Some(at + quote.len());
                        break;
                    }
                    _ => {}
                }
            }
            match end {
                Some(end) => rest = &rest[end..],
                None => return quote.len() == 3 || depth > 0,
            }
            continue;
        }
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '#' => {
                let end = rest.find('\n').unwrap_or(rest.len());
                rest = &rest[end..];
                continue;
            }
            _ => {}
        }
        rest = &rest[letter.len_utf8()..];
    }
    depth > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_complete_when_nothing_is_open() {
        for (code, expected) in [
            ("x = 1", true),
            ("f(1,", false),
            ("x = '''a", false),
            ("x = '('", true),
            ("# (", true),
            ("if x:", false),
            ("if x:\n    y", false),
            ("if x:\n    y\n", true),
            ("x \\", false),
            ("%%bash\nls", false),
            ("%%bash\nls\n", true),
            ("it's", true),
            ("", true),
        ] {
            assert_eq!(is_complete(code), expected, "{code:?}");
        }
    }
}
