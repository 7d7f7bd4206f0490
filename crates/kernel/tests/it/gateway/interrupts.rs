//! Interrupts on each kind of server, of each kind of code.

use cellist_kernel::gateway::Target;
use cellist_kernel::{Event, Status};
use testkit::{Flavour, Jupyter};

use super::bed::{Bed, target};
use crate::zmq::bed::{rest, until};

/// Programs that keep a kernel busy. Each prints first that it runs.
const BUSY: [(&str, &str); 4] = [
    ("a loop in Python", "while True: pass"),
    ("a sleep", "import time\ntime.sleep(600)"),
    ("a call of C", "import ctypes\nctypes.CDLL(None).pause()\nwhile True: pass"),
    ("an await", "import asyncio\nawait asyncio.sleep(600)"),
];

#[tokio::test]
async fn every_kind_of_code_is_interrupted_on_every_kind_of_server() {
    // All of them before anything waits: starting one keeps this thread.
    let flavours = [Flavour::KernelGateway, Flavour::JupyterServer, Flavour::EnterpriseGateway];
    let servers = flavours.map(|flavour| (flavour, Jupyter::shared(flavour)));
    let on_each = servers.into_iter().map(|(flavour, server)| async move {
        let bed = Bed::new();
        let variables = vec![("KERNEL_USERNAME".to_owned(), "ann".to_owned())];
        let kernel = bed.start(Target { variables, ..target(&server.url()) }).await;
        kernel.run("x = 7").await;
        for (what, code) in BUSY {
            let mut busy = kernel.begin(&format!("print('now', flush=True)\n{code}")).await;
            until(&mut busy, |event| matches!(event, Event::Stream { .. })).await;
            kernel.kernel.interrupt(busy.id).await.unwrap();
            let ran = rest(&mut busy).await;
            assert!(ran.outcome().cancelled, "{flavour:?}, {what}: {ran:?}");
            assert_ne!(ran.status(), Status::Ok, "{flavour:?}, {what}");
            assert_eq!(kernel.run("x").await.result(), Some("7"), "{flavour:?}, {what}");
        }
        kernel.end().await;
    });
    futures_util::future::join_all(on_each).await;
}
