//! A server that breaks the protocol while code runs: the connection ends, and the kernel behind it goes on.

use cellist_kernel::{Death, Event, State, Status};
use testkit::{Flavour, Jupyter};

use crate::gateway::bed::{Bed, target};
use crate::gateway::proxy::{Break, Proxy};
use crate::zmq::bed::{rest, until};

/// The head of a frame of 2⁴⁰ bytes.
const TERABYTE: &[u8] = &[0x82, 127, 0, 0, 1, 0, 0, 0, 0, 0];

#[tokio::test]
async fn a_hostile_frame_ends_its_connection_and_neither_the_code_nor_the_kernel() {
    let server = Jupyter::shared(Flavour::JupyterServer);
    let proxy = Proxy::to(server.address()).await;
    let bed = Bed::new();
    let kernel = bed.start(target(&proxy.url())).await;
    let file = bed.scratch.path().join("enough");
    let code = format!(
        "import os, time\nprint('first', flush=True)\nwhile not os.path.exists({file:?}): time.sleep(0.01)\n6 * 7"
    );
    let (mut execution, _) = kernel.begin_printing(&code).await;
    proxy.cut(Break::Inject(TERABYTE));
    let refused = |event: &Event| matches!(event, Event::OutputRefused { .. });
    let ran = until(&mut execution, refused).await;
    let Some(Event::OutputRefused { what }) = ran.0.last() else { panic!("{ran:?}") };
    let expected = format!("a frame of 1 TiB, where at most 512 MiB are taken, over {}", proxy.url());
    assert_eq!(*what, expected);
    std::fs::write(&file, "").unwrap();
    let ran = rest(&mut execution).await;
    assert_eq!((ran.status(), ran.result()), (Status::Ok, Some("42")), "{ran:?}");
    assert_eq!(kernel.run("1 + 1").await.result(), Some("2"));
    kernel.end().await;
}

#[tokio::test]
async fn a_server_that_goes_on_with_it_is_given_up() {
    let server = Jupyter::shared(Flavour::JupyterServer);
    let proxy = Proxy::to(server.address()).await;
    let bed = Bed::new();
    let kernel = bed.start(target(&proxy.url())).await;
    let (mut execution, _) =
        kernel.begin_printing("import time; print('first', flush=True); time.sleep(600)").await;
    // Reserved bits, a masked frame, and a ping of 2⁴⁰ bytes.
    for (at, bytes) in
        [&[0xf2, 0][..], &[0x82, 0x85], &[0x89, 127, 0, 0, 1, 0, 0, 0, 0, 0]].into_iter().enumerate()
    {
        proxy.cut(Break::Inject(bytes));
        let ran = until(&mut execution, |event| matches!(event, Event::OutputRefused { .. })).await;
        match ran.0.last() {
            Some(Event::OutputRefused { .. }) if at < 2 => {}
            Some(Event::Died(Death::Refused(what))) if at == 2 => {
                assert!(what.starts_with("a control frame that is too long"), "{what}");
            }
            other => panic!("{at}: {other:?}"),
        }
    }
    assert!(matches!(*kernel.kernel.state().borrow(), State::Dead(Death::Refused(_))));
    kernel.end().await;
}
