//! Kernels that we started on gateways, by their owner: those whose owner was killed are ended by the next client that comes
//! to the same gateway next.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cellist_platform::registration::{Claim, Place};
use hyper::{Method, StatusCode};
use serde::{Deserialize, Serialize};

use super::address::Gateway;
use super::rest;

/// How long a start of a kernel waits for the end of ownerless ones.
const SWEEP: Duration = Duration::from_secs(3);

/// A kernel of ours, as it is written down for as long as we live.
#[derive(Debug)]
pub(super) struct Kept {
    entry: PathBuf,
    words: Entry,
    claim: Option<Claim>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    url: String,
    kernel: String,
}

fn folder(runtime_dir: &Path) -> PathBuf {
    runtime_dir.join("gateway-kernels")
}

impl Kept {
    /// Writes down that this kernel is ours. Without that it only stays longer if we are killed.
    pub(super) fn note(runtime_dir: &Path, gateway: &Gateway, kernel: &str) -> Option<Kept> {
        let folder = folder(runtime_dir);
        let place = Place::new(&folder, kernel);
        let claim = place.claim().ok()??;
        let words = Entry { url: gateway.url().to_owned(), kernel: kernel.to_owned() };
        claim.announce(&words).ok()?;
        Some(Kept { entry: place.entry(), words, claim: Some(claim) })
    }

    /// Leaves the kernel to the next client of its gateway.
    pub(super) fn leave(self) {
        let (entry, words) = (self.entry.clone(), self.words.clone());
        drop(self);
        let _ = serde_json::to_vec(&words).map(|words| fs::write(entry, words));
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // The claim goes with its file.
        self.claim.take();
        let _ = fs::remove_file(self.entry.with_extension("lock"));
    }
}

/// Ends the kernels on this gateway whose owners are gone.
pub(super) async fn sweep(runtime_dir: &Path, gateway: &Gateway) {
    let ends = left_behind(&folder(runtime_dir), gateway).into_iter().map(|kept| async move {
        let path = format!("/api/kernels/{}", kept.words.kernel);
        match rest::ask(gateway, Method::DELETE, &path, None, SWEEP).await {
            Err(trouble) if !trouble.is_status(StatusCode::NOT_FOUND) => kept.leave(),
            Ok(_) | Err(_) => drop(kept),
        }
    });
    futures_util::future::join_all(ends).await;
}

fn left_behind(folder: &Path, gateway: &Gateway) -> Vec<Kept> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let entries = files.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
    let left = entries.filter_map(|entry| {
        let words: Entry = serde_json::from_slice(&fs::read(&entry).ok()?).ok()?;
        if words.url != gateway.url() {
            return None;
        }
        // A living process has it, and one that ends it keeps others from doing so.
        let claim = Place::new(folder, words.kernel.as_str()).claim().ok()??;
        Some(Kept { entry, words, claim: Some(claim) })
    });
    left.collect()
}
