//! Invalid arguments.

use insta::assert_snapshot;

use crate::desk::Desk;

#[test]
fn slips_are_answered_with_what_was_meant() {
    let desk = Desk::new();
    let mut told = String::new();
    for arguments in [
        &["raed", "nb.ipynb"][..],
        &["read", "--output", "nb.ipynb"],
        &["cell", "instert", "nb.ipynb"],
        &["cell", "delete", "nb.ipynb"],
        &["merge", "a", "b", "c", "d"],
        &["diff", "a.ipynb"],
    ] {
        told.push_str(&format!("$ {}\n{}\n", arguments.join(" "), desk.run(arguments).refused(2)));
    }
    assert_snapshot!(told, @r#"
    $ raed nb.ipynb
    error: unrecognized subcommand 'raed'

      tip: a similar subcommand exists: 'read'

    Usage: cellist [OPTIONS] <COMMAND>

    For more information, try '--help'.

    $ read --output nb.ipynb
    error: unexpected argument '--output' found

      tip: a similar argument exists: '--outputs'

    Usage: cellist read --outputs <PATH[:SELECTOR|#CELL]>

    For more information, try '--help'.

    $ cell instert nb.ipynb
    error: unrecognized subcommand 'instert'

      tip: a similar subcommand exists: 'insert'

    Usage: cellist cell [OPTIONS] <COMMAND>

    For more information, try '--help'.

    $ cell delete nb.ipynb
    error: the following required arguments were not provided:
      <CELL>...

    Usage: cellist cell delete <NB> <CELL>...

    For more information, try '--help'.

    $ merge a b c d
    error: unexpected argument 'd' found
    hint: a merge takes three notebooks: BASE OURS THEIRS

    $ diff a.ipynb
    error: the following required arguments were not provided:
      <B>

    Usage: cellist diff [OPTIONS] <A> <B>

    For more information, try '--help'.
    "#);
}

#[test]
fn bad_usage_is_one_object_for_programs() {
    let desk = Desk::new();
    let mut told = String::new();
    for arguments in [
        &["raed", "--json"][..],
        &["--json"],
        &["cell", "edit", "--json"],
        &["read", "--json", "--outptus", "x"],
        &["write", "--json", "nb.ipynb", "--base", "x"],
    ] {
        let ran = desk.run(arguments);
        assert_eq!((ran.exit, ran.err.as_str()), (2, ""), "{arguments:?}");
        told.push_str(&String::from_utf8(ran.out).unwrap());
    }
    assert_snapshot!(told, @r#"
    {"error":{"kind":"usage","message":"unrecognized subcommand 'raed'","hint":"a similar subcommand exists: 'read'"}}
    {"error":{"kind":"usage","message":"'cellist' requires a subcommand but one was not provided","hint":"see --help"}}
    {"error":{"kind":"usage","message":"the following required arguments were not provided: <NB> <CELL>","hint":"see --help"}}
    {"error":{"kind":"usage","message":"unexpected argument '--outptus' found","hint":"a similar argument exists: '--outputs'"}}
    {"error":{"kind":"usage","message":"invalid value 'x' for '--base <REV>': `x` is not a revision: one has 16 hexadecimal digits","hint":"see --help"}}
    "#);
}

#[test]
fn a_time_limit_that_is_none_is_refused_with_what_is_valid() {
    let desk = Desk::with(&["1"]);
    for text in ["nan", "inf", "-inf", "soon"] {
        for command in [["exec", "1"], ["run", "nb.ipynb"]] {
            let timeout = format!("--timeout={text}");
            let refused = desk.run(&[command[0], command[1], &timeout]).refused(2);
            assert!(refused.contains("expected a number of seconds, such as 30 or 0.5"), "{refused}");
        }
    }
    let refused = desk.run(&["exec", "1", "--timeout", "-1"]).refused(2);
    assert!(refused.contains("must not be negative"), "{refused}");
    let refused = desk.run(&["run", "nb.ipynb", "--timeout", "0"]).refused(2);
    assert!(refused.contains("more than 0 seconds"), "{refused}");
}

#[test]
fn an_unknown_flag_of_exec_is_no_code_and_code_that_looks_like_one_stands_behind_two_dashes() {
    let desk = Desk::new();
    let refused = desk.run(&["exec", "--foo"]).refused(2);
    assert!(refused.contains("unexpected argument '--foo'"), "{refused}");
    assert_eq!(desk.run(&["exec", "-3"]).exit, 2);
    assert_eq!(desk.run(&["exec", "--backend", "runner", "--", "-3"]).out, b"-3\n");
    assert_eq!(desk.feed(&["exec", "--backend", "runner", "-"], "-3").out, b"-3\n");
}
