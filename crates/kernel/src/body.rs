//! The body of an HTTP answer, read up to a limit.

use bytes::Bytes;
use cellist_output::wire::{self, TooLarge};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};

/// Why a body was not read to its end.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each is the error of a part and describes itself")]
pub enum BodyError {
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    #[error(transparent)]
    Broken(#[from] hyper::Error),
}

/// Reads a body to its end. One that announces more than the limit is not read at all.
pub async fn read(mut body: Incoming, what: &'static str, limit: usize) -> Result<Bytes, BodyError> {
    wire::check(what, body.size_hint().lower(), limit)?;
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            wire::check(what, (bytes.len() + data.len()) as u64, limit)?;
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes.into())
}
