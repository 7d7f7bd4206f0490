//! Kernels that we started on gateways, by who started them: those whose owner was killed are ended by whoever comes
//! to the same gateway next.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cellist_platform::registration::{Claim, Place};
use hyper::{Method, StatusCode};
use serde::{Deserialize, Serialize};

use super::address::Gateway;
use super::rest;

/// How long whoever wants a kernel waits for the end of those that nobody has.
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

    /// Leaves the kernel to whoever comes to its gateway next.
    pub(super) fn leave(self) {
        let (entry, words) = (self.entry.clone(), self.words.clone());
        drop(self);
        let _ = serde_json::to_vec(&words).map(|words| fs::write(entry, words));
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // With the claim goes what was written.
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
        // Whoever lives has it, and whoever ends it keeps others from doing so.
        let claim = Place::new(folder, words.kernel.as_str()).claim().ok()??;
        Some(Kept { entry, words, claim: Some(claim) })
    });
    left.collect()
}
