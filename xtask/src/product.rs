//! The part of a source file that ships: its tokens without the items that exist for tests alone.

use crate::tokens::Token;

/// The tokens outside of items that exist for tests alone, and the names of modules in files of their own that do.
pub(crate) fn product(tokens: Vec<Token>) -> (Vec<Token>, Vec<String>) {
    let at = |index: usize| tokens.get(index).map_or("", |token: &Token| token.text.as_str());
    let mut kept = Vec::new();
    let mut modules = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        let for_tests = ["#", "[", "cfg", "(", "test", ")", "]"]
            .iter()
            .enumerate()
            .all(|(offset, text)| at(index + offset) == *text);
        if !for_tests {
            kept.push(tokens[index].clone());
            index += 1;
            continue;
        }
        index += 7;
        while at(index) == "#" && at(index + 1) == "[" {
            index = closing(&tokens, index + 1) + 1;
        }
        // Anything else, such as a field, is kept and judged as product.
        if let Some(end) = item_end(&tokens, index) {
            let declared = tokens[index..end].iter().position(|token| token.text == "mod");
            if let Some(declared) = declared.filter(|_| at(end) == ";") {
                modules.push(at(index + declared + 1).to_owned());
            }
            index = end + 1;
        }
    }
    (kept, modules)
}

// The index of the token that ends the item which starts at `start`, when one does.
fn item_end(tokens: &[Token], start: usize) -> Option<usize> {
    let mut index = start;
    if tokens.get(index)?.text == "pub" {
        index += 1;
        if tokens.get(index)?.text == "(" {
            index = closing(tokens, index) + 1;
        }
    }
    let ended_by_block = match tokens.get(index)?.text.as_str() {
        "use" | "static" | "type" => false,
        "const" => tokens.get(index + 1)?.text == "fn",
        "mod" | "fn" | "impl" | "struct" | "enum" | "trait" | "macro_rules" | "async" | "unsafe"
        | "union" => true,
        _ => return None,
    };
    while index < tokens.len() {
        match tokens[index].text.as_str() {
            ";" => return Some(index),
            "{" if ended_by_block => return Some(closing(tokens, index)),
            "{" | "(" | "[" => index = closing(tokens, index),
            _ => {}
        }
        index += 1;
    }
    None
}

/// The index of the bracket that closes the one at `open`, or of the last token.
pub(crate) fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index;
        }
    }
    tokens.len() - 1
}

#[cfg(test)]
mod tests {
    use super::product;
    use crate::tokens::tokens;

    #[track_caller]
    fn check(source: &str, kept: &str, modules: &[&str]) {
        let (tokens, found) = product(tokens(source));
        let words: Vec<String> = tokens.into_iter().map(|token| token.text).collect();
        assert_eq!(words.join(" "), kept);
        assert_eq!(found, modules);
    }

    #[test]
    fn an_item_for_tests_goes_and_what_follows_it_stays() {
        check("#[cfg(test)] mod tests { use a; fn f() { { } } } b", "b", &[]);
        check("#[cfg(test)] #[expect(dead_code)] use a::{b, c}; d", "d", &[]);
        check("#[cfg(test)] pub(crate) const A: [u8; 2] = { a() }; b", "b", &[]);
        check("#[cfg(test)] fn f(a: [u8; 2]) { a } b", "b", &[]);
        check("#[cfg(test)] pub struct A(u8); b", "b", &[]);
    }

    #[test]
    fn a_module_in_a_file_of_its_own_is_named() {
        check("#[cfg(test)] mod tests; b", "b", &["tests"]);
        check("#[cfg(test)] pub(crate) mod cases; b", "b", &["cases"]);
    }

    #[test]
    fn what_is_not_for_tests_alone_stays() {
        check("#[cfg(not(test))] use a;", "# [ cfg ( not ( test ) ) ] use a ;", &[]);
        check("struct A { #[cfg(test)] a: u8, b: u8 }", "struct A { a : u8 , b : u8 }", &[]);
    }
}
