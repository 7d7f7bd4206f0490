//! Every sentence said about output, in one place. Notices that stand in a text are in square brackets.

use crate::sink::{LineRange, Truncation};

/// Stands between the head and the tail of a text that was cut.
pub const GAP: &str = "[…]";

/// Where an artifact is read.
pub fn artifact(id: &str) -> String {
    format!("artifact://{id}")
}

/// The last line of a text that was cut: how much is shown, which lines, and where the whole is.
pub fn truncated(cut: &Truncation, artifact_id: Option<&str>) -> String {
    let Truncation { total_lines, shown_lines, total_bytes, shown_bytes, .. } = cut;
    let mut notice = format!(
        "[Output cut: {shown_lines} of {total_lines} lines and {shown_bytes} of {total_bytes} bytes are shown"
    );
    let named = |range: LineRange| match range.first == range.last {
        true => format!("line {range}"),
        false => format!("lines {range}"),
    };
    match (cut.head, cut.tail) {
        (Some(head), Some(tail)) if head == tail => {
            notice.push_str(&format!(", the ends of line {head}"));
        }
        (Some(head), Some(tail)) if head.last == tail.first => {
            let both = LineRange { first: head.first, last: tail.last };
            notice.push_str(&format!(", {}, of line {} only its ends", named(both), head.last));
        }
        (Some(head), Some(tail)) => notice.push_str(&format!(", {} and {tail}", named(head))),
        (Some(only), None) | (None, Some(only)) => notice.push_str(&format!(", {}", named(only))),
        (None, None) => {}
    }
    match artifact_id {
        Some(id) => notice.push_str(&format!(". All of it: {}]", artifact(id))),
        None => notice.push_str(".]"),
    }
    notice
}

/// Stands in a list of outputs where some were left out.
pub fn left_out(bytes: u64, artifact_id: Option<&str>) -> String {
    let bytes = counted(bytes, "byte");
    match artifact_id {
        Some(id) => format!("[{bytes} of output left out here. All of it: {}]\n", artifact(id)),
        None => format!("[{bytes} of output left out here]\n"),
    }
}

/// Stands in a traceback for frames of libraries.
pub fn frames_hidden(count: usize, libraries: &str) -> String {
    format!("[{} in {libraries} hidden]", counted(count as u64, "frame"))
}

/// Stands in a traceback for an earlier exception in libraries whose message is that of the last one.
pub fn same_exception(count: usize, libraries: &str) -> String {
    format!(
        "[an earlier exception with the same message hidden: {} in {libraries}]",
        counted(count as u64, "frame")
    )
}

/// Stands in a traceback for frames that are like the one before.
pub fn frames_repeated(count: usize) -> String {
    format!("[the same frame {count} more times]")
}

/// Points to the artifact of a text that was not cut.
pub fn kept_in(artifact_id: &str) -> String {
    format!("[All output: {}]", artifact(artifact_id))
}

/// An output that no artifact could be made of.
pub fn not_kept(why: &str) -> String {
    format!("[The whole output could not be kept: {why}.]")
}

/// An output that an artifact holds the beginning of.
pub fn partly_kept(bytes: u64, why: &str) -> String {
    format!("[Only the first {} of the output could be kept: {why}.]", counted(bytes, "byte"))
}

/// Above a preview that shows only the end.
pub fn hidden_lines(count: u64, key: &str) -> String {
    format!("… {} hidden ({key} shows all)", counted(count, "earlier line"))
}

/// Stands for an image where only text can be shown.
pub fn image(mime: &str, bytes: usize) -> String {
    format!("[{mime} image, {}]", counted(bytes as u64, "byte"))
}

/// Stands for a picture that terminals do not show.
pub fn unshown_image(mime: &str, bytes: usize) -> String {
    format!("[{mime} image, {}: not shown in a terminal]", counted(bytes as u64, "byte"))
}

/// Stands for data within a text.
pub fn data_left_out(bytes: usize) -> String {
    format!("[{}]", counted(bytes as u64, "byte"))
}

/// Stands for a display that has no form a reader could take in.
pub fn no_text(mime: &str) -> String {
    format!("[{mime} output without a text form]")
}

/// An exception without traceback.
pub fn raised(name: &str, message: &str) -> String {
    // Some kernels name no exception.
    let name = if name.is_empty() { "Error" } else { name };
    if message.is_empty() { name.to_owned() } else { format!("{name}: {message}") }
}

/// A run that reached its time limit.
pub fn timed_out(seconds: u64) -> String {
    format!("Command timed out after {seconds} seconds")
}

/// A run that its caller cancelled.
pub fn cancelled() -> String {
    "Execution was cancelled".to_owned()
}

/// A call that was cancelled while others were before it.
pub fn cancelled_in_queue() -> String {
    "Cancelled while waiting in the queue; the code did not run".to_owned()
}

/// Code that asked for a line of input.
pub fn input_unsupported() -> String {
    "input() is not supported here: nobody can answer. Put the value into the code instead.".to_owned()
}

/// A failed run that left the kernel as it was.
pub fn state_kept() -> String {
    "The kernel's state was kept.".to_owned()
}

/// A failed run that took the kernel with it.
pub fn state_lost() -> String {
    "The kernel's state was lost: variables and imports are gone.".to_owned()
}

/// Code that was interrupted and runs on.
pub fn not_stopped(execution: &str) -> String {
    format!("Not stopped yet: still running as execution {execution}.")
}

/// Code that runs on after an interrupt, on a kernel that was not killed.
pub fn state_unknown() -> String {
    "The kernel was not killed; its state is known when the code has stopped.".to_owned()
}

/// How a kernel process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Death {
    /// It exited by itself.
    Exit(i32),
    /// A signal ended it, by name, such as `SIGSEGV`.
    Signal(String),
    /// The system ended it for want of memory.
    OutOfMemory,
    /// Something of the kind happened behind its gateway, which started it anew by itself.
    Restarted,
    /// Another program ended it.
    Removed,
    /// Its gateway cannot be reached any more, for this reason.
    OutOfReach(String),
    /// Its connection was ended, because it sent this.
    Refused(String),
    /// Not known.
    Unknown,
}

/// Output that was too large to be taken.
pub fn output_refused(what: &str) -> String {
    format!("Output was left out: the kernel sent {what}. Write data of this size to a file.")
}

/// A kernel that died.
pub fn kernel_died(death: &Death) -> String {
    match death {
        Death::Exit(code) => format!("The kernel died: it exited with code {code}."),
        Death::Signal(name) => format!("The kernel died: it was ended by {name}."),
        Death::OutOfMemory => "The kernel died: it ran out of memory.".to_owned(),
        Death::Restarted => "The kernel died, and its gateway started it anew.".to_owned(),
        Death::Removed => "The kernel is gone: another program ended it.".to_owned(),
        Death::OutOfReach(why) => format!("The kernel is lost: its gateway cannot be reached ({why})."),
        Death::Refused(what) => {
            format!("The kernel is lost: its connection was ended, because it sent {what}.")
        }
        Death::Unknown => "The kernel died.".to_owned(),
    }
}

/// A run on a kernel that is new since the session's last result.
pub fn new_kernel(why: &str) -> String {
    format!("[New kernel: {why}. Earlier state is gone.]")
}

/// Code that was run once more because the kernel died during its first run.
pub fn retried() -> String {
    "[The kernel died and was restarted; the code was run a second time.]".to_owned()
}

/// A kernel that died again after its restart.
pub fn restarted_too_often() -> String {
    "Python kernel restarted too many times in this session".to_owned()
}

/// A kernel or a command that was killed because it ignored an interrupt.
pub fn killed_after_interrupt(what: &str, grace_seconds: u64) -> String {
    let grace = counted(grace_seconds, "second");
    format!("The {what} did not stop within {grace} of the interrupt and was killed.")
}

/// A kernel or a command that was killed because the caller asked a second time to stop it.
pub fn killed_when_asked_twice(what: &str) -> String {
    format!("The {what} was asked to stop a second time and was killed.")
}

/// A run that was ended by a restart of its kernel.
pub fn restarted_meanwhile() -> String {
    "The run was ended: a restart of its kernel was requested.".to_owned()
}

/// A run that was ended with its session.
pub fn stopped_meanwhile() -> String {
    "The run was ended: the end of its session was requested.".to_owned()
}

/// Before output that came after its execution had ended.
pub fn late_output() -> String {
    "[Output that came after the cell had ended:]".to_owned()
}

/// Output that was lost on its way, where that can be known.
pub fn output_lost() -> String {
    "[Some output was lost between the kernel and here.]".to_owned()
}

/// Output that a kernel may have had to say when it died.
pub fn last_output_lost() -> String {
    "[Output from just before the kernel died may be missing.]".to_owned()
}

/// A run that goes on after its caller was answered.
pub fn still_running(execution: &str) -> String {
    format!("[Still running as execution {execution}.]")
}

/// A call of several cells that one of them ended; `number` counts from 1, and `how` says how the cell ended.
pub fn cell_ended_call(number: usize, count: usize, title: Option<&str>, how: &str) -> String {
    let title = title.map(|title| format!(" ({title})")).unwrap_or_default();
    let mut notice = format!("Cell {number} of {count}{title} {how}.");
    match count.saturating_sub(number) {
        0 => {}
        1 => notice.push_str(" The cell after it was not run."),
        later => notice.push_str(&format!(" The {later} cells after it were not run.")),
    }
    notice
}

/// A run that printed and returned nothing.
pub fn no_output() -> String {
    "[No output]".to_owned()
}

fn counted(count: u64, unit: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_says_how_much_is_shown_and_where_the_rest_is() {
        let mut cut = Truncation {
            total_lines: 10_000,
            shown_lines: 2000,
            total_bytes: 88_894,
            shown_bytes: 17_880,
            head: Some(LineRange { first: 1, last: 160 }),
            tail: Some(LineRange { first: 8161, last: 10_000 }),
        };
        assert_eq!(
            truncated(&cut, Some("7f3a")),
            "[Output cut: 2000 of 10000 lines and 17880 of 88894 bytes are shown, lines 1-160 and 8161-10000. \
             All of it: artifact://7f3a]"
        );
        cut.head = None;
        cut.tail = Some(LineRange { first: 10_000, last: 10_000 });
        assert_eq!(
            truncated(&cut, None),
            "[Output cut: 2000 of 10000 lines and 17880 of 88894 bytes are shown, line 10000.]"
        );
        cut.head = Some(LineRange { first: 9999, last: 10_000 });
        assert_eq!(
            truncated(&cut, None),
            "[Output cut: 2000 of 10000 lines and 17880 of 88894 bytes are shown, lines 9999-10000, \
             of line 10000 only its ends.]"
        );
    }

    #[test]
    fn every_other_sentence_reads_as_it_should() {
        let said = [
            (artifact("7"), "artifact://7"),
            (left_out(12, None), "[12 bytes of output left out here]\n"),
            (left_out(1, Some("7")), "[1 byte of output left out here. All of it: artifact://7]\n"),
            (frames_hidden(1, "json"), "[1 frame in json hidden]"),
            (
                same_exception(5, "pandas"),
                "[an earlier exception with the same message hidden: 5 frames in pandas]",
            ),
            (frames_repeated(39), "[the same frame 39 more times]"),
            (kept_in("7"), "[All output: artifact://7]"),
            (not_kept("the disk is full"), "[The whole output could not be kept: the disk is full.]"),
            (
                partly_kept(7, "the disk is full"),
                "[Only the first 7 bytes of the output could be kept: the disk is full.]",
            ),
            (hidden_lines(1, "ctrl+o"), "… 1 earlier line hidden (ctrl+o shows all)"),
            (hidden_lines(12, "ctrl+o"), "… 12 earlier lines hidden (ctrl+o shows all)"),
            (image("image/png", 1), "[image/png image, 1 byte]"),
            (data_left_out(300), "[300 bytes]"),
            (no_text("a/b"), "[a/b output without a text form]"),
            (raised("KeyError", "'x'"), "KeyError: 'x'"),
            (raised("KeyboardInterrupt", ""), "KeyboardInterrupt"),
            (raised("", "1"), "Error: 1"),
            (timed_out(30), "Command timed out after 30 seconds"),
            (cancelled(), "Execution was cancelled"),
            (cancelled_in_queue(), "Cancelled while waiting in the queue; the code did not run"),
            (
                input_unsupported(),
                "input() is not supported here: nobody can answer. Put the value into the code instead.",
            ),
            (state_kept(), "The kernel's state was kept."),
            (state_lost(), "The kernel's state was lost: variables and imports are gone."),
            (not_stopped("e4"), "Not stopped yet: still running as execution e4."),
            (state_unknown(), "The kernel was not killed; its state is known when the code has stopped."),
            (kernel_died(&Death::Exit(3)), "The kernel died: it exited with code 3."),
            (kernel_died(&Death::Signal("SIGSEGV".into())), "The kernel died: it was ended by SIGSEGV."),
            (kernel_died(&Death::OutOfMemory), "The kernel died: it ran out of memory."),
            (kernel_died(&Death::Unknown), "The kernel died."),
            (kernel_died(&Death::Restarted), "The kernel died, and its gateway started it anew."),
            (kernel_died(&Death::Removed), "The kernel is gone: another program ended it."),
            (
                kernel_died(&Death::OutOfReach("connection refused".into())),
                "The kernel is lost: its gateway cannot be reached (connection refused).",
            ),
            (
                new_kernel("the last one was idle for 5 minutes"),
                "[New kernel: the last one was idle for 5 minutes. Earlier state is gone.]",
            ),
            (retried(), "[The kernel died and was restarted; the code was run a second time.]"),
            (restarted_too_often(), "Python kernel restarted too many times in this session"),
            (
                killed_after_interrupt("kernel", 5),
                "The kernel did not stop within 5 seconds of the interrupt and was killed.",
            ),
            (
                killed_when_asked_twice("command"),
                "The command was asked to stop a second time and was killed.",
            ),
            (restarted_meanwhile(), "The run was ended: a restart of its kernel was requested."),
            (stopped_meanwhile(), "The run was ended: the end of its session was requested."),
            (late_output(), "[Output that came after the cell had ended:]"),
            (output_lost(), "[Some output was lost between the kernel and here.]"),
            (last_output_lost(), "[Output from just before the kernel died may be missing.]"),
            (still_running("e4"), "[Still running as execution e4.]"),
            (cell_ended_call(1, 1, None, "failed"), "Cell 1 of 1 failed."),
            (
                cell_ended_call(2, 3, Some("load"), "was interrupted"),
                "Cell 2 of 3 (load) was interrupted. The cell after it was not run.",
            ),
            (cell_ended_call(1, 4, None, "failed"), "Cell 1 of 4 failed. The 3 cells after it were not run."),
            (no_output(), "[No output]"),
        ];
        for (sentence, expected) in said {
            assert_eq!(sentence, expected);
        }
    }
}
