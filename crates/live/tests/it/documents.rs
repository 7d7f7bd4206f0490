//! Open notebooks with a real file, a real folder watch and real time.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use cellist_live::{
    Actor, ActorKind, Author, ChangeSet, Document, DocumentError, DocumentView, Documents, Effect, Op,
    Submission, Undo,
};
use cellist_notebook::{CellRef, Operation, Revision};
use tokio::sync::watch;

use crate::bed::{Bed, write_in_place};
use crate::replica::Replica;

const PATIENCE: Duration = Duration::from_secs(60);

fn ann() -> Author {
    Actor::new(ActorKind::Person, "ann").into()
}

fn bot() -> Author {
    Actor::new(ActorKind::Agent, "bot").into()
}

fn documents(bed: &Bed) -> Documents {
    Documents::new(bed.store.clone())
}

fn sources(view: &DocumentView) -> Vec<String> {
    view.notebook.cells().iter().map(|cell| cell.source().into_owned()).collect()
}

/// Waits until the newest view is as wanted.
async fn seen(
    views: &mut watch::Receiver<Arc<DocumentView>>,
    is_wanted: impl Fn(&DocumentView) -> bool,
) -> Arc<DocumentView> {
    let seen = tokio::time::timeout(PATIENCE, views.wait_for(|view| is_wanted(view))).await;
    Arc::clone(&seen.expect("it is seen in time").unwrap())
}

/// Types at the beginning of a cell.
async fn type_in(document: &Document, index: usize, text: &str) -> u64 {
    let view = document.view();
    let cell = &view.notebook.cells()[index];
    let length = cellist_live::units(&cell.source());
    let change = ChangeSet::replace(length, 0..0, text).unwrap();
    let ops = vec![Op::Change { cell: cell.id().clone(), change }];
    document.submit(Submission { base: view.version, tag: None, ops }, ann()).await.unwrap()
}

fn edit(index: i64, source: &str) -> [Operation; 1] {
    [Operation::Edit { cell: CellRef::Index(index), source: source.into() }]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_open_once_under_any_path_and_saved_with_the_last_handle() {
    let bed = Bed::new(&["one"]);
    let documents = documents(&bed);
    let link = bed.folder().join("link.ipynb");
    std::os::unix::fs::symlink(&bed.path, &link).unwrap();
    let opening = (0..8).map(|at| {
        let (documents, path) =
            (documents.clone(), if at % 2 == 0 { bed.path.clone() } else { link.clone() });
        tokio::spawn(async move { documents.open(&path).await.unwrap() })
    });
    let opening: Vec<_> = opening.collect();
    let mut handles = Vec::new();
    for handle in opening {
        handles.push(handle.await.unwrap());
    }
    assert_eq!(documents.list().len(), 1);
    type_in(&handles[0], 0, "typed ").await;
    assert_eq!(sources(&handles[7].view()), ["typed one"]);
    let version = handles[3].view().version;
    drop(handles);
    // Opened again at once, it has the typed text, and versions higher than any before.
    let again = documents.open(&bed.path).await.unwrap();
    assert_eq!(sources(&again.view()), ["typed one"]);
    assert!(again.view().version > version);
    drop(again);
    documents.close().await;
    assert_eq!(bed.sources(), ["typed one"]);
    assert!(documents.list().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn typing_is_published_and_on_disk_soon() {
    let bed = Bed::new(&["one", "two"]);
    let documents = documents(&bed);
    let document = documents.open(&bed.path).await.unwrap();
    let mut views = document.watch();
    let before = document.view().version;
    let version = type_in(&document, 1, "x").await;
    let view = seen(&mut views, |view| view.saved >= version).await;
    assert_eq!((view.version, bed.sources()), (version, vec!["one".to_owned(), "xtwo".to_owned()]));
    let (_, changes) = document.newer(before).await.unwrap();
    assert!(matches!(&changes[0].effects[..], [Effect::Changed { .. }]));
    assert!(matches!(document.newer(before - 1).await, Err(DocumentError::Refused(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agents_edit_is_on_disk_when_it_returns_and_can_be_taken_back() {
    let bed = Bed::new(&["one", "two"]);
    let documents = documents(&bed);
    let document = documents.open(&bed.path).await.unwrap();
    let (_, revision) = document.read(bot().actor).await.unwrap();
    type_in(&document, 1, "typed ").await;
    let operations = edit(0, "ONE");
    let edited = document
        .edit(Some(revision), bot(), move |notebook, base| notebook.perform(&operations, base))
        .await
        .unwrap();
    assert_eq!(bed.sources(), ["ONE", "typed two"]);
    assert_eq!(edited.notebook.revision(), Revision::of([fs::read(&bed.path).unwrap().as_slice()]));
    assert_eq!(document.view().review.cells.len(), 1);

    let operations = edit(1, "TWO");
    let conflict =
        document.edit(Some(revision), bot(), move |notebook, base| notebook.perform(&operations, base)).await;
    let message = conflict.unwrap_err().to_string();
    assert!(message.contains("typed two") && message.contains("TWO"), "{message}");

    document.undo(Undo::LastOf("bot".into()), ann()).await.unwrap();
    assert_eq!(bed.sources(), ["one", "typed two"]);
    let who: Vec<String> =
        document.history().await.unwrap().into_iter().map(|entry| entry.actor.id).collect();
    assert_eq!(who, ["ann", "bot", "ann"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_writes_are_noticed_and_both_versions_survive() {
    let bed = Bed::new(&["one", "two", "three"]);
    let documents = documents(&bed);
    let document = documents.open(&bed.path).await.unwrap();
    let mut views = document.watch();
    write_in_place(&bed.path, "two", "TWO");
    let view = seen(&mut views, |view| sources(view)[1] == "TWO").await;
    let (_, changes) = document.newer(view.version - 1).await.unwrap();
    assert_eq!(changes[0].actor.kind, ActorKind::Disk);

    // Concurrent changes of different cells.
    type_in(&document, 0, "typed ").await;
    write_in_place(&bed.path, "three", "THREE");
    let both = ["typed one", "TWO", "THREE"];
    seen(&mut views, |view| sources(view) == both && view.saved == view.version).await;
    assert_eq!(bed.sources(), both);

    // By rename, like git and many editors.
    let other = bed.folder().join("other");
    fs::write(&other, fs::read_to_string(&bed.path).unwrap().replace("THREE", "3")).unwrap();
    fs::rename(&other, &bed.path).unwrap();
    seen(&mut views, |view| sources(view)[2] == "3").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_file_is_reported_and_typed_text_is_kept() {
    let bed = Bed::new(&["one"]);
    let documents = documents(&bed);
    let document = documents.open(&bed.path).await.unwrap();
    let mut views = document.watch();
    fs::remove_file(&bed.path).unwrap();
    type_in(&document, 0, "typed ").await;
    seen(&mut views, |view| view.problem.is_some()).await;
    let operations = edit(0, "mine");
    let not_saved =
        document.edit(None, bot(), move |notebook, base| notebook.perform(&operations, base)).await;
    assert!(matches!(not_saved, Err(DocumentError::NotSaved(_))), "{not_saved:?}");
    drop((document, views));
    documents.close().await;
    let kept: Vec<String> = bed.recovered().iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    assert!(kept.iter().any(|text| text.contains("mine")), "{kept:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notebook_that_cannot_be_opened_says_why_and_can_be_opened_later() {
    let bed = Bed::new(&["one"]);
    let documents = documents(&bed);
    let path = bed.folder().join("new.ipynb");
    assert!(documents.open(&path).await.is_err());
    fs::copy(&bed.path, &path).unwrap();
    assert_eq!(sources(&documents.open(&path).await.unwrap().view()), ["one"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_ends_all_and_later_questions_are_answered_so() {
    let bed = Bed::new(&["one"]);
    let documents = documents(&bed);
    let document = documents.open(&bed.path).await.unwrap();
    type_in(&document, 0, "typed ").await;
    documents.close().await;
    assert_eq!(bed.sources(), ["typed one"]);
    assert!(matches!(document.save().await, Err(DocumentError::Closed)));
    let again = documents.open(&bed.path).await.unwrap();
    assert_eq!(sources(&again.view()), ["typed one"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_owner_recognizes_typed_text() {
    let bed = Bed::new(&["one"]);
    let documents = documents(&bed);
    let document = documents.open(&bed.path).await.unwrap();
    let view = document.view();
    let mut replica = Replica::new("page", view.version, &view.notebook);
    let cell = replica.cells()[0].id.clone();
    let type_at = |replica: &mut Replica, at: usize, text: &str| {
        let length = cellist_live::units(&replica.cells()[0].source);
        let change = ChangeSet::replace(length, at..at, text).unwrap();
        replica.act(Op::Change { cell: cell.clone(), change }).unwrap();
    };
    type_at(&mut replica, 0, "first ");
    document.submit(replica.outgoing().unwrap(), ann()).await.unwrap();
    // The reply is lost, more is typed, and the owner closes meanwhile.
    type_at(&mut replica, 6, "second ");
    replica.unsent();
    drop(document);
    documents.close().await;
    write_in_place(&bed.path, "first one", "first one more");
    let document = documents.open(&bed.path).await.unwrap();
    assert!(document.newer(replica.version()).await.is_err());
    let (view, heard) = document.resync(vec!["page".into()]).await.unwrap();
    replica.resync(view.version, &view.notebook, heard.get("page").copied()).unwrap();
    document.submit(replica.outgoing().unwrap(), ann()).await.unwrap();
    document.save().await.unwrap();
    assert_eq!(bed.sources(), ["first second one more"]);
    assert_eq!(document.history().await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_killed_around_a_save_leaves_a_record_of_the_file() {
    let bed = Bed::new(&["one"]);
    let documents = documents(&bed);
    let before = fs::read(&bed.path).unwrap();
    let document = documents.open(&bed.path).await.unwrap();
    let view = document.view();
    let mut replica = Replica::new("page", view.version, &view.notebook);
    let cell = replica.cells()[0].id.clone();
    let change = ChangeSet::replace(3, 0..0, "typed ").unwrap();
    replica.act(Op::Change { cell, change }).unwrap();
    document.submit(replica.outgoing().unwrap(), ann()).await.unwrap();
    drop(document);
    documents.close().await;
    assert_eq!(bed.sources(), ["typed one"]);
    // Killed after the file was saved, within the line that records it.
    let history =
        fs::read_dir(bed.store.home().path().join("history")).unwrap().next().unwrap().unwrap().path();
    let lines = fs::read_to_string(&history).unwrap();
    let begun = lines.lines().take_while(|line| !line.starts_with("{\"heard\"")).collect::<Vec<_>>();
    assert!(begun.len() < lines.lines().count(), "{lines}");
    fs::write(&history, format!("{}\n{{\"hea", begun.join("\n"))).unwrap();
    let heard = async || {
        let document = documents.open(&bed.path).await.unwrap();
        let (_, heard) = document.resync(vec!["page".into()]).await.unwrap();
        drop(document);
        documents.close().await;
        heard.get("page").copied()
    };
    assert_eq!(heard().await, Some(1));
    // Killed before the save: the typed text has to be sent again.
    fs::write(&bed.path, before).unwrap();
    assert_eq!(heard().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn review_follows_the_settings_unless_set_for_a_notebook() {
    let bed = Bed::new(&["one"]);
    let waits = |document: &Document| !document.view().review.cells.is_empty();
    let change = async |document: &Document, source: &'static str| {
        let edited = document.edit(None, bot(), move |notebook, _| notebook.perform(&edit(0, source), None));
        edited.await.unwrap();
    };
    let off = documents(&bed).reviewing(false);
    let document = off.open(&bed.path).await.unwrap();
    change(&document, "two").await;
    assert!(!waits(&document));
    document.set_review(true).await.unwrap();
    change(&document, "three").await;
    assert!(waits(&document));
    drop(document);
    off.close().await;
    // A choice for the notebook is remembered; the default is not.
    let document = documents(&bed).reviewing(false).open(&bed.path).await.unwrap();
    assert!(document.view().review.is_on && waits(&document));
    let other = Bed::new(&["one"]);
    let on = documents(&other);
    let document = on.open(&other.path).await.unwrap();
    change(&document, "two").await;
    assert!(waits(&document));
    drop(document);
    on.close().await;
    assert!(!documents(&other).reviewing(false).open(&other.path).await.unwrap().view().review.is_on);
}
