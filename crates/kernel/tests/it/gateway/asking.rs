//! Requests to a kernel behind a gateway beside running code.

use cellist_kernel::{Completeness, Error};
use testkit::{Flavour, Jupyter};

use super::bed::Bed;
use crate::zmq::bed::rest;

#[tokio::test]
async fn completion_inspection_and_completeness_are_answered_with_live_objects() {
    let server = Jupyter::shared(Flavour::KernelGateway);
    let bed = Bed::new();
    let kernel = bed.on(&server).await;
    kernel.run("def greet(name):\n    'Says hello.'\nword = 'x'").await;
    let completion = kernel.kernel.complete("word.upp", 8).await.unwrap();
    assert!(completion.matches.iter().any(|text| text.ends_with("upper")), "{completion:?}");
    let inspection = kernel.kernel.inspect("greet", 5, false).await.unwrap();
    assert!(inspection.data.get_text("text/plain").unwrap().contains("Says hello."));
    assert_eq!(kernel.kernel.is_complete("1 + 1").await.unwrap(), Completeness::Complete);
    assert!(matches!(kernel.kernel.is_complete("if x:").await.unwrap(), Completeness::Incomplete { .. }));

    let (mut execution, _) = kernel.begin_printing("print(1)\nimport time; time.sleep(300)").await;
    assert!(matches!(kernel.kernel.complete("wo", 2).await, Err(Error::Busy)));
    kernel.kernel.interrupt(execution.id).await.unwrap();
    assert!(rest(&mut execution).await.outcome().cancelled);
    kernel.end().await;
}
