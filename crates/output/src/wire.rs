//! The limits of every wire: how much a peer may send before its connection ends. All crates take them from here.
//!
//! | wire | one message | beyond it |
//! |---|---|---|
//! | ZeroMQ, from a kernel | [`KERNEL_MESSAGE`] | the output is left out, with a notice; a reply ends the kernel |
//! | ZeroMQ, a length that no message has | [`SKIPPED`] | the connection ends, and the kernel is lost |
//! | websocket, from a gateway | [`KERNEL_MESSAGE`] in one frame, [`FRAGMENTED`] in fragments | the connection ends |
//! | frames of the embedded runner | [`RUNNER_FRAME`] | the kernel is ended |
//! | HTTP answers of gateways | [`GATEWAY_ANSWER`] | the request fails |
//! | HTTP answers of providers | [`PROVIDER_ANSWER`], an event [`PROVIDER_EVENT`] | the answer ends with an error |
//! | head of an HTTP or websocket answer | [`HEAD`], [`HEADERS`] fields | the request fails |
//! | MCP: a line, an HTTP body | [`MCP_MESSAGE`] | an error, 413 over HTTP |
//! | websocket, from a page | [`PAGE_MESSAGE`] | the connection ends |
//! | the host's socket | [`HOST_FRAME`], the first [`HOST_HELLO`] | the connection ends |
//!
//! A length that a peer announces reserves address space at most. Memory follows the bytes that arrive.

use std::fmt;

/// One message of a kernel. A display of 400 MB fits; a limit in this place protects the host, not the file.
pub const KERNEL_MESSAGE: usize = 512 << 20;

/// A part of a kernel's message beside its content: header, parent, metadata, signature.
pub const KERNEL_PART: usize = 4 << 20;

/// Parts of one message. Buffers of widgets are parts too; with the content they are at most [`KERNEL_MESSAGE`].
pub const KERNEL_PARTS: usize = 1 << 16;

/// Bytes of one message that are read and thrown away, so that the connection survives one display that is too large.
pub const SKIPPED: u64 = 16 << 30;

/// Protocol commands and pings between two messages.
pub const COMMANDS: usize = 1000;

/// A websocket message that comes in fragments: all of them together. Jupyter servers send whole frames.
pub const FRAGMENTED: usize = 16 << 20;

/// Fragments of one websocket message.
pub const FRAGMENTS: usize = 4096;

/// The JSON that a gateway answers to a request: lists of kernels and kernelspecs.
pub const GATEWAY_ANSWER: usize = 8 << 20;

/// All that a provider sends as one answer.
pub const PROVIDER_ANSWER: usize = 64 << 20;

/// One event of a provider's stream.
pub const PROVIDER_EVENT: usize = 8 << 20;

/// The head of an HTTP answer: status line and fields.
pub const HEAD: usize = 64 << 10;

/// Fields of such a head.
pub const HEADERS: usize = 100;

/// One frame of the embedded runner, which refuses to make a larger one.
pub const RUNNER_FRAME: usize = (256 << 20) + 1024;

/// One message of an MCP client.
pub const MCP_MESSAGE: usize = 12 << 20;

/// One message of a page.
pub const PAGE_MESSAGE: usize = 64 << 20;

/// One frame between a front end and the host. An open notebook travels in one.
pub const HOST_FRAME: usize = 512 << 20;

/// The first frame between them.
pub const HOST_HELLO: usize = 64 << 10;

/// A number of bytes as people write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u64); 4] =
            [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        match UNITS.iter().find(|(_, unit)| self.0 >= *unit) {
            Some((name, unit)) if self.0.is_multiple_of(*unit) => write!(f, "{} {name}", self.0 / unit),
            Some((name, unit)) => write!(f, "{:.1} {name}", self.0 as f64 / *unit as f64),
            None => write!(f, "{} bytes", self.0),
        }
    }
}

/// A message that is larger than its wire allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// The kind of data, such as `a message`.
    pub what: &'static str,
    /// Its size, as far as it is known.
    pub size: u64,
    /// The limit.
    pub limit: u64,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooLarge { what, size, limit } = self;
        write!(f, "{what} of {}, where at most {} are taken", Bytes(*size), Bytes(*limit))
    }
}

impl std::error::Error for TooLarge {}

/// Checks a size against its limit.
pub fn check(what: &'static str, size: u64, limit: usize) -> Result<(), TooLarge> {
    let limit = limit as u64;
    if size <= limit { Ok(()) } else { Err(TooLarge { what, size, limit }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_for_people() {
        let sizes = [1, 1 << 10, 512 << 20, (3 << 30) / 2, 1 << 40].map(|size| Bytes(size).to_string());
        assert_eq!(sizes, ["1 bytes", "1 KiB", "512 MiB", "1.5 GiB", "1 TiB"]);
        let error = check("a frame", 1 << 40, KERNEL_MESSAGE).unwrap_err();
        assert_eq!(error.to_string(), "a frame of 1 TiB, where at most 512 MiB are taken");
        assert_eq!(check("a frame", KERNEL_MESSAGE as u64, KERNEL_MESSAGE), Ok(()));
    }
}
