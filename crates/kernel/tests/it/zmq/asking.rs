//! Completion, inspection and whether code is complete, with live objects.

use std::task::Poll;

use cellist_kernel::{Completeness, Error};
use cellist_output::{Ansi, clean};

use super::bed::{Bed, rest};

#[tokio::test]
async fn a_kernel_says_how_code_could_go_on_and_what_names_are() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    kernel
        .run("class Thing:\n    def walk(self, far=1):\n        'Goes for a walk.'\n\nthing = Thing()")
        .await;
    // Positions count characters, whatever they take in memory.
    let code = "x = '😀'; thing.wa";
    let completion = kernel.kernel.complete(code, code.chars().count()).await.unwrap();
    let end = code.chars().count();
    assert!(completion.matches.iter().any(|found| found.ends_with("walk")), "{completion:?}");
    assert_eq!(completion.end, end);

    let inspection = kernel.kernel.inspect("thing.walk", 10, false).await.unwrap();
    let told = clean(inspection.data.get_text("text/plain").unwrap().as_bytes(), Ansi::Remove);
    assert!(inspection.found && told.contains("Goes for a walk.") && told.contains("far=1"), "{told}");
    let source = kernel.kernel.inspect("thing.walk", 10, true).await.unwrap();
    assert!(source.data.get_text("text/plain").unwrap().contains("def"));
    assert!(!kernel.kernel.inspect("no_such_name", 5, false).await.unwrap().found);

    for (code, expected) in [
        ("x = 1", Completeness::Complete),
        ("for x in y:", Completeness::Incomplete { indent: "    ".into() }),
        ("x = = 1", Completeness::Invalid),
    ] {
        assert_eq!(kernel.kernel.is_complete(code).await.unwrap(), expected, "{code}");
    }
    kernel.end().await;
}

#[tokio::test]
async fn a_busy_kernel_says_so_at_once() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let mut execution = kernel.begin("import time; time.sleep(600)").await;
    // Nothing is waited for: the first look has the answer.
    let mut complete = kernel.kernel.complete("pri", 3);
    assert!(matches!(futures_util::poll!(&mut complete), Poll::Ready(Err(Error::Busy))));
    drop(complete);
    assert!(matches!(kernel.kernel.inspect("print", 3, false).await, Err(Error::Busy)));
    kernel.kernel.interrupt(execution.id).await.unwrap();
    rest(&mut execution).await;
    kernel.kernel.complete("pri", 3).await.unwrap();
    kernel.end().await;
}
