use cellist_output::{
    Beside, Image, ImageType, MimeBundle, Output, RawJson, StatusEvent, StreamName, preference,
};

fn json(text: &str) -> RawJson {
    RawJson::new(text).expect("the test gives JSON")
}

fn check(bundle: MimeBundle, expected: &str) {
    assert_eq!(Output::display(bundle).text(), expected);
}

#[test]
fn markdown_comes_before_plain_text_before_html() {
    let html = MimeBundle::text("text/html", "<b>h</b>");
    check(html.clone(), "**h**");
    let plain = html.with("text/plain", "p");
    check(plain.clone(), "p");
    check(plain.with("text/markdown", "m"), "m");
}

#[test]
fn a_plain_text_that_only_names_a_display_object_is_passed_over() {
    let html = MimeBundle::text("text/plain", "<IPython.core.display.HTML object>");
    check(html.clone(), "<IPython.core.display.HTML object>");
    check(html.with("text/html", "<i>x</i>"), "*x*");
    let tree = MimeBundle::text("text/plain", "<IPython.core.display.JSON object>");
    check(tree.with("application/json", json("[1]")), "array, 1 item\n  0: 1");
}

#[test]
fn an_image_without_text_says_what_it_is() {
    check(MimeBundle::text("image/png", "iVBORw0KGgo=\n"), "[image/png image, 8 bytes]");
    check(MimeBundle::text("image/png", "AA==").with("text/plain", "<Figure>"), "<Figure>");
}

#[test]
fn a_display_without_any_text_form_names_its_type() {
    check(
        MimeBundle::new().with("application/vnd.plotly.v1+json", json("{}")),
        "[application/vnd.plotly.v1+json output without a text form]",
    );
    check(MimeBundle::new(), "");
}

#[test]
fn status_events_add_no_text_and_stand_beside() {
    let bundle = MimeBundle::new().with("application/x-omp-status", json(r#"{"op":"read","path":"a"}"#));
    let output = Output::display(bundle);
    assert_eq!(output.text(), "");
    assert!(matches!(&output.beside()[..], [Beside::Status(StatusEvent { op, .. })] if op == "read"));
}

#[test]
fn json_images_and_status_stand_beside_the_text() {
    let bundle = MimeBundle::text("text/plain", "p")
        .with("image/jpeg", "AAAA")
        .with("image/png", "BBBB")
        .with("application/json", json("{}"));
    assert_eq!(
        bundle.beside(),
        [
            Beside::Json(&json("{}")),
            Beside::Image(Image { kind: ImageType::Png, base64: "BBBB" }),
            Beside::Image(Image { kind: ImageType::Jpeg, base64: "AAAA" }),
        ]
    );
}

#[test]
fn an_error_is_its_traceback_or_else_its_name_and_message() {
    let error = |traceback: &[&str]| Output::Error {
        name: "ValueError".into(),
        message: "no".into(),
        traceback: traceback.iter().map(|line| (*line).to_owned()).collect(),
    };
    assert_eq!(error(&["Traceback:", "  x"]).text(), "Traceback:\n  x");
    assert_eq!(error(&[]).text(), "ValueError: no");
}

#[test]
fn a_stream_is_its_text() {
    assert_eq!(Output::stream(StreamName::Stdout, "a\n").text(), "a\n");
}

#[test]
fn the_picture_of_a_display_is_the_one_that_is_read_best() {
    let mut bundle = MimeBundle::text("text/plain", "<Figure>")
        .with("image/svg+xml", "<svg/>")
        .with("image/png", "AAAA")
        .with("application/json", "1");
    assert_eq!(bundle.picture(), Some(("image/png", "AAAA")));
    assert_eq!((bundle.picture_bytes(), bundle.take_pictures(), bundle.picture_bytes()), (10, 10, 0));
    assert_eq!((bundle.picture(), bundle.get_text("text/plain")), (None, Some("<Figure>")));
    assert_eq!(MimeBundle::text("image/gif", "R0").picture(), Some(("image/gif", "R0")));
}

#[test]
fn the_page_renders_types_in_the_order_of_the_table() {
    let page = include_str!("../../../../web/src/out/render.ts");
    let plotly = page.split_once("const PLOTLY = '").unwrap().1.split_once('\'').unwrap().0;
    let rows = page.split_once("const renderers").unwrap().1.split_once("\n]\n").unwrap().0;
    let name = |row: &'static str| row.trim().strip_prefix('[')?.split(',').next();
    let listed: Vec<&str> =
        rows.lines().skip(1).filter_map(name).map(|name| name.trim_matches('\'')).collect();
    let listed: Vec<&str> =
        listed.into_iter().map(|name| if name == "PLOTLY" { plotly } else { name }).collect();
    assert_eq!(listed, preference::PAGE);
}
