use cellist_output::html_to_markdown;
use insta::assert_snapshot;
use proptest::prelude::*;

/// A DataFrame's HTML, as pandas wrote it.
macro_rules! data_frame {
    ($name:literal) => {
        html_to_markdown(include_str!(concat!("../data/", $name, ".html")))
    };
}

#[test]
fn a_data_frame_keeps_its_index_column() {
    assert_snapshot!(data_frame!("plain"), @r"
    | | name | age | score |
    | --- | --- | --- | --- |
    | 0 | Ann | 31 | 1.50 |
    | 1 | Bob | 7 | NaN |
    | 2 | Cleo | 55 | -2.25 |
    ");
}

#[test]
fn characters_with_a_meaning_in_markdown_are_escaped_and_no_others() {
    assert_snapshot!(data_frame!("special_characters"), @r"
    | key | my_col | b |
    | --- | --- | --- |
    | r\|1 | a\|b | True |
    | r_2 | x\ny | None |
    | \[3\] | \*bold\* \<b>& | \`code\` |
    ");
}

#[test]
fn spans_of_a_multi_index_are_filled_in_on_both_axes() {
    assert_snapshot!(data_frame!("multiindex"), @r"
    | region | year / stat / site | 2023 / min | 2023 / max | 2024 / min | 2024 / max |
    | --- | --- | --- | --- | --- | --- |
    | north | a | 0 | 1 | 2 | 3 |
    | north | b | 4 | 5 | 6 | 7 |
    | north | c | 8 | 9 | 10 | 11 |
    | south | a | 12 | 13 | 14 | 15 |
    | south | b | 16 | 17 | 18 | 19 |
    | south | c | 20 | 21 | 22 | 23 |
    ");
}

#[test]
fn headings_of_several_levels_become_one() {
    assert_snapshot!(data_frame!("multiindex_columns"), @r"
    | | x / lo | x / hi | y / lo | y / hi |
    | --- | --- | --- | --- | --- |
    | 0 | 0 | 1 | 2 | 3 |
    | 1 | 4 | 5 | 6 | 7 |
    ");
    assert_snapshot!(data_frame!("grouped"), @r"
    | k | v / sum | v / mean | w / max |
    | --- | --- | --- | --- |
    | a | 3 | 1.5 | 5.0 |
    | b | 3 | 3.0 | 6.0 |
    ");
}

#[test]
fn each_row_of_a_multi_index_can_be_read_alone() {
    assert_snapshot!(data_frame!("multiindex_rows"), @r"
    | letter | digit | n |
    | --- | --- | --- |
    | p | 1 | 0 |
    | p | 2 | 1 |
    | q | 1 | 2 |
    | q | 2 | 3 |
    ");
}

#[test]
fn names_of_axes_are_headings() {
    assert_snapshot!(data_frame!("named_columns"), @r"
    | field | t | u |
    | --- | --- | --- |
    | 0 | 1 | 3 |
    | 1 | 2 | 4 |
    ");
    assert_snapshot!(data_frame!("dates"), @r"
    | day | v |
    | --- | --- |
    | 2024-01-01 | 1.0 |
    | 2024-01-02 | 2.0 |
    ");
}

#[test]
fn frames_without_rows_or_columns_are_tables_too() {
    assert_snapshot!(data_frame!("empty"), @r"
    | | a | b |
    | --- | --- | --- |
    ");
    assert_snapshot!(data_frame!("no_columns"), @r"
    | |
    | --- |
    | 1 |
    | 2 |
    ");
}

#[test]
fn a_styled_frame_keeps_its_caption_and_loses_its_style() {
    assert_snapshot!(data_frame!("styler"), @r"
    Best of

    | | a | b |
    | --- | --- | --- |
    | 0 | 1 | 3 |
    | 1 | 2 | 4 |
    ");
}

#[test]
fn other_scripts_stay_as_they_are() {
    assert_snapshot!(data_frame!("wide_characters"), @r"
    | | 名前 |
    | --- | --- |
    | 0 | 花子 |
    | 1 | Ünïcode 😀 |
    ");
}

#[test]
fn a_frame_that_pandas_shortened_keeps_its_ellipses_and_its_size() {
    let markdown = data_frame!("truncated");
    let lines: Vec<&str> = markdown.lines().collect();
    assert_eq!(lines[0].matches('|').count(), 23);
    assert!(lines.iter().filter(|line| line.starts_with("| ")).all(|line| line.matches('|').count() == 23));
    assert_eq!(lines.last(), Some(&"200 rows × 30 columns"));
}

#[test]
fn ragged_rows_and_rows_outside_sections_are_kept() {
    let html = "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td></tr><tr><td>2</td><td>3</td><td>4</td></tr></table>";
    assert_snapshot!(html_to_markdown(html), @r"
    | a | b | |
    | --- | --- | --- |
    | 1 |
    | 2 | 3 | 4 |
    ");
}

#[test]
fn a_table_without_header_cells_gets_an_empty_header() {
    assert_snapshot!(html_to_markdown("<table><tr><td>1</td><td>2</td></tr></table>"), @r"
    | | |
    | --- | --- |
    | 1 | 2 |
    ");
}

#[test]
fn markup_and_line_breaks_inside_a_cell_stay_on_its_line() {
    let html = "<table><tr><th>a</th></tr><tr><td>x<br>y | <b>z</b><ul><li>p</li></ul></td></tr>
        <tr><td>line\nbreak</td></tr><tr><td><table><tr><td>in</td><td>ner</td></tr></table></td></tr></table>";
    assert_snapshot!(html_to_markdown(html), @r"
    | a |
    | --- |
    | x<br>y \| **z**<br>- p |
    | line break |
    | in<br>ner |
    ");
}

#[test]
fn prose_becomes_markdown_and_code_is_dropped() {
    let html =
        "<style>p{}</style><h1>Title</h1><p>Some <b>bold</b> text with a <a href=\"http://x\">link</a>.</p>
        <script>alert(1)</script><ul><li>one</li><li>two</li></ul><pre>x = 1\ny = 2</pre>";
    assert_snapshot!(html_to_markdown(html), @r"
    # Title

    Some **bold** text with a [link](http://x).

    - one
    - two

    x = 1
    y = 2
    ");
}

#[test]
fn html_nested_a_hundred_thousand_deep_is_stripped() {
    for tag in ["div", "b", "table><tr><td", "ul><li", "span", "x-y", "svg><g", "font color=red><p", "p><b"] {
        let html = format!("{}deep{}", format!("<{tag}>").repeat(100_000), "</div>".repeat(100_000));
        assert_eq!(html_to_markdown(&html), "deep", "{tag}");
    }
}

#[test]
fn end_tags_that_close_nothing_do_not_hide_the_depth() {
    let html = "<div></b></i>x".repeat(20_000);
    assert!(html_to_markdown(&html).starts_with("x\nx\nx"));
}

#[test]
fn html_made_to_keep_the_parser_busy_is_stripped() {
    let many = |html: &str| html.repeat(50_000);
    let hidden = [
        format!("<!--x--!>{}deep", many("<div>")),
        format!("<div a\">{}deep", many("<div>")),
        format!("<p {}>deep", (0..100_000).map(|n| format!("a{n} ")).collect::<String>()),
        format!("{}deep", many("<div><style></stylex></div></style>")),
        format!("{}deep", many("<div><table></div></table>")),
        format!("{}deep", many("<div><script><!--<script></script></div>--></script>")),
        format!("{}deep", (0..50_000).map(|n| format!("<p><font color={n}></p>")).collect::<String>()),
    ];
    for html in hidden {
        assert!(html_to_markdown(&html).ends_with("deep"), "{}", &html[..60]);
    }
}

#[test]
fn long_flat_html_is_not_taken_for_deep() {
    let html = format!("<p>first{}", "<p>next <b>word</b><br>".repeat(3000));
    assert!(html_to_markdown(&html).contains("next **word**"));
    let rows = "<tr><td>a<td>b".repeat(2000);
    let markdown = html_to_markdown(&format!("<table><tr><th>x<th>y{rows}</table>"));
    assert_eq!(markdown.lines().count(), 2002);
}

#[test]
fn nesting_that_is_just_allowed_is_converted_on_a_small_stack() {
    let html = format!("{}<b>deep</b>{}", "<div>".repeat(190), "</div>".repeat(190));
    let convert = move || html_to_markdown(&html);
    let on_small_stack = std::thread::Builder::new().stack_size(1 << 20).spawn(convert).unwrap();
    assert_eq!(on_small_stack.join().unwrap(), "**deep**");
}

#[test]
fn spans_of_absurd_size_stay_bounded() {
    let cell = format!("<td colspan=1000 rowspan=1000>{}</td>", "x".repeat(100));
    let html = format!("<table>{}</table>", format!("<tr>{}</tr>", cell.repeat(50)).repeat(50));
    assert!(html_to_markdown(&html).len() < 64 << 20);
}

proptest! {
    #[test]
    fn bad_html_never_panics(html in "(<[/!]?(table|tr|td|th|thead|p|b|ul|li|a|pre|code|style|svg|!--|div|template|select)( colspan=3| rowspan=2|/| a='|)>?|[a-z|*&;<>\"]){0,60}") {
        let _ = html_to_markdown(&html);
    }
}
