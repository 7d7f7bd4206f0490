use serde_json::json;

use super::desk::{BOTH, Desk, execution, waits_for};

#[tokio::test]
async fn a_run_is_handed_over_after_the_soft_wait() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        let signal = desk.signal("go");
        let code = format!("print('begun', flush=True)\n{}print('done')", waits_for(&signal));
        let handed = desk.told("python", json!({ "code": code, "soft_wait": 0 })).await;
        assert!(handed.starts_with("Still running as execution "), "{handed}");
        let id = execution(&handed);
        let still = desk.told("wait", json!({ "execution": id, "timeout": 0 })).await;
        assert!(still.contains(&format!("Still running as execution {id}")), "{still}");
        let status = desk.told("notebook_kernel", json!({ "session": "robot-1", "action": "status" })).await;
        assert!(status.contains(&format!("execution {id} ")), "{status}");
        std::fs::write(&signal, "").unwrap();
        let told = desk.told("wait", json!({ "execution": id, "timeout": 100 })).await;
        assert!(told.contains("begun\ndone\n"), "{told}");
        // The reply stays readable.
        assert_eq!(desk.told("wait", json!({ "execution": id.to_uppercase() })).await, told);
        let unknown = desk.refused("wait", json!({ "execution": "nothing" })).await;
        assert!(unknown.contains("unknown execution nothing"), "{unknown}");
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn a_cancel_before_the_hand_over_interrupts_the_run() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        desk.told("python", json!({ "code": "x = 5" })).await;
        let code = format!("print('begun', flush=True)\n{}", waits_for(&desk.signal("never")));
        let mut calling = desk.start("python", json!({ "code": code, "soft_wait": 600 }));
        calling.until(|progress| progress.message == "begun").await;
        calling.canceller.cancel();
        let answer = calling.answer().await;
        let text = answer.all_text();
        assert!(answer.is_failure && text.starts_with("Error: Execution was cancelled\n"), "{text}");
        assert!(text.contains("begun") && text.contains("state was kept"), "{text}");
        assert!(desk.told("python", json!({ "code": "x" })).await.starts_with("5\n"));
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn after_the_hand_over_only_an_interrupt_stops_the_run() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        let code = format!("x = 6\nprint('begun', flush=True)\n{}", waits_for(&desk.signal("never")));
        let calling = desk.start("python", json!({ "code": code, "soft_wait": 0 }));
        let canceller = calling.canceller.clone();
        let id = execution(&calling.answer().await.all_text());
        canceller.cancel();
        let mut waiting = desk.start("wait", json!({ "execution": id, "timeout": 600 }));
        waiting.until(|progress| progress.message == "begun").await;
        // A caller that stops waiting does not stop it either.
        waiting.canceller.cancel();
        let still = waiting.answer().await.all_text();
        assert!(still.starts_with("Still running") && still.contains("begun"), "{still}");
        let stopped = desk.told("notebook_kernel", json!({ "execution": id, "action": "interrupt" })).await;
        assert!(stopped.starts_with(&format!("Execution {id} was interrupted.\n")), "{stopped}");
        assert!(stopped.contains("state was kept"), "{stopped}");
        let told = desk.refused("wait", json!({ "execution": id })).await;
        assert!(told.starts_with("Error: Execution was cancelled"), "{told}");
        assert!(desk.told("python", json!({ "code": "x" })).await.starts_with("6\n"));
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn a_timeout_stops_code_and_is_reported() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        let code = waits_for(&desk.signal("never"));
        let text = desk.refused("python", json!({ "code": code, "timeout": 1 })).await;
        assert!(text.starts_with("Error: Command timed out after 1 seconds\n"), "{text}");
        assert!(text.contains("state was kept"), "{text}");
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn two_sessions_run_at_the_same_time() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        let (one, two) = (desk.signal("one"), desk.signal("two"));
        let code = |mine: &std::path::Path, other: &std::path::Path| {
            format!("open({mine:?}, 'w').close()\n{}print('met')", waits_for(other))
        };
        let first = desk.start(
            "python",
            json!({ "code": code(&one, &two), "session": "a", "soft_wait": 600, "timeout": 600 }),
        );
        let second = desk.start(
            "python",
            json!({ "code": code(&two, &one), "session": "b", "soft_wait": 600, "timeout": 600 }),
        );
        let (first, second) = (first.answer().await.all_text(), second.answer().await.all_text());
        assert!(first.ends_with("met\nsession a") && second.ends_with("met\nsession b"), "{first}\n{second}");
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn progress_bars_become_progress() {
    for (backend, import) in [
        ("runner", "from tqdm import tqdm"),
        ("jupyter", "from tqdm import tqdm"),
        ("jupyter", "from tqdm.auto import tqdm"),
    ] {
        let desk = Desk::new(backend);
        let signal = desk.signal("go");
        let code = format!(
            "{import}\nimport sys\nfor step in tqdm(range(40), desc='work', mininterval=0):\n    if step == 30:\n        {}",
            waits_for(&signal).replace('\n', "\n        ")
        );
        let mut calling = desk.start("python", json!({ "code": code, "soft_wait": 600, "timeout": 600 }));
        let progress = calling.until(|progress| progress.done.is_some_and(|done| done >= 1.0)).await;
        assert_eq!((progress.total, progress.message.contains("work")), (Some(40.0), true), "{progress:?}");
        let status = desk.told("notebook_kernel", json!({ "session": "robot-1", "action": "status" })).await;
        assert!(status.contains(": work ") && status.ends_with("/40"), "{status}");
        std::fs::write(&signal, "").unwrap();
        let answer = calling.answer().await;
        assert!(!answer.is_failure, "{}", answer.all_text());
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn the_status_has_the_progress_of_a_run() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        let signal = desk.signal("go");
        let code = format!("print('half', flush=True)\n{}print('done')", waits_for(&signal));
        desk.bed.notebook("nb.ipynb", &[("a", "x = 1"), ("b", &code)]);
        let run = json!({ "notebook": "nb.ipynb", "soft_wait": 600 });
        let mut calling = desk.start("run_notebook_cells", run);
        calling.until(|progress| progress.message == "cell 1 (2 of 2): half").await;
        let status =
            desk.told("notebook_kernel", json!({ "notebook": "nb.ipynb", "action": "status" })).await;
        assert!(status.starts_with("nb.ipynb: kernel busy · "), "{status}");
        assert!(status.ends_with(" · cells of nb.ipynb: cell 1 (2 of 2): half"), "{status}");
        std::fs::write(&signal, "").unwrap();
        assert!(!calling.answer().await.is_failure);
        desk.bed.close().await;
    }
}
