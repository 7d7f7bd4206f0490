use super::*;

fn write(kept: &mut OutputBuffer, name: StreamName, bytes: &[u8]) {
    kept.apply(Event::Stream { name, bytes: bytes.to_vec().into(), late: false });
}

fn display(id: Option<&str>, text: &str) -> Event {
    Event::Display {
        data: MimeBundle::text("text/plain", text),
        metadata: RawJson::empty_object(),
        display_id: id.map(str::to_owned),
    }
}

fn said(kept: &OutputBuffer) -> Vec<String> {
    kept.outputs().iter().map(|output| output.text().into_owned()).collect()
}

#[test]
fn status_events_are_not_saved_and_do_not_split_text() {
    let mut kept = OutputBuffer::new(None);
    let status = |mut bundle: MimeBundle| {
        bundle = bundle.with(StatusEvent::MIME, RawJson::new(r#"{"op":"read"}"#).unwrap());
        Event::Display { data: bundle, metadata: RawJson::empty_object(), display_id: None }
    };
    write(&mut kept, StreamName::Stdout, b"a\n");
    kept.apply(status(MimeBundle::new()));
    write(&mut kept, StreamName::Stdout, b"b\n");
    kept.apply(status(MimeBundle::text("text/plain", "shown")));
    assert_eq!(kept.outputs().len(), 4);
    let saved: Vec<String> = kept.saved().iter().map(|output| output.text().into_owned()).collect();
    assert_eq!(saved, ["a\nb\n", "shown"]);
}

#[test]
fn chunks_of_a_stream_are_one_output_and_a_character_may_be_cut_in_two() {
    let mut kept = OutputBuffer::new(None);
    for chunk in "é1\né2\n".as_bytes().chunks(1) {
        write(&mut kept, StreamName::Stdout, chunk);
    }
    write(&mut kept, StreamName::Stderr, b"oh\xff");
    write(&mut kept, StreamName::Stdout, b"3\xe2\x82");
    kept.finish();
    assert_eq!(said(&kept), ["é1\né2\n", "oh\u{fffd}", "3\u{fffd}"]);
}

#[test]
fn past_the_limit_the_first_and_the_last_stay_with_one_notice_between() {
    let mut kept = OutputBuffer::new(Some(4 * PIECE));
    for line in 0..1_000_000 {
        write(&mut kept, StreamName::Stdout, format!("line {line}\n").as_bytes());
    }
    kept.apply(display(None, "the end"));
    kept.finish();
    kept.artifact = Some("7".into());
    let said = said(&kept);
    let [head, notice, tail, end] = said.as_slice() else { panic!("{} outputs", said.len()) };
    assert!(head.starts_with("line 0\nline 1\n") && head.ends_with('\n'));
    assert!(tail.starts_with("line ") && tail.ends_with("line 999999\n") && end == "the end");
    assert!(head.len() <= 2 * PIECE && tail.len() <= 3 * PIECE, "{} {}", head.len(), tail.len());
    let total: usize = (0..1_000_000).map(|line| format!("line {line}\n").len()).sum();
    assert_eq!(*notice, notices::left_out((total - head.len() - tail.len()) as u64, Some("7")));
}

#[test]
fn one_large_output_is_kept_whole() {
    let mut kept = OutputBuffer::new(Some(1000));
    kept.apply(display(None, &"x".repeat(100_000)));
    assert_eq!(said(&kept), ["x".repeat(100_000)]);
}

#[test]
fn clearing_resets_the_count_of_dropped_output() {
    let mut kept = OutputBuffer::new(Some(PIECE));
    write(&mut kept, StreamName::Stdout, &vec![b'x'; 10 * PIECE]);
    assert_eq!(said(&kept).len(), 3);
    kept.apply(Event::ClearOutput { wait: true });
    assert_eq!(said(&kept).len(), 3);
    write(&mut kept, StreamName::Stdout, b"new");
    assert_eq!(said(&kept), ["new"]);
}

fn picture(id: Option<&str>, size: usize) -> Event {
    let data = MimeBundle::text("text/plain", "<Figure>").with("image/png", "A".repeat(size));
    let (metadata, display_id) = (RawJson::empty_object(), id.map(str::to_owned));
    Event::Display { data, metadata, display_id }
}

#[test]
fn pictures_are_kept_beside_the_text_up_to_their_own_limit() {
    let mut kept = OutputBuffer::new(Some(100)).with_pictures(1000);
    kept.apply(picture(None, 600));
    write(&mut kept, StreamName::Stdout, &[b'x'; 40]);
    kept.apply(picture(None, 300));
    let sizes = |kept: &OutputBuffer| kept.pictures().list.iter().map(|it| it.data.len()).collect::<Vec<_>>();
    assert_eq!((sizes(&kept), kept.pictures().left_out), (vec![600, 300], 0));
    kept.apply(picture(None, 200));
    assert_eq!((sizes(&kept), kept.pictures().left_out), (vec![300, 200], 1));
    assert_eq!(said(&kept)[0], "<Figure>");
    kept.apply(Event::ClearOutput { wait: false });
    assert_eq!(kept.pictures(), Pictures::default());
    assert_eq!(OutputBuffer::new(None).pictures(), Pictures::default());
}

#[test]
fn an_update_that_is_larger_than_all_before_it_does_no_harm() {
    for mut kept in [OutputBuffer::new(Some(100)), OutputBuffer::new(Some(100)).with_pictures(1000)] {
        kept.apply(display(None, &"a".repeat(60)));
        kept.apply(picture(Some("d"), 10));
        let large = MimeBundle::text("text/plain", "b".repeat(10_000)).with("image/png", "A".repeat(900));
        assert!(kept.update("d", &large, &RawJson::empty_object()));
        for _ in 0..10 {
            kept.apply(picture(None, 200));
            write(&mut kept, StreamName::Stdout, &[b'y'; 90]);
        }
        assert!(kept.outputs().len() < 20);
    }
}

#[test]
fn an_update_finds_displays_on_both_sides_of_the_cut() {
    let mut kept = OutputBuffer::new(Some(PIECE));
    kept.apply(display(Some("d"), "first"));
    write(&mut kept, StreamName::Stdout, &vec![b'x'; 10 * PIECE]);
    kept.apply(display(Some("d"), "second"));
    let update = MimeBundle::text("text/plain", "third");
    assert!(kept.update("d", &update, &RawJson::empty_object()));
    let said = said(&kept);
    assert_eq!((said[0].as_str(), said[4].as_str()), ("third", "third"));
}
