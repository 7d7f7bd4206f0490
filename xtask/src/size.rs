//! The size of source files: lines of code, and the lines of each function. Comments and blank lines do not count as code.

use std::collections::BTreeSet;

use crate::product::{closing, product};
use crate::prose;
use crate::tokens::{Token, tokens};

/// The size of one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) code_lines: usize,
    pub(crate) functions: Vec<Function>,
}

/// A function, the line it begins on, and all its lines, comments included.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) lines: usize,
}

/// Rust, without the items that exist for tests alone.
pub(crate) fn of_rust(source: &str) -> Size {
    let (tokens, _) = product(tokens(source));
    let code: BTreeSet<usize> = tokens.iter().map(|token| token.line).collect();
    let starts = (0..tokens.len().saturating_sub(1))
        .filter(|index| tokens[*index].text == "fn" && tokens[index + 1].is_word());
    let functions = starts.filter_map(|start| rust_function(&tokens, start)).collect();
    Size { code_lines: code.len(), functions }
}

/// A function with a body; a declaration in a trait has none.
fn rust_function(tokens: &[Token], start: usize) -> Option<Function> {
    let mut index = start;
    loop {
        match tokens.get(index)?.text.as_str() {
            ";" => return None,
            "{" => break,
            "(" | "[" => index = closing(tokens, index),
            _ => {}
        }
        index += 1;
    }
    let line = tokens[start].line;
    let lines = tokens[closing(tokens, index)].line + 1 - line;
    Some(Function { name: tokens[start + 1].text.clone(), line, lines })
}

/// Python. A function ends before the next statement that is indented no deeper than its `def`.
pub(crate) fn of_python(source: &str) -> Size {
    let code = prose::without_python_text(source);
    let mut size = Size::default();
    let mut open: Vec<(usize, Function)> = Vec::new();
    let mut depth = 0i32;
    let mut last = 0;
    for (index, text) in code.lines().enumerate() {
        if text.trim().is_empty() {
            continue;
        }
        size.code_lines += 1;
        let indent = text.len() - text.trim_start().len();
        if depth == 0 {
            while open.last().is_some_and(|(outer, _)| *outer >= indent) {
                size.functions.extend(open.pop().map(|(_, function)| function.ending(last)));
            }
            let start = text.trim_start().trim_start_matches("async ");
            if let Some(rest) = start.strip_prefix("def ") {
                let name = rest.split('(').next().unwrap_or_default().to_owned();
                open.push((indent, Function { name, line: index + 1, lines: 0 }));
            }
        }
        depth += text.chars().map(bracket).sum::<i32>();
        last = index + 1;
    }
    size.functions.extend(open.into_iter().rev().map(|(_, function)| function.ending(last)));
    size
}

/// TypeScript as prettier lays it out: a function ends at the next bracket in the column of its first line.
pub(crate) fn of_typescript(source: &str) -> Size {
    let code = prose::without_typescript_text(source);
    let lines: Vec<&str> = code.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut size = Size::default();
    for (index, text) in lines.iter().enumerate() {
        if text.trim().is_empty() {
            continue;
        }
        size.code_lines += 1;
        let Some(name) = opens_function(text) else { continue };
        let is_end =
            |line: &&str| indent(line) == indent(text) && line.trim_start().starts_with(['}', ')', ']']);
        let length = lines[index + 1..].iter().position(is_end).map_or(1, |end| end + 2);
        size.functions.push(Function { name, line: index + 1, lines: length });
    }
    size
}

/// The name of the function whose body begins on a line, or whose parameters do.
fn opens_function(line: &str) -> Option<String> {
    const STATEMENTS: &[&str] = &["if", "for", "while", "switch", "catch", "return", "else", "do", "try"];
    let text = line.trim();
    let is_arrow = ["=> {", "=> (", "=>"].iter().any(|end| text.ends_with(end));
    let first = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
    let is_method = !first.is_empty() && !STATEMENTS.contains(&first) && text.ends_with(") {");
    if !is_arrow && !is_method && !text.contains("function ") {
        return None;
    }
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let modifiers = ["export", "default", "async", "function", "const", "let", "static", "private", ""];
    Some(words.into_iter().find(|word| !modifiers.contains(word)).unwrap_or("a function").to_owned())
}

impl Function {
    fn ending(self, last: usize) -> Self {
        Self { lines: last + 1 - self.line, ..self }
    }
}

fn bracket(letter: char) -> i32 {
    match letter {
        '(' | '[' | '{' => 1,
        ')' | ']' | '}' => -1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::{Size, of_python, of_rust, of_typescript};

    #[track_caller]
    fn check(size: &Size, code_lines: usize, functions: &[(&str, usize, usize)]) {
        let found: Vec<_> =
            size.functions.iter().map(|found| (found.name.as_str(), found.line, found.lines)).collect();
        assert_eq!((size.code_lines, found.as_slice()), (code_lines, functions));
    }

    #[test]
    fn tests_and_declarations_of_rust_do_not_count() {
        let source = "// One.\ntrait A { fn a(&self) -> [u8; 2]; }\nfn b(\n    x: u8,\n) {\n    // Two.\n}\n\
            #[cfg(test)]\nmod tests {\n    fn c() {}\n}\n";
        check(&of_rust(source), 5, &[("b", 3, 5)]);
    }

    #[test]
    fn a_function_of_python_ends_with_its_last_statement() {
        let source = "def a(\n    x,\n):\n    '''One.'''\n    def b():\n        return '''\n)\n'''\n\n\
            # Two.\nasync def c(): pass\n";
        check(&of_python(source), 8, &[("b", 5, 4), ("a", 1, 8), ("c", 11, 1)]);
    }

    #[test]
    fn functions_methods_and_arrows_of_typescript_count() {
        let source = "export function a(x: string) {\n  if (x) {\n  }\n}\n\
            class B {\n  c() {\n    return '{'\n  }\n}\nconst d = () => (\n  1\n)\n";
        check(&of_typescript(source), 12, &[("a", 1, 4), ("c", 6, 3), ("d", 10, 3)]);
    }
}
