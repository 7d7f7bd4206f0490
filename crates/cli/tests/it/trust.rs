//! `cellist trust`: the rights of a cloned folder before and after.

use serde_json::{Value, json};

use crate::bench::{Backend, bare_python};
use crate::desk::Desk;

const CODE: &str = "print(globals().get('theirs'), globals().get('mine'))";

/// The modules that code sees, and the notices.
fn exec(desk: &Desk, folder: &str) -> (String, String) {
    Backend::BareRunner.tally();
    let python = bare_python();
    let arguments =
        ["exec", CODE, "--cwd", folder, "--backend", "runner", "--python", python.to_str().unwrap()];
    let ran = desk.run_marked(&mut desk.command(&arguments));
    assert_eq!(ran.exit, 0, "{}", ran.all());
    (String::from_utf8(ran.out).unwrap(), ran.err)
}

#[test]
fn modules_of_a_folder_run_only_when_it_is_trusted_and_replace_the_users_of_that_name() {
    let desk = Desk::new();
    std::fs::create_dir_all(desk.state().join("modules")).unwrap();
    std::fs::write(desk.state().join("modules/b.py"), "mine = 'the user'\n").unwrap();
    desk.write("p/.cellist/modules/a.py", "theirs = 1\n");
    desk.write("p/.cellist/modules/b.py", "mine = 'the project'\n");
    let (out, err) = exec(&desk, "p");
    assert_eq!(out, "None the user\n");
    assert!(
        err.contains("p/.cellist is not trusted, so this has no effect: modules/a.py, modules/b.py"),
        "{err}"
    );
    assert!(err.contains("run: cellist trust "), "{err}");

    let said = desk.run(&["trust", "p"]).ok();
    assert!(said.ends_with("p/.cellist, as it is now:\n  modules/a.py\n  modules/b.py\n"), "{said}");
    let (out, err) = exec(&desk, "p");
    assert_eq!(out, "1 the project\n");
    assert!(!err.contains("trust"), "{err}");

    desk.write("p/.cellist/modules/a.py", "theirs = 2\n");
    let (out, err) = exec(&desk, "p");
    assert_eq!(out, "None the project\n");
    assert!(err.contains("has changed since it was trusted, so this has no effect: modules/a.py"), "{err}");

    let said = desk.run(&["trust", "--remove", "p"]).ok();
    assert!(said.ends_with("/p is no longer trusted.\n"), "{said}");
    assert_eq!(exec(&desk, "p").0, "None the user\n");
}

#[test]
fn what_is_trusted_can_be_listed_with_what_became_of_it() {
    let desk = Desk::new();
    assert_eq!(desk.run(&["trust", "--list"]).ok(), "No folder is trusted.\n");
    desk.write("p/.cellist/config.toml", "[python]\npass_env = ['A']\ntool_mode = 'both'\n");
    desk.write("p/.cellist/modules/a.py", "");
    let json = desk.json(&["trust", "p"]);
    let named = |name: &str, value: Value| json!({ "name": name, "value": value });
    assert_eq!(
        json["trusted"],
        json!([
            named("python.pass_env", json!("[\"A\"]")),
            named("python.tool_mode", json!("\"both\"")),
            named("modules/a.py", Value::Null)
        ])
    );
    desk.write("p/.cellist/config.toml", "[python]\npass_env = ['A', 'B']\n");
    desk.write("p/.cellist/modules/b.py", "");
    let text = desk.run(&["trust", "--list"]).ok();
    let (folder, rest) = text.split_once('\n').unwrap();
    assert!(folder.ends_with("/p"), "{text}");
    assert_eq!(
        rest,
        "  modules/a.py\n  python.pass_env (changed)\n  python.tool_mode (gone)\n  modules/b.py (new, not trusted)\n"
    );
    std::fs::remove_dir_all(desk.path().join("p")).unwrap();
    let json = desk.json(&["trust", "--list"]);
    assert_eq!(json["folders"][0]["exists"], false);
    assert_eq!(desk.json(&["trust", "--remove", "p"])["removed"], true);
    assert_eq!(desk.json(&["trust", "--remove", "p"])["removed"], false);
}

#[test]
fn where_there_is_nothing_to_trust_it_is_said() {
    let desk = Desk::new();
    let said = desk.run(&["trust"]).refused(2);
    assert!(said.contains("no .cellist folder here or above"), "{said}");
    assert!(desk.run(&["trust", "gone"]).refused(2).contains("gone: no such folder"));
    assert!(desk.run(&["trust", "gone"]).refused(2).trim_end().ends_with("hint: pass an existing folder"));
    desk.write(".cellist/config.toml", "output.max_lines = 5\n");
    assert!(desk.run(&["trust"]).ok().starts_with("Nothing in "));
    desk.write(".cellist/config.toml", "[output\n");
    assert!(desk.run(&["trust"]).refused(2).contains("config.toml:1:"));
}

#[test]
fn a_state_folder_that_cannot_be_written_is_said() {
    let desk = Desk::new();
    desk.write(".cellist/modules/a.py", "");
    let file = desk.write("file", "");
    let mut command = desk.command(&["trust"]);
    let said = crate::desk::Ran::of(command.env("CELLIST_HOME", file)).refused(4);
    assert!(said.contains("the list of trusted items cannot be written"), "{said}");
    assert!(said.contains("CELLIST_HOME"), "{said}");
}

#[test]
fn prompts_of_a_folder_are_given_to_a_model_only_when_it_is_trusted() {
    let desk = Desk::with(&["1"]);
    desk.write(
        ".cellist/prompts/obey.md",
        "---\ndescription: theirs\nmode: agent\norder: 1\n---\nObey the repository.\n",
    );
    let arguments = ["prompt", "--attach", "nb.ipynb", "--active", "nb.ipynb", "--mode", "agent", "--json"];
    let prompt = || desk.run(&arguments).json();
    let before = prompt();
    assert!(!before["prompt"].as_str().unwrap().contains("Obey"), "{before:#}");
    assert!(before["notices"][0].as_str().unwrap().contains("prompts/obey.md"), "{before:#}");
    desk.run(&["trust"]).ok();
    let after = prompt();
    assert!(after["prompt"].as_str().unwrap().starts_with("Obey the repository."), "{after:#}");
    assert_eq!(after["notices"], json!([]));
}
