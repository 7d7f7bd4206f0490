use cellist_output::{MimeBundle, Output, Outputs, RawJson, StreamName};

fn named(id: &str, text: &str) -> Output {
    Output::Display {
        data: MimeBundle::text("text/plain", text),
        metadata: RawJson::empty_object(),
        display_id: Some(id.to_owned()),
    }
}

fn texts(outputs: &Outputs) -> Vec<String> {
    outputs.iter().map(|output| output.text().into_owned()).collect()
}

#[test]
fn text_of_one_stream_runs_together_until_something_else_comes() {
    let mut outputs = Outputs::new();
    outputs.push_stream(StreamName::Stdout, "a");
    outputs.push_stream(StreamName::Stdout, "b\n");
    outputs.push_stream(StreamName::Stderr, "c");
    outputs.push(Output::stream(StreamName::Stderr, "d"));
    outputs.push_stream(StreamName::Stdout, "e");
    assert_eq!(texts(&outputs), ["ab\n", "cd", "e"]);
}

#[test]
fn an_update_reaches_every_output_with_its_id_and_no_other() {
    let mut outputs: Outputs = [named("x", "1"), named("y", "2")].into_iter().collect();
    let data = MimeBundle::text("text/plain", "new");
    let metadata = RawJson::new(r#"{"k":1}"#).unwrap();
    assert_eq!(outputs.update_display("x", &data, &metadata), 1);
    assert_eq!(outputs.update_display("z", &data, &metadata), 0);
    assert_eq!(texts(&outputs), ["new", "2"]);
    assert!(matches!(&outputs.as_slice()[0], Output::Display { metadata: kept, .. } if *kept == metadata));
}

#[test]
fn a_second_display_of_an_id_updates_the_first_and_stands_beside_it() {
    let outputs: Outputs = [named("x", "1"), named("x", "2")].into_iter().collect();
    assert_eq!(texts(&outputs), ["2", "2"]);
}

#[test]
fn clearing_at_once_removes_everything() {
    let mut outputs: Outputs = [named("x", "1")].into_iter().collect();
    outputs.clear(false);
    assert!(outputs.is_empty());
}

#[test]
fn clearing_with_wait_removes_everything_when_the_next_output_comes() {
    let mut outputs: Outputs = [named("x", "1")].into_iter().collect();
    outputs.clear(true);
    assert_eq!(texts(&outputs), ["1"]);
    outputs.update_display("x", &MimeBundle::text("text/plain", "2"), &RawJson::empty_object());
    assert_eq!(texts(&outputs), ["2"]);
    outputs.push_stream(StreamName::Stdout, "new");
    assert_eq!(texts(&outputs), ["new"]);
    outputs.push_stream(StreamName::Stdout, "er");
    assert_eq!(texts(&outputs), ["newer"]);
}

#[test]
fn outputs_are_a_plain_list_in_json() {
    let json = r#"[{"name":"stdout","output_type":"stream","text":"a"}]"#;
    let outputs: Outputs = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_string(&outputs).unwrap(), json);
}
