//! A hostile provider. Its calls reach no secret and no state file, and change files that others run only after consent.

use std::fs;

use cellist_assistant::{Approval, TranscriptEntry};
use cellist_tools::Mode;
use serde_json::json;
use testkit::{SECRET, SECRETS, STATE_FILES, Said};

use crate::test_bed::{TestBed, results};

#[tokio::test]
async fn a_hostile_provider_reads_no_secret_and_no_state_file_in_any_mode() {
    let paths = || {
        SECRETS
            .iter()
            .map(|name| (*name).to_owned())
            .chain(STATE_FILES.iter().map(|name| format!("../home/{name}")))
    };
    let script = Mode::ALL.map(|_| {
        let mut said = Said::call("read", json!({ "path": "e.ipynb:raw" }));
        for path in paths() {
            said = said
                .and_call("read", json!({ "path": path }))
                .and_call("edit", json!({ "path": path, "old": "needle", "new": "x" }));
        }
        [said, Said::text(&["Hm."])]
    });
    let mut bed = TestBed::new(&["x = 1"], script.into_iter().flatten());
    let desk = bed.scratch.path().join("desk");
    for path in paths() {
        let path = desk.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("# {SECRET}")).unwrap();
    }
    std::os::unix::fs::symlink(desk.join(".env"), desk.join("e.ipynb")).unwrap();
    for mode in Mode::ALL {
        let mut ask = bed.in_mode(mode, "hello");
        // Even if the user has added the parent folder as a root.
        ask.caller.roots = vec![bed.scratch.path().to_owned()];
        let (told, _) = bed.answer(ask).await;
        let results = results(&told);
        assert_eq!(results.len(), 1 + 2 * paths().count(), "{mode}");
        assert!(results.iter().all(|(_, is_failure)| *is_failure), "{mode} {results:?}");
        assert!(!format!("{told:?}").contains(SECRET), "{mode}");
        assert!(
            !told.iter().any(|told| matches!(told, TranscriptEntry::Question { .. })),
            "no consent covers a secret"
        );
    }
    assert!(bed.models.asked().iter().all(|asked| !asked.body.to_string().contains(SECRET)));
    bed.close().await;
}

#[tokio::test]
async fn consent_to_change_a_protected_file_covers_only_that_file() {
    let write = |path: &str| Said::call("write", json!({ "path": path, "content": "new" }));
    let script = [
        write(".git/config"),
        Said::text(&["No?"]),
        write(".github/ci.yml"),
        write(".github/ci.yml"),
        write(".git/config"),
        Said::text(&["Done."]),
        write(".github/ci.yml"),
        Said::text(&["Again."]),
    ];
    let mut bed = TestBed::new(&["x = 1"], script);
    let desk = bed.scratch.path().join("desk").canonicalize().unwrap();
    for name in [".git/config", ".github/ci.yml"] {
        fs::create_dir_all(desk.join(name).parent().unwrap()).unwrap();
        fs::write(desk.join(name), "old").unwrap();
    }
    let content = |name: &str| fs::read_to_string(desk.join(name)).unwrap();
    let asked = async |bed: &mut TestBed, name: &str, verdict: Approval| {
        let told = bed.until(|told| matches!(told, TranscriptEntry::Question { .. })).await;
        let Some(TranscriptEntry::Question { id, path }) = told.last() else { panic!("{told:?}") };
        assert_eq!(path.as_deref(), desk.join(name).to_str());
        assert!(bed.chat.approve(id, verdict));
    };
    bed.send(bed.in_mode(Mode::Edit, "write it"));
    asked(&mut bed, ".git/config", Approval::No).await;
    let (told, _) = bed.end().await;
    assert!(results(&told)[0].0.contains("the user did not allow a change to "), "{told:?}");
    // For a file, "always" covers neither other files nor code.
    bed.send(bed.in_mode(Mode::Edit, "write it"));
    asked(&mut bed, ".github/ci.yml", Approval::Always).await;
    asked(&mut bed, ".git/config", Approval::No).await;
    let (told, _) = bed.end().await;
    assert!(results(&told)[0].1, "{told:?}");
    assert_eq!((content(".git/config").as_str(), content(".github/ci.yml").as_str()), ("old", "new"));
    // The consent lasts for the conversation.
    let (told, _) = bed.answer(bed.in_mode(Mode::Edit, "again")).await;
    assert!(!results(&told)[0].1, "{told:?}");
    bed.close().await;
}
