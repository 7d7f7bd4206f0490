use cellist_session::sessions::SessionKey;
use serde_json::json;

use super::desk::{BOTH, Desk, waits_for};

#[tokio::test]
async fn a_restart_loses_variables_and_the_next_answer_reports_it() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        let none = desk.told("notebook_kernel", json!({ "session": "robot-1", "action": "status" })).await;
        assert_eq!(none, "session robot-1: no kernel yet; the next run starts one.");
        desk.told("python", json!({ "code": "x = 1" })).await;
        let status = desk.told("notebook_kernel", json!({ "session": "robot-1", "action": "status" })).await;
        assert!(status.starts_with(&format!("session robot-1: kernel idle · {backend} ")), "{status}");
        let nothing =
            desk.told("notebook_kernel", json!({ "session": "robot-1", "action": "interrupt" })).await;
        assert_eq!(nothing, "session robot-1: nothing is running.");
        let restarted =
            desk.told("notebook_kernel", json!({ "session": "robot-1", "action": "restart" })).await;
        assert!(restarted.contains("variables and imports are gone"), "{restarted}");
        let text = desk.refused("python", json!({ "code": "x" })).await;
        assert!(text.contains("NameError") && text.contains("[New kernel: "), "{text}");
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn a_dead_kernel_is_reported_with_its_lost_state() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        desk.told("python", json!({ "code": "x = 1" })).await;
        let text = desk.refused("python", json!({ "code": "import os\nos._exit(3)" })).await;
        assert!(
            text.starts_with("Error: DeadKernelError: The kernel died: it exited with code 3."),
            "{text}"
        );
        assert!(text.contains("The kernel's state was lost: variables and imports are gone."), "{text}");
        let after = desk.told("python", json!({ "code": "'x' in globals()" })).await;
        assert!(after.contains("False\n[New kernel: "), "{after}");
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn a_notebook_run_is_interrupted_by_notebook_name() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        let code =
            format!("x = 1\nprint('begun', flush=True)\n{}", super::desk::waits_for(&desk.signal("never")));
        desk.bed.notebook("nb.ipynb", &[("a", &code), ("b", "x")]);
        let mut calling =
            desk.start("run_notebook_cells", json!({ "notebook": "nb.ipynb", "soft_wait": 600 }));
        calling.until(|progress| progress.message == "cell 0 (1 of 2): begun").await;
        let stopped =
            desk.told("notebook_kernel", json!({ "notebook": "nb.ipynb", "action": "interrupt" })).await;
        assert_eq!(stopped, "nb.ipynb: interrupted; the kernel's state was kept.");
        let answer = calling.answer().await;
        let text = answer.all_text();
        assert!(answer.is_failure && text.starts_with("Error: nb.ipynb: cell 0 (a): "), "{text}");
        assert!(text.ends_with("\n1 interrupted: 0; not run: 1"), "{text}");
        let next = desk.told("run_notebook_cells", json!({ "notebook": "nb.ipynb", "cells": ["b"] })).await;
        assert!(next.contains("\n1\n"), "{next}");
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn a_handed_over_run_is_interrupted_before_its_code_starts() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        let code = super::desk::waits_for(&desk.signal("never"));
        desk.bed.notebook("nb.ipynb", &[("a", &code)]);
        for _ in 0..3 {
            let run = json!({ "notebook": "nb.ipynb", "soft_wait": 0 });
            let id = super::desk::execution(&desk.told("run_notebook_cells", run).await);
            let stopped =
                desk.told("notebook_kernel", json!({ "notebook": "nb.ipynb", "action": "interrupt" })).await;
            assert!(stopped.contains("interrupted"), "{stopped}");
            let told = desk.refused("wait", json!({ "execution": id, "timeout": 600 })).await;
            assert!(told.contains("cancelled"), "{told}");
        }
        desk.bed.close().await;
    }
}

/// Code that catches interrupts until a file exists.
fn stubborn(go: &std::path::Path) -> String {
    format!(
        "import os, time\nprint('begun', flush=True)\nwhile True:\n    try:\n        while not \
         os.path.exists({go:?}):\n            time.sleep(0.01)\n        break\n    except \
         KeyboardInterrupt:\n        pass"
    )
}

#[tokio::test]
async fn stubborn_code_keeps_its_name_and_state_until_it_ends_or_is_killed() {
    for backend in BOTH {
        let desk = Desk::with(backend, |caller| {
            caller.environment.set = vec!["python.interrupt_grace=0.2".to_owned()];
        });
        desk.told("python", json!({ "code": "precious = 42" })).await;
        let go = desk.signal("go");
        let code = stubborn(&go);
        let told = desk.refused("python", json!({ "code": code, "timeout": 1, "soft_wait": 600 })).await;
        let id = super::desk::execution(&told);
        assert!(told.contains("Command timed out after 1 seconds"), "{told}");
        assert!(told.contains(&format!("Not stopped yet: still running as execution {id}.")), "{told}");
        assert!(told.contains("The kernel was not killed"), "{told}");

        // A call behind it is refused and does not run.
        let busy = desk.refused("python", json!({ "code": "print(1)", "soft_wait": 0.2 })).await;
        assert!(busy.starts_with(&format!("Error: busy: session robot-1 runs {id},")), "{busy}");
        assert!(busy.contains("this code did not run"), "{busy}");
        let status = desk.told("notebook_kernel", json!({ "session": "robot-1", "action": "status" })).await;
        assert!(status.contains("busy: interrupted, not stopped yet"), "{status}");
        let again = json!({ "execution": id, "action": "interrupt" });
        let again = desk.refused("notebook_kernel", again).await;
        assert!(again.contains(&format!("still running as execution {id}")), "{again}");

        // `wait` returns its result, and the state is kept.
        std::fs::write(&go, "").unwrap();
        let end = desk.refused("wait", json!({ "execution": id, "timeout": 600 })).await;
        assert!(end.contains("Command timed out after 1 seconds"), "{end}");
        assert!(end.contains("The kernel's state was kept."), "{end}");
        let kept = desk.told("python", json!({ "code": "print(precious)" })).await;
        assert!(kept.contains("42"), "{kept}");

        std::fs::remove_file(&go).unwrap();
        let mut calling = desk.start("python", json!({ "code": code, "soft_wait": 600 }));
        calling.until(|progress| progress.message == "begun").await;
        calling.canceller.cancel();
        let answer = calling.answer().await;
        let id = super::desk::execution(&answer.all_text());
        assert!(answer.is_failure && answer.all_text().contains("Not stopped yet"), "{}", answer.all_text());
        let force = json!({ "execution": id, "action": "interrupt", "force": true });
        let killed = desk.told("notebook_kernel", force).await;
        assert!(killed.contains("The kernel's state was lost"), "{killed}");
        let lost = desk.told("python", json!({ "code": "print('precious' in globals())" })).await;
        assert!(lost.contains("False\n[New kernel: "), "{lost}");
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn a_stubborn_cell_is_reported_and_a_restart_ends_it() {
    for backend in BOTH {
        let desk = Desk::with(backend, |caller| {
            caller.environment.set = vec!["python.interrupt_grace=0.2".to_owned()];
        });
        let code = stubborn(&desk.signal("never"));
        desk.bed.notebook("nb.ipynb", &[("a", "precious = 42"), ("b", &code), ("c", "1")]);
        let run = json!({ "notebook": "nb.ipynb", "timeout": 1, "soft_wait": 600 });
        let told = desk.refused("run_notebook_cells", run).await;
        assert!(told.contains("Not stopped yet: still running as execution "), "{told}");
        assert!(told.ends_with("\n1 ok, still running: 1; not run: 2"), "{told}");
        let listed = desk.told("get_notebook_cells", json!({ "notebook": "nb.ipynb" })).await;
        assert!(listed.contains("running"), "{listed}");
        let behind = json!({ "notebook": "nb.ipynb", "cells": ["a", "c"], "soft_wait": 0.2 });
        let busy = desk.refused("run_notebook_cells", behind).await;
        assert!(busy.contains("busy: session ") && busy.ends_with("\nnot run: 0, 2"), "{busy}");
        let restarted =
            desk.told("notebook_kernel", json!({ "notebook": "nb.ipynb", "action": "restart" })).await;
        assert!(restarted.contains("its variables and imports are gone"), "{restarted}");
        let next = desk.told("run_notebook_cells", json!({ "notebook": "nb.ipynb", "cells": ["c"] })).await;
        assert!(next.contains("\n1\n"), "{next}");
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn a_busy_refusal_does_not_hide_the_cells_that_ran() {
    for backend in BOTH {
        let desk = Desk::with(backend, |caller| {
            caller.environment.set = vec!["python.interrupt_grace=0.2".to_owned()];
        });
        let go = desk.signal("go");
        let first = format!("print('first', flush=True)\n{}", waits_for(&go));
        let path = desk.bed.notebook("nb.ipynb", &[("a", &first), ("b", "2"), ("c", "3")]);
        let run = json!({ "notebook": "nb.ipynb", "soft_wait": 600 });
        let mut calling = desk.start("run_notebook_cells", run);
        calling.until(|progress| progress.message == "cell 0 (1 of 3): first").await;
        // Waits in the queue before the second cell, and does not stop when interrupted.
        let session = SessionKey::of_notebook(&path.canonicalize().unwrap()).id;
        let code = stubborn(&desk.signal("never"));
        let mut stuck = desk
            .start("python", json!({ "session": session, "code": code, "timeout": 600, "soft_wait": 600 }));
        stuck.until(|progress| progress.message.starts_with("queued behind 1 ")).await;
        std::fs::write(&go, "").unwrap();
        stuck.until(|progress| progress.message == "begun").await;
        stuck.canceller.cancel();
        let told = stuck.answer().await.all_text();
        assert!(told.contains("Not stopped yet"), "{told}");
        calling
            .until(|progress| progress.message.ends_with("which was interrupted and has not stopped"))
            .await;
        // As at the end of the soft wait.
        calling.canceller.withdraw();
        let answer = calling.answer().await;
        let text = answer.all_text();
        assert!(
            answer.is_failure && text.starts_with("Error: nb.ipynb: cell 1 (b): busy: session "),
            "{text}"
        );
        assert!(text.contains("[0] id=a · ok") && text.contains("\nfirst\n"), "{text}");
        assert!(text.ends_with("\n1 ok, not run: 1–2"), "{text}");
        desk.told("notebook_kernel", json!({ "notebook": "nb.ipynb", "action": "restart" })).await;
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn the_status_has_the_end_of_an_idle_kernel() {
    let desk = Desk::new("runner");
    desk.bed.notebook("nb.ipynb", &[("a", "1")]);
    desk.told("run_notebook_cells", json!({ "notebook": "nb.ipynb", "soft_wait": 600 })).await;
    let status = desk.told("notebook_kernel", json!({ "notebook": "nb.ipynb", "action": "status" })).await;
    let left = status.split(" · ends in ").nth(1).unwrap_or_else(|| panic!("{status}"));
    let minutes = left.strip_suffix(" min unless used").unwrap_or_else(|| panic!("{status}"));
    assert!((1..=60).contains(&minutes.parse::<u32>().unwrap()), "{status}");
    desk.bed.close().await;
}
