//! Selectors and the lines they choose.

use cellist_notebook::{LineRange, Selector, select_lines};

fn lines(ranges: &[(usize, Option<usize>)]) -> Selector {
    Selector::Lines(ranges.iter().map(|&(first, last)| LineRange { first, last }).collect())
}

#[test]
fn a_selector_is_taken_off_the_end_of_the_path() {
    for (argument, path, selector) in [
        ("nb.ipynb:12-40", "nb.ipynb", lines(&[(12, Some(40))])),
        ("a:b/nb.ipynb:5-9,30-44", "a:b/nb.ipynb", lines(&[(5, Some(9)), (30, Some(44))])),
        ("nb.ipynb:7", "nb.ipynb", lines(&[(7, Some(7))])),
        ("nb.ipynb:7-", "nb.ipynb", lines(&[(7, None)])),
        ("notes.txt:1-2", "notes.txt", lines(&[(1, Some(2))])),
        ("nb.ipynb:raw", "nb.ipynb", Selector::Raw),
        ("nb.ipynb#abc:1", "nb.ipynb", Selector::Cell("abc:1".into())),
    ] {
        assert_eq!(Selector::split(argument), Ok(Some((path, selector))), "{argument}");
    }
    for plain in ["nb.ipynb", "C:file.txt", "a#b.txt", "folder:x/nb.ipynb"] {
        assert_eq!(Selector::split(plain), Ok(None), "{plain}");
    }
}

#[test]
fn what_looks_like_a_selector_and_is_none_is_refused_with_the_valid_forms() {
    for (argument, selector) in [
        ("nb.ipynb:0-4", ":0-4"),
        ("nb.ipynb:9-5", ":9-5"),
        ("nb.ipynb:1-2-3", ":1-2-3"),
        ("nb.ipynb:5,", ":5,"),
        ("nb.ipynb:all", ":all"),
        ("nb.ipynb:", ":"),
        ("nb.ipynb:+1", ":+1"),
        ("nb.ipynb#", "#"),
        ("nb.ipynb:raw:1-3", ":raw:1-3"),
        ("a:b/nb.ipynb:1-3:raw", ":1-3:raw"),
    ] {
        let error = Selector::split(argument).unwrap_err();
        assert_eq!(error.to_string(), format!("`{selector}` is not a selector"), "{argument}");
        assert_eq!(error.hint().unwrap(), "valid forms are :12-40, :5-9,30-44, :7, :raw and #CELL-ID");
    }
}

#[test]
fn lines_count_from_one_and_both_ends_are_included() {
    let text = "a\nb\nc\nd";
    let check = |ranges, expected: &str| {
        let Selector::Lines(ranges) = lines(ranges) else { unreachable!() };
        assert_eq!(select_lines(text, &ranges).unwrap(), expected);
    };
    check(&[(2, Some(3))], "b\nc\n");
    check(&[(3, None)], "c\nd");
    check(&[(4, Some(4)), (1, Some(1))], "d\na\n");
    for (first, last) in [(4, 5), (9, 9)] {
        let error = select_lines(text, &[LineRange { first, last: Some(last) }]).unwrap_err();
        assert_eq!(error.to_string(), format!("lines {first}-{last} are out of range: there are 4 lines"));
    }
}
