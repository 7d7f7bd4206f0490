//! Open notebooks with several clients over the socket.

use std::fs;
use std::path::{Path, PathBuf};

use cellist_host::{
    EditReply, Error, FullNotebook, HostClient, NotebookAction, NotebookEdit, NotebookReply, NotebookRequest,
    NotebookUpdate, OutputForm, Reply, Request,
};
use cellist_live::{Actor, ActorKind, Author, Op, Submission, Undo};
use cellist_notebook::{CellRef, CellType, Operation, Revision};
use cellist_serve::IdlePolicy;
use serde_json::json;

use crate::bed::{Bed, soon};

const FOLLOW: NotebookAction = NotebookAction::Follow { clients: Vec::new(), outputs: OutputForm::Whole };

/// A client with a notebook.
struct Client {
    link: HostClient,
    path: PathBuf,
    author: Author,
}

impl Client {
    async fn new(bed: &Bed, path: &Path, name: &str) -> Client {
        let link = soon(HostClient::attach(&bed.seen_by("1.0.0"))).await.unwrap();
        Client { link, path: path.to_owned(), author: Actor::new(ActorKind::Person, name).into() }
    }

    fn request(&self, ask: NotebookAction) -> Request {
        Request::Notebook(Box::new(NotebookRequest { path: self.path.clone(), ask }))
    }

    async fn ask(&self, ask: NotebookAction) -> Result<NotebookReply, Error> {
        match soon(self.link.ask(self.request(ask))).await? {
            Reply::Notebook(reply) => Ok(reply),
            other => panic!("{other:?}"),
        }
    }

    async fn follow(&self) -> FullNotebook {
        match self.ask(FOLLOW).await.unwrap() {
            NotebookReply::Whole(whole) => *whole,
            other => panic!("{other:?}"),
        }
    }

    async fn news(&self) -> NotebookUpdate {
        match self.ask(NotebookAction::News).await.unwrap() {
            NotebookReply::News(news) => *news,
            other => panic!("{other:?}"),
        }
    }

    async fn write(&self, base: u64, source: &str) -> NotebookReply {
        let op = Op::Write { cell: serde_json::from_value(json!("a")).unwrap(), source: source.into() };
        let submission = Submission { base, tag: None, ops: vec![op] };
        self.ask(NotebookAction::Submit { submission, author: Some(self.author.clone()) }).await.unwrap()
    }

    async fn edit(&self, edit: NotebookEdit, base: Option<Revision>) -> Result<EditReply, Error> {
        match self.ask(NotebookAction::Edit { edit, base, author: self.author.clone() }).await? {
            NotebookReply::Edited(edited) => Ok(*edited),
            other => panic!("{other:?}"),
        }
    }
}

/// A notebook with one cell `a` and the source `x = 1`.
fn notebook(bed: &Bed) -> PathBuf {
    let cell = json!({
        "cell_type": "code", "execution_count": null, "id": "a", "metadata": {}, "outputs": [], "source": ["x = 1"],
    });
    let notebook = json!({ "cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
    bed.scratch.write("nb.ipynb", notebook.to_string())
}

#[tokio::test]
async fn changes_reach_other_clients_and_outdated_ones_are_refused_with_the_news() {
    let bed = Bed::new();
    let running = bed.serve("1.0.0", IdlePolicy::UntilStopped);
    let path = notebook(&bed);
    let (one, other) = (Client::new(&bed, &path, "one").await, Client::new(&bed, &path, "other").await);
    let first = one.follow().await;
    assert_eq!((first.cells.len(), first.cells[0].source.as_str()), (1, "x = 1"));
    assert_eq!(other.follow().await.version, first.version);
    assert_eq!(soon(bed.seen_by("1.0.0").state()).await.unwrap().unwrap().notebooks, 1);

    let NotebookReply::Version(newer) = one.write(first.version, "x = 2").await else { panic!("taken") };
    let (mut changes, mut saved) = (Vec::new(), 0);
    while saved < newer {
        let news = other.news().await;
        changes.extend(news.changes);
        saved = news.status.map_or(saved, |status| status.saved);
    }
    assert!(changes.len() == 1 && changes[0].version == newer && changes[0].actor.id == "one", "{changes:?}");
    assert!(fs::read_to_string(&path).unwrap().contains("x = 2"), "it is on disk");

    let late = other.write(first.version, "x = 3").await;
    assert!(
        matches!(&late, NotebookReply::Behind { version, changes } if *version == newer && changes.len() == 1),
        "{late:?}"
    );
    assert!(matches!(other.write(newer, "x = 3").await, NotebookReply::Version(_)));

    // A client that cancels gets an answer.
    while !other.news().await.changes.iter().any(|change| change.version > newer) {}
    let waiting = other.link.begin(other.request(NotebookAction::News));
    waiting.stop().stop();
    assert!(matches!(soon(waiting.done()).await, Ok(Reply::Notebook(NotebookReply::News(_)))));
    drop((one, other));
    running.abort();
}

#[tokio::test]
async fn edits_are_saved_recorded_and_can_be_undone() {
    let bed = Bed::new();
    let running = bed.serve("1.0.0", IdlePolicy::UntilStopped);
    let path = notebook(&bed);
    let client = Client::new(&bed, &path, "one").await;
    client.follow().await;
    let read = client.ask(NotebookAction::Read(Some(client.author.actor.clone()))).await.unwrap();
    let NotebookReply::State(first) = read else { panic!("{read:?}") };
    let on_disk = || fs::read_to_string(&path).unwrap();

    let insert = Operation::Insert { index: 1, kind: CellType::Code, source: "y = 2".into() };
    let edited = client.edit(NotebookEdit::Operations(vec![insert]), None).await.unwrap();
    assert!(edited.changed && edited.result.outcomes[0].cell_index == 1 && on_disk().contains("y = 2"));
    let replace = NotebookEdit::Replace { old: "x = 1".into(), new: "x = 7".into() };
    let edited = client.edit(replace, Some(first.content.0.revision())).await.unwrap();
    assert_eq!(edited.result.applied.changed, [0]);
    assert!(on_disk().contains("x = 7") && on_disk().contains("y = 2"), "both are there");

    let beyond = Operation::Delete { cell: CellRef::Index(9) };
    let refused = client.edit(NotebookEdit::Operations(vec![beyond]), None).await;
    assert!(
        matches!(&refused, Err(Error::Refused(failure)) if failure.kind.as_str() == "refused"),
        "{refused:?}"
    );
    let none = NotebookEdit::Replace { old: "nowhere".into(), new: String::new() };
    assert!(matches!(client.edit(none, None).await, Err(Error::Refused(_))));

    let history = client.ask(NotebookAction::History).await.unwrap();
    assert!(matches!(&history, NotebookReply::History(entries) if entries.len() == 2), "{history:?}");
    let undo = NotebookAction::Undo { undo: Undo::Last, author: Some(client.author.clone()) };
    let undone = client.ask(undo).await.unwrap();
    assert!(matches!(&undone, NotebookReply::Edited(edited) if edited.undone.len() == 1), "{undone:?}");
    assert!(on_disk().contains("x = 1") && on_disk().contains("y = 2"));
    running.abort();
}

#[tokio::test]
async fn a_notebook_is_saved_and_closed_with_its_last_client() {
    let bed = Bed::new();
    let running = bed.serve("1.0.0", IdlePolicy::UntilStopped);
    let path = notebook(&bed);
    let (client, looker) = (Client::new(&bed, &path, "one").await, Client::new(&bed, &path, "looker").await);
    let version = client.follow().await.version;
    client.write(version, "x = 'typed'").await;
    drop(client);
    loop {
        match soon(looker.link.ask(Request::Notebooks)).await.unwrap() {
            Reply::Notebooks(open) if open.is_empty() => break,
            Reply::Notebooks(_) => tokio::task::yield_now().await,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(soon(bed.seen_by("1.0.0").state()).await.unwrap().unwrap().notebooks, 0);
    let version = looker.follow().await.version;
    assert!(fs::read_to_string(&path).unwrap().contains("typed"));
    looker.write(version, "x = 'last'").await;
    soon(bed.seen_by("1.0.0").stop()).await.unwrap();
    soon(running).await.unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("last"), "a host that ends saves");
}

#[tokio::test]
async fn a_file_that_is_not_a_notebook_is_refused_by_name() {
    let bed = Bed::new();
    let running = bed.serve("1.0.0", IdlePolicy::UntilStopped);
    for (name, content, kind) in
        [("none.ipynb", None, "not_found"), ("bad.ipynb", Some("{"), "invalid_notebook")]
    {
        let path = bed.scratch.path().join(name);
        if let Some(content) = content {
            fs::write(&path, content).unwrap();
        }
        let refused = Client::new(&bed, &path, "one").await.ask(FOLLOW).await.unwrap_err();
        assert_eq!(refused.kind().as_str(), kind, "{refused}");
        assert!(refused.to_string().contains(name), "{refused}");
    }
    running.abort();
}
