//! The simulation with a real file, a real folder watch and concurrent tasks. The actions follow from a seed; their
//! order does not.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cellist_notebook::{CellType, Ids, Notebook};
use cellist_settings::Home;
use cellist_store::{Missing, Store};
use testkit::Scratch;
use tokio::time::sleep;

use super::{Chance, Letters, Replica, some_op, typed};
use crate::{Actor, ActorKind, Author, Document, DocumentError, Documents, SubmissionRefusal};

const STEPS: usize = 150;
const WRITES: usize = 15;

type Shared = Arc<Mutex<Letters>>;

/// A client: edits its copy, sends and receives, and sometimes loses its connection.
async fn client(document: Document, number: u64, seed: u64, letters: Shared) -> Replica {
    let name = format!("client{number}");
    let author: Author = Actor::new(ActorKind::Person, &name).into();
    let mut chance = Chance(seed * 31 + number);
    let view = document.view();
    let mut replica = Replica::new(&name, view.version, &view.notebook);
    for _ in 0..STEPS {
        match chance.below(10) {
            0..=4 => {
                let op = some_op(&mut chance, &mut letters.lock().unwrap(), &mut replica);
                if let Some(op) = op {
                    replica.act(op).unwrap();
                }
            }
            5..=6 => send(&document, &mut replica, &author, chance.one_in(5)).await,
            7..=8 => hear(&document, &mut replica).await,
            _ => sleep(Duration::from_micros(chance.below(3000) as u64)).await,
        }
    }
    replica
}

/// Sends pending changes. An impatient client does not wait for the reply.
async fn send(document: &Document, replica: &mut Replica, author: &Author, is_impatient: bool) {
    let Some(submission) = replica.outgoing() else { return };
    let answer = {
        let (document, author) = (document.clone(), author.clone());
        tokio::spawn(async move { document.submit(submission, author).await })
    };
    if is_impatient {
        // It may arrive all the same.
        replica.unsent();
        return;
    }
    match answer.await.unwrap() {
        Ok(_) => {}
        Err(DocumentError::Refused(SubmissionRefusal::Behind { changes, .. })) => {
            replica.unsent();
            for change in changes {
                replica.receive(&change).unwrap();
            }
        }
        Err(DocumentError::Refused(SubmissionRefusal::BadName { .. })) => replica.unsent(),
        Err(error) => panic!("{error}"),
    }
}

async fn hear(document: &Document, replica: &mut Replica) {
    for change in document.newer(replica.version()).await.unwrap().1 {
        replica.receive(&change).unwrap();
    }
}

/// Another process of cellist that changes the file beside the open notebook.
fn writer(store: &Store, path: &Path, seed: u64, letters: &Shared) {
    let mut chance = Chance(seed * 31 + 9);
    for _ in 0..WRITES {
        std::thread::sleep(Duration::from_millis(chance.below(40) as u64));
        let changed = store.change(path, Missing::Refuse, |notebook| {
            let count = notebook.cells().len();
            if count == 0 || chance.one_in(4) {
                let text: String = (0..3).map(|_| letters.lock().unwrap().next()).collect();
                notebook.insert(chance.below(count + 1), CellType::Code, &text);
            } else {
                let at = chance.below(count);
                let source = notebook.cells()[at].source().into_owned();
                let change = typed(&mut chance, &mut letters.lock().unwrap(), &source);
                notebook.set_source(at, &change.apply(&source).unwrap());
            }
            Ok(())
        });
        changed.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_real_file_all_copies_come_to_the_same_and_no_letter_is_lost() {
    let seed = std::env::var("CELLIST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let scratch = Scratch::new();
    let mut notebook = Notebook::empty(Ids::seeded(seed));
    (0..4).for_each(|at| notebook.insert(at, CellType::Code, "x = 1\ny = 2\n"));
    let path = scratch.write("nb.ipynb", notebook.to_bytes());
    let store = Store::new(Home::at(scratch.path().join("home")));
    let documents = Documents::new(store.clone());
    let document = documents.open(&path).await.unwrap();
    let letters: Shared = Arc::default();

    let clients = (0..3).map(|number| client(document.clone(), number, seed, Arc::clone(&letters)));
    let clients: Vec<_> = clients.map(tokio::spawn).collect();
    let writing = {
        let (store, path, letters) = (store.clone(), path.clone(), Arc::clone(&letters));
        tokio::task::spawn_blocking(move || writer(&store, &path, seed, &letters))
    };
    let mut replicas = Vec::new();
    for client in clients {
        replicas.push(client.await.unwrap());
    }
    writing.await.unwrap();

    // Waits until all submissions have arrived and the file has been read.
    let author: Author = Actor::new(ActorKind::Person, "all").into();
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    loop {
        for replica in &mut replicas {
            hear(&document, replica).await;
            send(&document, replica, &author, false).await;
            hear(&document, replica).await;
        }
        document.save().await.unwrap();
        let view = document.view();
        let in_file = std::fs::read(&path).unwrap();
        let is_quiet =
            replicas.iter().all(|replica| replica.is_settled() && replica.version() == view.version);
        if is_quiet && view.saved == view.version && in_file == view.notebook.to_bytes() {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "it does not come to rest, with CELLIST_SEED={seed}");
        tokio::task::yield_now().await;
    }
    let view = document.view();
    for replica in &replicas {
        super::assert_same(replica, &view.notebook);
    }
    super::assert_no_letter_lost(&letters.lock().unwrap(), &view.notebook, true);
    drop(document);
    documents.close().await;
}
