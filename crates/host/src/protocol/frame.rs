//! The frames of the socket: a big-endian length of four bytes, then that many bytes of JSON.

use std::io;

use cellist_output::wire::{self, HOST_FRAME, HOST_HELLO};
use cellist_platform::fault::{self, Site};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The first allocation for a frame.
const FIRST: usize = 64 << 10;

/// Reads a frame; `None` at the end of the stream. Not cancel-safe: after a dropped read, the stream is out of step and
/// must be closed.
pub async fn read<T: DeserializeOwned>(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<T>> {
    read_within(HOST_FRAME, from).await
}

/// Reads the first frame, with a low size limit: the sender is not known yet.
pub async fn read_short<T: DeserializeOwned>(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<T>> {
    read_within(HOST_HELLO, from).await
}

async fn read_within<T: DeserializeOwned>(
    longest: usize,
    from: &mut (impl AsyncRead + Unpin),
) -> io::Result<Option<T>> {
    let mut head = [0; 4];
    let first = from.read(&mut head).await?;
    if first == 0 {
        return Ok(None);
    }
    from.read_exact(&mut head[first..]).await?;
    let length = u32::from_be_bytes(head);
    wire::check("a frame", length.into(), longest)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    // Memory grows with the received bytes, not with the announced length.
    let (mut body, length) = (Vec::new(), length as usize);
    let mut from = from.take(length as u64);
    while body.len() < length {
        if body.len() == body.capacity() {
            let more = body.len().max(FIRST).min(length - body.len());
            fault::reserve(Site::HostFrame, &mut body, more)?;
        }
        if from.read_buf(&mut body).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(Some(serde_json::from_slice(&body)?))
}

/// Encodes a frame.
pub fn encode<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, value)?;
    let length = u32::try_from(bytes.len() - 4).ok().filter(|length| *length as usize <= HOST_FRAME);
    let length = length.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "too long for a frame"))?;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    Ok(bytes)
}

/// Writes a frame.
pub async fn write<T: Serialize>(to: &mut (impl AsyncWrite + Unpin), value: &T) -> io::Result<()> {
    to.write_all(&encode(value)?).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn frames_come_out_as_they_went_in_and_the_end_is_told_from_a_break() {
        let mut bytes = encode(&"one").unwrap();
        bytes.extend(encode(&"two\n").unwrap());
        let mut whole = bytes.as_slice();
        assert_eq!(read::<String>(&mut whole).await.unwrap().as_deref(), Some("one"));
        assert_eq!(read::<String>(&mut whole).await.unwrap().as_deref(), Some("two\n"));
        assert_eq!(read::<String>(&mut whole).await.unwrap(), None);
        for cut in [2, 6] {
            assert!(read::<String>(&mut &bytes[..cut]).await.is_err(), "cut after {cut} bytes");
        }
    }

    #[tokio::test]
    async fn a_length_that_nobody_sends_is_refused_before_anything_is_read() {
        let refused = read::<String>(&mut [0xff, 0xff, 0xff, 0xff, b'"'].as_slice()).await.unwrap_err();
        assert!(refused.to_string().contains("where at most 512 MiB are taken"), "{refused}");
    }
}
