//! Data that is written into a text, as pictures in HTML and Markdown are: nobody reads it, and it is long.

use std::borrow::Cow;

use memchr::memmem;

use crate::notices;

/// Shorter data is let be.
const SHORT: usize = 64;

/// A text with a notice in the place of each long piece of data.
pub(crate) fn without_data(text: Cow<'_, str>) -> Cow<'_, str> {
    const MARK: &str = ";base64,";
    let (mut shown, mut from) = (String::new(), 0);
    for found in memmem::find_iter(text.as_bytes(), MARK.as_bytes()) {
        if found < from {
            continue;
        }
        let data = found + MARK.len();
        let is_data = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'%');
        let length = text.as_bytes()[data..].iter().take_while(|byte| is_data(byte)).count();
        let is_address = text[from..found].rfind("data:").is_some_and(|at| found - from - at < 100);
        if length > SHORT && is_address {
            shown.push_str(&text[from..data]);
            shown.push_str(&notices::data_left_out(length * 3 / 4));
            from = data + length;
        }
    }
    match from {
        0 => text,
        _ => Cow::Owned(shown + &text[from..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_data_within_a_text_is_left_out_and_all_else_stays() {
        let check = |text: &str, expected: &str| assert_eq!(without_data(text.into()), expected);
        let data = "QUJD".repeat(100);
        check("no data: but ;base64, here", "no data: but ;base64, here");
        check("![](data:image/png;base64,QUJD)", "![](data:image/png;base64,QUJD)");
        check(
            &format!("a ![x](data:image/png;base64,{data}) b ![y](data:image/gif;base64,{data}=)"),
            "a ![x](data:image/png;base64,[300 bytes]) b ![y](data:image/gif;base64,[300 bytes])",
        );
        check(&format!("é;base64,{data}"), &format!("é;base64,{data}"));
    }
}
