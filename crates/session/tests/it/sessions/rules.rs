//! The rules of sessions, each with its tests on each backend.

use std::fs;
use std::path::Path;

enum On {
    /// Tests with real kernels.
    Real(&'static [&'static str]),
    /// Decided before a kernel is involved; tested without one.
    Decided(&'static [&'static str]),
}

use On::{Decided, Real};

/// Rule, tests on the runner, tests on Jupyter.
const RULES: &[(&str, On, On)] = &[
    (
        "state stays in a session by its name and folder",
        Real(&["state_stays_from_one_call_to_the_next_and_goes_with_a_reset"]),
        Real(&["state_stays_from_one_call_to_the_next_and_goes_with_a_reset"]),
    ),
    (
        "sessions are distinguished by name and folder",
        Decided(&["sessions_are_distinguished_by_name_and_folder"]),
        Decided(&["sessions_are_distinguished_by_name_and_folder"]),
    ),
    (
        "a kernel for one call goes after it: done, failed, timed out, cancelled, dead",
        Real(&["a_kernel_for_one_call_is_gone_after_any_outcome"]),
        Real(&["a_kernel_for_one_call_is_gone_after_any_outcome"]),
    ),
    (
        "one after the other, in order",
        Real(&["fifty_callers_at_once_run_in_the_order_in_which_they_came"]),
        Real(&["fifty_callers_at_once_run_in_the_order_in_which_they_came"]),
    ),
    (
        "sessions run beside each other",
        Real(&["disturbed_sessions_answer_every_call_and_leave_no_process"]),
        Decided(&["sessions_do_not_wait_for_each_other"]),
    ),
    (
        "a shared kernel ends when the last owner leaves",
        Decided(&[
            "a_shared_session_ends_when_the_last_of_its_owners_leaves",
            "calls_of_an_owner_that_left_run_to_their_end",
        ]),
        Decided(&[
            "a_shared_session_ends_when_the_last_of_its_owners_leaves",
            "calls_of_an_owner_that_left_run_to_their_end",
        ]),
    ),
    (
        "the least recently used idle session makes room, never a busy one",
        Real(&["the_least_recently_used_idle_kernel_makes_room_and_a_busy_one_never"]),
        Real(&["the_least_recently_used_idle_kernel_makes_room_and_a_busy_one_never"]),
    ),
    (
        "an unused session ends after its idle time, by a paused clock",
        Decided(&["unused_sessions_end_after_five_minutes_and_busy_or_owned_ones_stay"]),
        Decided(&["unused_sessions_end_after_five_minutes_and_busy_or_owned_ones_stay"]),
    ),
    (
        "an unused session ends with its process",
        Real(&["a_kernel_that_nobody_uses_ends_and_one_with_an_owner_stays"]),
        Real(&["a_kernel_that_nobody_uses_ends_and_one_with_an_owner_stays"]),
    ),
    (
        "a kernel that does not answer is not ended",
        Decided(&["a_kernel_that_does_not_answer_is_not_ended"]),
        Decided(&["a_kernel_that_does_not_answer_is_not_ended"]),
    ),
    (
        "a heartbeat does not disturb the kernel",
        Real(&["heartbeats_lose_no_output_of_threads"]),
        Real(&["heartbeats_lose_no_output_of_threads"]),
    ),
    (
        "a kernel dead before a run is replaced, and the result says why",
        Real(&["a_kernel_that_died_between_two_runs_is_replaced"]),
        Real(&["a_kernel_that_died_between_two_runs_is_replaced"]),
    ),
    (
        "a kernel that dies during a run: retried if no earlier state is lost",
        Real(&["code_without_earlier_state_is_retried_when_its_kernel_dies"]),
        Real(&["code_without_earlier_state_is_retried_when_its_kernel_dies"]),
    ),
    (
        "a kernel that dies during a run: not retried if earlier state is lost",
        Real(&["code_with_earlier_state_is_retried_only_on_request"]),
        Real(&["code_with_earlier_state_is_retried_only_on_request"]),
    ),
    (
        "a kernel that dies twice fails the run; a finished run clears the count",
        Real(&["a_kernel_that_dies_twice_fails_the_run", "code_without_earlier_state_is_retried_once"]),
        Real(&["a_kernel_that_dies_twice_fails_the_run", "code_without_earlier_state_is_retried_once"]),
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
        Decided(&["a_limit_covers_the_whole_call_without_queue_and_start"]),
        Decided(&["a_limit_covers_the_whole_call_without_queue_and_start"]),
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
            "an_interrupt_keeps_the_state_even_if_the_code_stops_late",
            "force_and_restart_end_code_that_does_not_stop_and_say_that_the_state_is_lost",
        ]),
        Real(&[
            "an_interrupt_keeps_the_state_even_if_the_code_stops_late",
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
        Decided(&["a_detached_call_keeps_only_its_callers_limit"]),
        Decided(&["a_detached_call_keeps_only_its_callers_limit"]),
    ),
    (
        "input() fails at once",
        Real(&["input_fails_at_once_and_says_so"]),
        Real(&["input_fails_at_once_and_says_so"]),
    ),
    (
        "without file descriptors, idle sessions make room and the start is retried",
        Real(&["without_file_descriptors_idle_kernels_make_room"]),
        Real(&["without_file_descriptors_idle_kernels_make_room"]),
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
        Real(&["restart_and_stop_end_running_code_and_leave_no_process"]),
        Real(&["restart_and_stop_end_running_code_and_leave_no_process"]),
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
