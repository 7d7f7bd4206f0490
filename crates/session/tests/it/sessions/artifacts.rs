//! Output that is too large to be shown, from real kernels.

use cellist_session::execution::Status;
use cellist_session::sessions::Policy;
use cellist_settings::Home;
use testkit::Scratch;

use super::bed::{BOTH, Backend, Bed};

const LINES: usize = 200_000;

#[tokio::test]
async fn an_artifact_holds_every_byte_and_the_text_says_where_it_is() {
    for backend in BOTH {
        let bed = Bed::new(backend);
        let report = bed.run("s", &format!("for n in range({LINES}):\n    print('line', n)")).await;
        let id = report.artifact.unwrap();
        let whole: String = (0..LINES).map(|n| format!("line {n}\n")).collect();
        let path = bed.artifacts.path(&id.parse().unwrap());
        assert!(std::fs::read_to_string(path).unwrap() == whole, "{backend:?}");
        let cut = report.truncated.unwrap();
        assert_eq!((cut.total_lines, cut.total_bytes), (LINES as u64, whole.len() as u64));
        assert!(report.text.starts_with("line 0\n") && report.text.contains("line 199999\n"));
        assert!(report.text.ends_with(&format!("All of it: artifact://{id}]")), "{backend:?}");
        assert_eq!(bed.run("s", "print(1)").await.artifact, None);
        bed.end().await;
    }
}

#[tokio::test]
async fn a_disk_that_takes_no_artifact_does_not_fail_the_run() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path().join("work")).unwrap();
    let home = Home::at(scratch.write("file", "not a folder"));
    let bed = Bed::at(Backend::Runner, Policy::default(), scratch, home);
    let report = bed.run("s", "print('x' * 1000_000)").await;
    assert_eq!((report.status, report.artifact), (Status::Ok, None));
    assert!(report.notices[0].starts_with("[The whole output could not be kept: "), "{:?}", report.notices);
    bed.end().await;
}
