//! `cellist completions`.

use crate::desk::Desk;

#[test]
fn every_shell_gets_a_script_that_knows_the_commands() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = desk.run(&["completions", shell]).ok();
        for word in ["git-setup", "retype", "outputs", "base"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
    assert!(desk.run(&["completions", "tcsh"]).refused(2).contains("possible values: bash, elvish, fish"));
}

#[test]
fn bash_accepts_its_script() {
    let desk = Desk::new();
    desk.write("script", desk.run(&["completions", "bash"]).ok());
    let mut bash = std::process::Command::new("bash");
    bash.args(["-c", "source ./script && complete -p cellist"]);
    desk.prepare(&mut bash);
    assert!(crate::desk::Ran::of(&mut bash).ok().contains("_cellist"));
}
