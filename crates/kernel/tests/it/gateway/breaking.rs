//! Connections that break while code runs.

use std::time::{Duration, Instant};

use cellist_kernel::{Death, Event, State, Status};
use serde_json::Value;
use testkit::{Flavour, Jupyter};

use super::bed::{Bed, target};
use super::proxy::{Break, Proxy};
use crate::zmq::bed::{LONG, rest, until};

/// Prints numbers until a file appears, then some more.
fn printing(file: &std::path::Path) -> String {
    format!(
        "import os, time\nnumber = 0\nstop = None\nwhile stop is None or number < stop:\n    \
         print(number)\n    number += 1\n    time.sleep(0.005)\n    \
         if stop is None and os.path.exists({file:?}): stop = number + 100\nnumber"
    )
}

/// Waits until a server says this of a kernel.
async fn told(server: &Jupyter, id: &str, is_so: impl Fn(&Value) -> bool) {
    let until = Instant::now() + LONG;
    loop {
        let (status, body) = server.ask("GET", &format!("/api/kernels/{id}"), "");
        let kernel: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(status, 200, "{kernel}");
        if is_so(&kernel) {
            return;
        }
        assert!(Instant::now() < until, "{kernel}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_connection_that_breaks_while_a_cell_prints_loses_no_line_and_not_the_reply() {
    for flavour in [Flavour::KernelGateway, Flavour::JupyterServer] {
        let server = Jupyter::shared(flavour);
        let proxy = Proxy::to(server.address()).await;
        let bed = Bed::new();
        let kernel = bed.start(target(&proxy.url())).await;
        let file = bed.scratch.path().join("enough");
        let (mut execution, before) = kernel.begin_printing(&printing(&file)).await;
        let mut all = before.stdout();
        for _ in 0..3 {
            proxy.cut(Break::Gently);
            // More of it comes over a new connection.
            let more = until(&mut execution, |event| matches!(event, Event::Stream { .. })).await;
            all.push_str(&more.stdout());
        }
        std::fs::write(&file, "").unwrap();
        let ran = rest(&mut execution).await;
        all.push_str(&ran.stdout());
        let found: Vec<u64> = all.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(found, (0..found.len() as u64).collect::<Vec<_>>());
        assert_eq!(ran.result(), Some(found.len().to_string().as_str()));
        assert_eq!(ran.status(), Status::Ok);
        assert!(!ran.0.contains(&Event::OutputLost), "{:?}", ran.0.len());
        let lines = bed.lines.lock().unwrap().clone();
        let breaks = lines.iter().filter(|line| line.starts_with("! the connection broke")).count();
        assert!(breaks >= 3, "{breaks}");
        assert_eq!(kernel.run("number").await.result(), Some(found.len().to_string().as_str()));
        kernel.end().await;
    }
}

#[tokio::test]
async fn output_that_went_down_with_a_connection_is_said_to_be_lost() {
    let server = Jupyter::shared(Flavour::KernelGateway);
    let proxy = Proxy::to(server.address()).await;
    let bed = Bed::new();
    let kernel = bed.start(target(&proxy.url())).await;
    let file = bed.scratch.path().join("enough");
    let code = format!("print('first', flush=True)\n{}", printing(&file));
    let (mut execution, _) = kernel.begin_printing(&code).await;
    proxy.cut(Break::Swallow);
    // More than one message.
    proxy.until_swallowed(5000).await;
    proxy.cut(Break::AtOnce);
    until(&mut execution, |event| matches!(event, Event::Stream { .. })).await;
    std::fs::write(&file, "").unwrap();
    let ran = rest(&mut execution).await;
    let lines = bed.lines.lock().unwrap().clone();
    assert!(ran.0.contains(&Event::OutputLost), "{} bytes after {lines:#?}", ran.stdout().len());
    assert_eq!(ran.status(), Status::Ok);
    assert_eq!(*kernel.kernel.state().borrow(), State::Idle);
    kernel.end().await;
}

#[tokio::test]
async fn a_kernel_that_ran_to_its_end_meanwhile_is_heard_afterwards() {
    let server = Jupyter::shared(Flavour::KernelGateway);
    let proxy = Proxy::to(server.address()).await;
    let bed = Bed::new();
    let kernel = bed.start(target(&proxy.url())).await;
    let [id] = bed.noted().try_into().unwrap();
    for turn in 0..5 {
        let file = bed.scratch.path().join(format!("go {turn}"));
        let code = format!(
            "print('a\\n', end='', flush=True)\nimport os, time\n\
             while not os.path.exists({file:?}): time.sleep(0.005)\nprint('b')\n1"
        );
        let (mut execution, _) = kernel.begin_printing(&code).await;
        proxy.set_open(false);
        proxy.cut(Break::Gently);
        // The server alone knows from when on it keeps the kernel's messages.
        told(&server, &id, |kernel| kernel["connections"] == 0).await;
        std::fs::write(&file, "").unwrap();
        told(&server, &id, |kernel| kernel["execution_state"] == "idle").await;
        proxy.set_open(true);
        let ran = rest(&mut execution).await;
        assert_eq!((ran.stdout().as_str(), ran.result()), ("b\n", Some("1")), "{turn}");
    }
    // Between two cells, too.
    proxy.cut(Break::AtOnce);
    assert_eq!(kernel.run("6 * 7").await.result(), Some("42"));
    kernel.end().await;
}

#[tokio::test]
async fn a_kernel_that_someone_else_ends_is_gone_at_once() {
    let server = Jupyter::shared(Flavour::JupyterServer);
    let bed = Bed::new();
    let kernel = bed.on(&server).await;
    let (mut execution, _) = kernel.begin_printing("print(1)\nimport time; time.sleep(300)").await;
    let [id] = bed.noted().try_into().unwrap();
    let ended =
        tokio::task::spawn_blocking(move || server.ask("DELETE", &format!("/api/kernels/{id}"), "").0);
    let ran = rest(&mut execution).await;
    assert!(matches!(ran.0.last(), Some(Event::Died(Death::Removed | Death::Restarted))), "{ran:?}");
    assert_eq!(ended.await.unwrap(), 204);
    kernel.end().await;
}

#[tokio::test]
async fn a_gateway_that_dies_while_code_runs_ends_it_in_bounded_time() {
    let mut server = Jupyter::start(Flavour::KernelGateway, &[]);
    let bed = Bed::new();
    let kernel = bed.on(&server).await;
    let (mut execution, _) = kernel.begin_printing("print(1)\nimport time; time.sleep(300)").await;
    server.kill();
    let ran = rest(&mut execution).await;
    assert!(matches!(ran.0.last(), Some(Event::Died(Death::OutOfReach(_)))), "{ran:?}");
    assert!(matches!(*kernel.kernel.state().borrow(), State::Dead(Death::OutOfReach(_))));
    // A kernel that could not be ended is left to the next client there.
    kernel.end().await;
    assert_eq!(bed.noted().len(), 1);
    let refused = bed.try_start(target(&server.url())).await.err().unwrap();
    assert!(refused.to_string().contains("cannot be reached: connection refused"), "{refused}");
}
