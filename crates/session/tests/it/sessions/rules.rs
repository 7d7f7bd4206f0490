//! The rules of sessions, each with the tests that hold it on each backend, or why it cannot be broken there.

use std::fs;
use std::path::Path;

enum On {
    /// These tests hold it, with real kernels.
    Real(&'static [&'static str]),
    /// It is decided before a kernel is asked anything; these tests hold it.
    Decided(&'static [&'static str]),
}

use On::{Decided, Real};

/// The rule; the runner; Jupyter.
const RULES: &[(&str, On, On)] = &[
    (
        "state stays in a session by its name and folder",
        Real(&["state_stays_from_one_call_to_the_next_and_goes_with_a_reset"]),
        Real(&["state_stays_from_one_call_to_the_next_and_goes_with_a_reset"]),
    ),
    (
        "sessions are told apart by name and folder",
        Decided(&["sessions_are_told_apart_by_name_and_folder"]),
        Decided(&["sessions_are_told_apart_by_name_and_folder"]),
    ),
    (
        "a kernel for one call goes after it: done, failed, timed out, cancelled, dead",
        Real(&["a_kernel_for_one_call_is_gone_after_it_whatever_came_of_the_call"]),
        Real(&["a_kernel_for_one_call_is_gone_after_it_whatever_came_of_the_call"]),
    ),
    (
        "one after the other, in order",
        Real(&["fifty_callers_at_once_run_in_the_order_in_which_they_came"]),
        Real(&["fifty_callers_at_once_run_in_the_order_in_which_they_came"]),
    ),
    (
        "sessions run beside each other",
        Real(&["whatever_happens_to_many_sessions_every_call_is_answered_and_no_process_is_left"]),
        Decided(&["sessions_do_not_wait_for_each_other"]),
    ),
    (
        "a shared kernel ends when the last owner leaves",
        Decided(&[
            "a_shared_session_ends_when_the_last_of_its_owners_leaves",
            "what_an_owner_left_running_goes_on_to_its_end",
        ]),
        Decided(&[
            "a_shared_session_ends_when_the_last_of_its_owners_leaves",
            "what_an_owner_left_running_goes_on_to_its_end",
        ]),
    ),
    (
        "the least recently used idle session makes room, never a busy one",
        Real(&["the_least_recently_used_idle_kernel_makes_room_and_a_busy_one_never"]),
        Real(&["the_least_recently_used_idle_kernel_makes_room_and_a_busy_one_never"]),
    ),
    (
        "what nobody uses ends when it was idle for long enough, by a clock that the test moves",
        Decided(&["what_nobody_uses_ends_after_five_minutes_and_what_runs_or_has_an_owner_does_not"]),
        Decided(&["what_nobody_uses_ends_after_five_minutes_and_what_runs_or_has_an_owner_does_not"]),
    ),
    (
        "what nobody uses ends, process and all",
        Real(&["a_kernel_that_nobody_uses_ends_and_one_with_an_owner_stays"]),
        Real(&["a_kernel_that_nobody_uses_ends_and_one_with_an_owner_stays"]),
    ),
    (
        "a kernel that does not answer is not ended",
        Decided(&["a_kernel_that_does_not_answer_is_not_ended"]),
        Decided(&["a_kernel_that_does_not_answer_is_not_ended"]),
    ),
    (
        "asking whether a kernel is there disturbs nothing in it",
        Real(&["asking_whether_a_kernel_is_there_loses_nothing_of_what_its_threads_print"]),
        Real(&["asking_whether_a_kernel_is_there_loses_nothing_of_what_its_threads_print"]),
    ),
    (
        "a kernel dead before a run is replaced, and the result says why",
        Real(&["a_kernel_that_died_between_two_runs_is_replaced"]),
        Real(&["a_kernel_that_died_between_two_runs_is_replaced"]),
    ),
    (
        "a kernel that dies during a run: once more where nothing stood on what is lost",
        Real(&["code_that_stood_on_nothing_is_run_again_when_its_kernel_dies"]),
        Real(&["code_that_stood_on_nothing_is_run_again_when_its_kernel_dies"]),
    ),
    (
        "a kernel that dies during a run: not again where something did",
        Real(&["code_that_stood_on_earlier_state_is_not_run_again_unless_that_is_wanted"]),
        Real(&["code_that_stood_on_earlier_state_is_not_run_again_unless_that_is_wanted"]),
    ),
    (
        "a kernel that dies twice fails the run; a finished run clears the count",
        Real(&["a_kernel_that_dies_twice_fails_the_run", "what_had_no_earlier_state_is_run_again_once"]),
        Real(&["a_kernel_that_dies_twice_fails_the_run", "what_had_no_earlier_state_is_run_again_once"]),
    ),
    (
        "a reset during a reset is refused",
        Real(&["a_reset_during_a_reset_is_refused"]),
        Real(&["a_reset_during_a_reset_is_refused"]),
    ),
    (
        "the first cell that fails ends the call and names itself",
        Real(&["the_first_cell_that_fails_ends_the_call_and_keeps_the_state_of_those_before"]),
        Real(&["the_first_cell_that_fails_ends_the_call_and_keeps_the_state_of_those_before"]),
    ),
    (
        "a limit interrupts, and the state survives",
        Real(&["a_limit_interrupts_and_the_state_survives"]),
        Real(&["a_limit_interrupts_and_the_state_survives"]),
    ),
    (
        "a limit is for the whole call, neither for waiting nor for the start",
        Decided(&["a_limit_is_for_the_whole_call_and_neither_for_waiting_nor_for_the_start"]),
        Decided(&["a_limit_is_for_the_whole_call_and_neither_for_waiting_nor_for_the_start"]),
    ),
    (
        "code that does not stop within the grace is killed and replaced where that is the rule",
        Real(&["code_that_does_not_stop_is_killed_where_that_is_the_rule"]),
        Real(&["code_that_does_not_stop_is_killed_where_that_is_the_rule"]),
    ),
    (
        "a cancel interrupts, and the state survives",
        Real(&["a_cancel_interrupts_and_the_state_survives"]),
        Real(&["a_cancel_interrupts_and_the_state_survives"]),
    ),
    (
        "an interrupt never kills; force and a restart do",
        Real(&[
            "an_interrupt_never_costs_the_state_however_late_the_code_stops",
            "force_and_restart_end_code_that_does_not_stop_and_say_that_the_state_is_lost",
        ]),
        Real(&[
            "an_interrupt_never_costs_the_state_however_late_the_code_stops",
            "force_and_restart_end_code_that_does_not_stop_and_say_that_the_state_is_lost",
        ]),
    ),
    (
        "a call that is cancelled in the queue never runs",
        Real(&["a_call_that_is_cancelled_in_the_queue_never_runs"]),
        Real(&["a_call_that_is_cancelled_in_the_queue_never_runs"]),
    ),
    (
        "a run that was handed over has only its caller's limit",
        Decided(&["a_call_that_was_handed_over_has_no_limit_but_its_callers"]),
        Decided(&["a_call_that_was_handed_over_has_no_limit_but_its_callers"]),
    ),
    (
        "input() fails at once",
        Real(&["input_fails_at_once_and_says_so"]),
        Real(&["input_fails_at_once_and_says_so"]),
    ),
    (
        "where no file can be opened, idle sessions make room and the start is tried again",
        Real(&["where_no_file_can_be_opened_idle_kernels_make_room"]),
        Real(&["where_no_file_can_be_opened_idle_kernels_make_room"]),
    ),
    (
        "a session that an earlier host had says that its state is gone",
        Decided(&["a_session_that_an_earlier_host_knew_says_that_its_state_is_gone"]),
        Decided(&["a_session_that_an_earlier_host_knew_says_that_its_state_is_gone"]),
    ),
    (
        "code finds the file of its session",
        Real(&["code_finds_the_file_of_its_session_and_the_folder_of_the_artifacts"]),
        Real(&["code_finds_the_file_of_its_session_and_the_folder_of_the_artifacts"]),
    ),
    (
        "restarts and ends leave no process",
        Real(&["a_restart_and_a_stop_end_what_runs_and_leave_no_process"]),
        Real(&["a_restart_and_a_stop_end_what_runs_and_leave_no_process"]),
    ),
];

#[test]
fn every_rule_has_its_tests_on_each_backend() {
    let root = testkit::repo_root().join("crates/session");
    let mut code = String::new();
    read(&root.join("src"), &mut code);
    read(&root.join("tests"), &mut code);
    for (rule, runner, jupyter) in RULES {
        for on in [runner, jupyter] {
            let (Real(tests) | Decided(tests)) = on;
            assert!(!tests.is_empty(), "{rule}");
            for test in *tests {
                assert!(code.contains(&format!("fn {test}()")), "{rule}: there is no test {test}");
            }
        }
    }
}

fn read(folder: &Path, code: &mut String) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            read(&path, code);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            code.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}
