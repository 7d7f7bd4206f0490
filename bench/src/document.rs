//! An open notebook: time until an edit of one client is on disk and visible to another.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use cellist_live::{Actor, ActorKind, Document, Documents};
use cellist_settings::Home;
use cellist_store::Store;

use crate::made;
use crate::measure::{in_ms, median};
use crate::table::{Figure, Target};

const ROUNDS: usize = 9;
const EDITS: usize = 20;

pub(crate) fn run() -> Vec<Figure> {
    let folder = tempfile::tempdir_in(testkit::target_dir()).expect("the target folder can be written");
    let path = folder.path().join("nb.ipynb");
    made::one_megabyte(&path);
    let bytes = fs::read(&path).expect("it was just made");
    let store = Store::new(Home::at(folder.path().join("home")));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let (mut ours, mut floors) = (Vec::new(), Vec::new());
    runtime.block_on(async {
        let documents = Documents::new(store);
        let one = documents.open(&path).await.expect("it is a notebook");
        let other = documents.open(&path).await.expect("it is open");
        for round in 0..=ROUNDS {
            let (mut edits, mut copies) = (Vec::new(), Vec::new());
            for number in 0..EDITS {
                edits.push(edit(&one, &other, round * EDITS + number).await.as_secs_f64());
                copies.push(save_as_others_do(folder.path(), &bytes).as_secs_f64());
            }
            if round > 0 {
                ours.push(median(edits.into_iter()).unwrap_or(f64::NAN));
                floors.push(median(copies.into_iter()).unwrap_or(f64::NAN));
            }
        }
        drop((one, other));
        documents.close().await;
    });
    let last = format!("x = {}\\n", (ROUNDS + 1) * EDITS - 1);
    assert!(
        fs::read_to_string(&path).expect("it is there").contains(&last),
        "the last edit is not in the file"
    );
    let ms =
        |times: &[f64]| in_ms(Duration::from_secs_f64(median(times.iter().copied()).unwrap_or_default()));
    vec![Figure {
        promise: "an edit in a 1 MB notebook: applied, on disk and visible to another client",
        other: ("write, sync, rename", ms(&floors)),
        ours: ms(&ours),
        value: median(ours.into_iter()).unwrap_or(f64::NAN) * 1000.0,
        unit: " ms",
        target: Target::AtMost(10.0),
    }]
}

/// Edits a cell through one handle, and waits until the other sees it saved.
async fn edit(one: &Document, other: &Document, number: usize) -> Duration {
    let mut views = other.watch();
    let author = Actor::new(ActorKind::Person, "bench").into();
    let start = Instant::now();
    let edited = one.edit(None, author, move |notebook, _| {
        notebook.set_source(number % notebook.cells().len(), &format!("x = {number}\nprint(x)"));
        Ok(())
    });
    let version = edited.await.expect("it can be saved").version;
    let is_seen = |view: &std::sync::Arc<cellist_live::DocumentView>| view.saved >= version;
    views.wait_for(is_seen).await.expect("it is open");
    start.elapsed()
}

/// Minimum time of the disk for a safe file.
fn save_as_others_do(folder: &Path, bytes: &[u8]) -> Duration {
    let (new, name) = (folder.join("new"), folder.join("copy"));
    let start = Instant::now();
    let mut file = File::create(&new).expect("there is room");
    file.write_all(bytes).and_then(|()| file.sync_all()).expect("there is room");
    fs::rename(&new, &name).expect("it is in the same folder");
    start.elapsed()
}
