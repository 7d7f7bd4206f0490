//! `cellist view`: the screen, changes by other clients, and the terminal afterwards.

use testkit::{Terminal, wait_until};

use crate::bench::Backend;
use crate::desk::notebook;
use crate::screen;
use crate::sessions::Bed;

fn bed(sources: &[&str]) -> Bed {
    let bed = Bed::new(Backend::BareRunner);
    bed.desk.write("nb.ipynb", notebook(sources));
    bed
}

fn view(bed: &Bed, more: &[&str]) -> Terminal {
    let flags = Backend::BareRunner.flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    screen::open(&bed.desk, (60, 20), &[&["view", "nb.ipynb"], more, flags.as_slice()].concat(), &[])
}

#[test]
fn what_others_change_and_what_is_run_here_is_seen_at_once() {
    let bed = bed(&["x = 40", "print(x + 2)"]);
    let mut screen = view(&bed, &[]);
    screen.wait_for("cell 0 of 2");
    // Another client, while the viewer is open.
    bed.run(&["cell", "edit", "nb.ipynb", "0", "--source", "x = 100"]).ok();
    screen.wait_for("x = 100");
    screen.keys("r");
    screen.wait("the first cell has run", |shown| shown.contains("✓ [0]"));
    screen.keys("jr");
    screen.wait_for("102");
    screen.keys("q");
    let (exit, ended) = screen.end();
    assert_eq!(exit, 0, "{}", ended.raw);
    assert!(ended.is_restored);
    wait_until("the outputs are saved", || bed.desk.text("nb.ipynb").contains("102"));
}

#[test]
fn errors_are_jumped_to_and_folded_output_unfolds() {
    let bed = bed(&["1", "print('\\n'.join(map(str, range(40))))", "2"]);
    let mut screen = view(&bed, &["--standalone"]);
    screen.wait_for("cell 0 of 3");
    screen.keys("jr");
    // The end of the run would replace the next message.
    screen.wait("the run is over", |shown| shown.contains("Ctrl-O") && shown.contains("done in"));
    screen.keys("K/map\r");
    screen.wait_for("cell 1 of 3");
    screen.keys("gg\u{f}e");
    screen.wait_for("no cell has failed");
    screen.keys("q");
    assert_eq!(screen.end().0, 0);
}

#[test]
fn a_terminal_is_given_back_by_a_viewer_that_is_asked_to_end() {
    for signal in ["-TERM", "-HUP"] {
        let bed = bed(&["1"]);
        let screen = view(&bed, &["--standalone"]);
        screen.wait_for("cell 0 of 1");
        let killed = std::process::Command::new("kill").args([signal, &screen.pid().to_string()]).status();
        assert!(killed.unwrap().success());
        assert!(screen.end().1.is_restored, "{signal}");
    }
}

#[test]
fn a_viewer_without_a_terminal_says_so() {
    let bed = bed(&["1"]);
    let said = bed.run(&["view", "nb.ipynb"]).refused(2);
    assert!(said.contains("needs a terminal"), "{said}");
}

#[test]
fn a_progress_bar_of_a_cell_that_is_run_here_is_seen_as_one() {
    // A line that is written over, as tqdm does.
    let code = "import os, sys, time\nsys.stderr.write('\\rrows:  50%|#####     | 5/10 [00:01<00:01]')\n\
                while not os.path.exists('go'): time.sleep(0.01)";
    let bed = bed(&[code]);
    let mut screen = view(&bed, &["--standalone"]);
    screen.wait_for("cell 0 of 1");
    screen.keys("r");
    screen.wait_for("████████████░░░░░░░░░░░░ 5/10");
    bed.desk.write("go", "");
    screen.wait("the cell has run", |shown| shown.contains("✓ [0]") && !shown.contains("░░░░"));
    screen.keys("q");
    assert_eq!(screen.end().0, 0);
}
