use proptest::prelude::*;
use serde::Deserialize;

use super::*;

/// Text with characters of one, two and four bytes, of one and two units, and line breaks.
fn text() -> impl Strategy<Value = String> {
    let characters = prop::sample::select(vec!['a', 'b', ' ', '\n', 'é', '\u{2028}', '𝒳', '😀', '\r']);
    prop::collection::vec(characters, 0..24).prop_map(|characters| characters.into_iter().collect())
}

/// Builds a change of a text from random positions and words.
fn change_of(text: &str, choices: &[(u8, u8, String)]) -> ChangeSet {
    let mut borders = vec![0];
    for character in text.chars() {
        borders.push(borders[borders.len() - 1] + character.len_utf16());
    }
    let mut change = ChangeSet::default();
    let mut at = 0;
    for (skip, length, inserted) in choices {
        let start = (at + usize::from(*skip)).min(borders.len() - 1);
        let end = (start + usize::from(*length)).min(borders.len() - 1);
        change.keep(borders[start] - borders[at]);
        change.put(borders[end] - borders[start], inserted);
        at = end;
    }
    change.keep(borders[borders.len() - 1] - borders[at]);
    change
}

fn choices() -> impl Strategy<Value = Vec<(u8, u8, String)>> {
    prop::collection::vec((0..6u8, 0..4u8, text().prop_map(|text| text.chars().take(3).collect())), 0..4)
}

proptest! {
    #[test]
    fn two_changes_in_a_row_are_one_change(text in text(), one in choices(), two in choices()) {
        let one = change_of(&text, &one);
        let middle = one.apply(&text).unwrap();
        let two = change_of(&middle, &two);
        prop_assert_eq!(one.compose(&two).unwrap().apply(&text).unwrap(), two.apply(&middle).unwrap());
    }

    #[test]
    fn changes_in_three_steps_are_the_same_however_they_are_grouped(
        text in text(), one in choices(), two in choices(), three in choices(),
    ) {
        let one = change_of(&text, &one);
        let second = one.apply(&text).unwrap();
        let two = change_of(&second, &two);
        let three = change_of(&two.apply(&second).unwrap(), &three);
        let left = one.compose(&two).unwrap().compose(&three).unwrap();
        let right = one.compose(&two.compose(&three).unwrap()).unwrap();
        prop_assert_eq!(left.apply(&text).unwrap(), right.apply(&text).unwrap());
    }

    #[test]
    fn two_changes_at_once_come_to_one_text_in_either_order(text in text(), one in choices(), two in choices()) {
        let (one, two) = (change_of(&text, &one), change_of(&text, &two));
        let left = one.compose(&two.map(&one, Order::Second).unwrap()).unwrap();
        let right = two.compose(&one.map(&two, Order::First).unwrap()).unwrap();
        prop_assert_eq!(left.apply(&text).unwrap(), right.apply(&text).unwrap());
    }

    #[test]
    fn what_was_put_in_survives_what_another_does_at_once(text in text(), one in choices(), two in choices()) {
        let (one, two) = (change_of(&text, &one), change_of(&text, &two));
        let mapped = one.map(&two, Order::Second).unwrap();
        prop_assert_eq!(one.inserted().collect::<String>(), mapped.inserted().collect::<String>());
    }

    #[test]
    fn a_change_can_be_taken_back(text in text(), one in choices()) {
        let change = change_of(&text, &one);
        let after = change.apply(&text).unwrap();
        let inverse = change.invert(&text).unwrap();
        prop_assert_eq!(inverse.apply(&after).unwrap(), text.as_str());
        prop_assert!(change.compose(&inverse).unwrap().apply(&text).unwrap() == text);
        prop_assert_eq!((change.length_before(), change.length_after()), (units(&text), units(&after)));
    }

    #[test]
    fn the_change_between_two_texts_turns_one_into_the_other(before in text(), after in text()) {
        let change = ChangeSet::between(&before, &after);
        prop_assert_eq!(change.apply(&before).unwrap(), after);
        prop_assert!(ChangeSet::between(&before, &before).is_identity());
    }

    #[test]
    fn a_change_is_the_same_after_a_journey_as_json(text in text(), one in choices()) {
        let change = change_of(&text, &one);
        let json = serde_json::to_string(&change).unwrap();
        prop_assert_eq!(serde_json::from_str::<ChangeSet>(&json).unwrap(), change);
    }

    #[test]
    fn a_change_of_a_text_of_another_length_is_refused(text in text(), other in text(), one in choices()) {
        let change = change_of(&text, &one);
        if units(&text) != units(&other) {
            prop_assert!(change.apply(&other).is_err());
            prop_assert!(change.invert(&other).is_err());
            prop_assert!(change.map(&ChangeSet::identity(units(&other)), Order::First).is_err());
        }
    }
}

/// CodeMirror's results for concurrent changes `a` and `b`, and for `c` after `a`. The concurrent changes only
/// insert or delete: CodeMirror orders overlapping replacements differently.
#[derive(Deserialize)]
struct Observed {
    doc: String,
    a: ChangeSet,
    b: ChangeSet,
    c: ChangeSet,
    after_a: String,
    after_b: String,
    a_then_c: String,
    a_over_b: String,
    a_before_b: String,
    inverse: ChangeSet,
}

#[test]
fn changes_behave_like_codemirrors() {
    let observed: Vec<Observed> = serde_json::from_str(include_str!("codemirror.json")).unwrap();
    for one in observed {
        let Observed { doc, a, b, c, .. } = &one;
        assert_eq!(a.apply(doc).unwrap(), one.after_a);
        assert_eq!(b.apply(doc).unwrap(), one.after_b);
        assert_eq!(a.compose(c).unwrap().apply(doc).unwrap(), one.a_then_c);
        let over = |order| a.map(b, order).unwrap().apply(&one.after_b).unwrap();
        assert_eq!(over(Order::Second), one.a_over_b, "{doc:?} {a:?} {b:?}");
        assert_eq!(over(Order::First), one.a_before_b, "{doc:?} {a:?} {b:?}");
        assert_eq!(one.inverse.apply(&one.after_a).unwrap(), *doc);
        assert_eq!(a.invert(doc).unwrap().apply(&one.after_a).unwrap(), *doc);
    }
}

#[test]
fn a_change_that_cuts_a_character_in_two_is_refused() {
    let inside = ChangeSet::replace(2, 1..1, "x").unwrap();
    assert_eq!(inside.apply("😀"), Err(BadChange::CutsCharacter { at: 1 }));
    let insert = ChangeSet::replace(0, 0..0, "😀").unwrap();
    assert_eq!(insert.compose(&inside), Err(BadChange::CutsCharacter { at: 1 }));
    assert!(ChangeSet::replace(2, 1..3, "").is_err());
}

#[test]
fn the_json_is_that_of_codemirror() {
    let check = |json: &str, before: &str, after: &str| {
        let change: ChangeSet = serde_json::from_str(json).unwrap();
        assert_eq!(change.apply(before).unwrap(), after);
        assert_eq!(serde_json::to_string(&change).unwrap(), json);
    };
    check("[5]", "hello", "hello");
    check(r#"[5,[0,"","x"]]"#, "hello", "hello\nx");
    check(r#"[[1],4]"#, "hello", "ello");
    check(r#"[1,[2,"E","","L"],2]"#, "hello", "hE\n\nLlo");
    for bad in [
        r#"[-1]"#,
        r#"["x"]"#,
        r#"[["x"]]"#,
        r#"[[1,2]]"#,
        r#"[[]]"#,
        r#"[1.5]"#,
        r#"[[0,"a\nb"]]"#,
        r#"[[0,"\ud83d"]]"#,
    ] {
        assert!(serde_json::from_str::<ChangeSet>(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_difference_is_kept_small() {
    let check = |before: &str, after: &str, json: &str| {
        assert_eq!(serde_json::to_string(&ChangeSet::between(before, after)).unwrap(), json);
    };
    check("a\nb\nc", "a\nbx\nc", r#"[3,[0,"x"],2]"#);
    check("a", "a\nb", r#"[1,[0,"","b"]]"#);
    check("a\nb", "a", r#"[1,[2]]"#);
    check("x = 1\ny = 2\nz = 3", "x = 10\ny = 2\nz = 30", r#"[5,[0,"0"],12,[0,"0"]]"#);
    check("", "é😀", r#"[[0,"é😀"]]"#);
}

#[test]
fn a_position_moves_with_the_text_around_it() {
    let change = ChangeSet::replace(6, 2..4, "xyz").unwrap();
    let moved = |at, order| change.map_position(at, order);
    assert_eq!([0, 1, 4, 6].map(|at| moved(at, Order::First)), [0, 1, 5, 7]);
    assert_eq!((moved(2, Order::First), moved(2, Order::Second), moved(3, Order::First)), (2, 5, 5));
    let insert = ChangeSet::replace(2, 1..1, "x").unwrap();
    assert_eq!((insert.map_position(1, Order::First), insert.map_position(1, Order::Second)), (1, 2));
}
