use serde_json::json;

use super::desk::{BOTH, Desk};

#[tokio::test]
async fn a_restart_loses_the_variables_and_the_next_answer_says_so() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        let none = desk.told("notebook_kernel", json!({ "session": "robot-1", "action": "status" })).await;
        assert_eq!(none, "session robot-1: no kernel yet; the next run starts one.");
        desk.told("python", json!({ "code": "x = 1" })).await;
        let status = desk.told("notebook_kernel", json!({ "session": "robot-1", "action": "status" })).await;
        assert!(status.starts_with(&format!("session robot-1: kernel idle · {backend} ")), "{status}");
        let nothing =
            desk.told("notebook_kernel", json!({ "session": "robot-1", "action": "interrupt" })).await;
        assert_eq!(nothing, "session robot-1: nothing runs.");
        let restarted =
            desk.told("notebook_kernel", json!({ "session": "robot-1", "action": "restart" })).await;
        assert!(restarted.contains("variables and imports are gone"), "{restarted}");
        let text = desk.refused("python", json!({ "code": "x" })).await;
        assert!(text.contains("NameError") && text.contains("[New kernel: "), "{text}");
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn a_kernel_that_dies_is_told_with_the_state_that_is_lost() {
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
async fn what_runs_in_a_notebook_is_interrupted_by_its_name() {
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
        assert!(text.contains("Cell 1 was not run."), "{text}");
        let next = desk.told("run_notebook_cells", json!({ "notebook": "nb.ipynb", "cells": ["b"] })).await;
        assert!(next.contains("\n1\n"), "{next}");
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn a_run_that_was_handed_over_is_interrupted_before_its_code_has_begun() {
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
