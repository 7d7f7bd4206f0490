//! Faults of a gateway: each is reported clearly, in bounded time.

use std::time::Duration;

use cellist_kernel::gateway::{Gateway, Target};
use cellist_kernel::{Error, Event, Status};
use testkit::{Flavour, Jupyter};

use super::bed::{Bed, target};
use super::scripted::Scripted;

const SPECS: (&str, &str) = (
    "200 OK",
    r#"{"default": "python3", "kernelspecs": {"python3": {"name": "python3", "spec": {"language": "python"}}}}"#,
);

async fn refused(bed: &Bed, target: Target) -> (String, Option<String>) {
    let error = bed.try_start(target).await.err().expect("it is refused");
    assert!(matches!(error, Error::Gateway { .. }), "{error:?}");
    (error.to_string(), error.hint())
}

#[tokio::test]
async fn a_wrong_token_and_a_missing_one_name_the_variable() {
    for flavour in [Flavour::KernelGateway, Flavour::JupyterServer, Flavour::EnterpriseGateway] {
        let server = Jupyter::shared(flavour);
        for (token, says) in [(Some("wrong"), "does not take the token"), (None, "wants a token")] {
            let gateway = Gateway::new(&server.url(), token.map(str::to_owned)).unwrap();
            let (message, hint) = refused(&Bed::new(), Target { gateway, ..target("http://x") }).await;
            assert!(message.contains(says) && message.contains(&server.url()), "{flavour:?}: {message}");
            assert!(hint.unwrap().contains("PI_PYTHON_GATEWAY_TOKEN"));
        }
    }
}

#[tokio::test]
async fn nobody_there_is_told_with_the_address_and_the_cause() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let url = format!("http://127.0.0.1:{port}");
    let (message, hint) = refused(&Bed::new(), target(&url)).await;
    assert_eq!(message, format!("the gateway {url} cannot be reached: connection refused"));
    assert!(hint.is_some());
    let (message, _) = refused(&Bed::new(), target("http://no-such-host.invalid:1")).await;
    assert!(
        message.starts_with("the gateway http://no-such-host.invalid:1 cannot be reached: "),
        "{message}"
    );
}

#[tokio::test]
async fn a_server_that_fails_to_create_is_asked_once_more() {
    let server = Scripted::start(|what, _| match what {
        "GET /api/kernelspecs" => Some(SPECS),
        _ => Some(("500 Internal Server Error", r#"{"message": "no room", "reason": null}"#)),
    })
    .await;
    let (message, _) = refused(&Bed::new(), target(&server.url)).await;
    assert!(message.ends_with("starting a kernel: 500 Internal Server Error: no room"), "{message}");
    assert_eq!(server.count("POST /api/kernels"), 2);
}

#[tokio::test]
async fn a_request_that_timed_out_is_not_repeated() {
    let server = Scripted::start(|what, _| (what == "GET /api/kernelspecs").then_some(SPECS)).await;
    let mut bed = Bed::new();
    bed.launch.startup_timeout = Duration::from_secs(1);
    let (message, hint) = refused(&bed, target(&server.url)).await;
    assert!(message.contains("did not answer within 1 seconds: starting a kernel"), "{message}");
    assert!(hint.unwrap().contains("may still carry out the request"));
    assert_eq!(server.count("POST /api/kernels"), 1);
}

#[tokio::test]
async fn what_is_no_gateway_is_said_to_be_none() {
    let server = Scripted::start(|_, _| Some(("200 OK", "<html>hello</html>"))).await;
    let (message, _) = refused(&Bed::new(), target(&server.url)).await;
    assert!(message.contains("does not answer like a gateway"), "{message}");
}

#[tokio::test]
async fn a_limit_of_kernels_is_told_in_the_servers_words() {
    let server = Jupyter::start(Flavour::KernelGateway, &["--KernelGatewayApp.max_kernels=1"]);
    let bed = Bed::new();
    let kernel = bed.on(&server).await;
    let (message, _) = refused(&bed, target(&server.url())).await;
    assert!(message.contains("403 Forbidden: Resource Limit"), "{message}");
    kernel.end().await;
    bed.on(&server).await.end().await;
}

#[tokio::test]
async fn a_server_that_throws_output_away_is_noticed() {
    let server =
        Jupyter::start(Flavour::KernelGateway, &["--ZMQChannelsWebsocketConnection.iopub_msg_rate_limit=20"]);
    let bed = Bed::new();
    let kernel = bed.on(&server).await;
    let ran = kernel.run("for number in range(500): display(number)").await;
    assert!(ran.0.contains(&Event::OutputLost), "{}", ran.0.len());
    assert_eq!(ran.status(), Status::Ok);
    // A program that says the same words loses nothing.
    let ran = kernel.run("import sys\nprint('IOPub message rate exceeded.', file=sys.stderr)").await;
    assert!(!ran.0.contains(&Event::OutputLost), "{ran:?}");
    kernel.end().await;
}
