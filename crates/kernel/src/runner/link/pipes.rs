//! The pipes of a runner: its two streams of text and its frames, read as far as there is something, and its requests.

use std::collections::VecDeque;
use std::io;

use bytes::{Buf, Bytes, BytesMut};
use cellist_output::StreamName;
use cellist_platform::fault::{self, Site};
use memchr::memchr;
use tokio::net::unix::pipe;

use crate::runner::frames::{self, LARGEST_FRAME, RunnerFrame, RunnerLine};
use crate::runner::marks::{Marks, Piece};
use crate::runner::order::OutputOrder;
use crate::waiting::{CHUNK, LARGE};

/// One of the output pipes.
pub(super) struct PipeStream {
    pub(super) name: StreamName,
    pipe: Option<pipe::Receiver>,
    buffer: BytesMut,
    marks: Marks,
}

impl PipeStream {
    pub(super) fn new(name: StreamName, pipe: pipe::Receiver, token: &str) -> PipeStream {
        PipeStream { name, pipe: Some(pipe), buffer: BytesMut::new(), marks: Marks::new(token) }
    }

    /// Waits until there is something to read; for ever, once the pipe has ended.
    pub(super) async fn readable(&self) -> bool {
        readable(self.pipe.as_ref()).await
    }

    /// Reads the available bytes, up to one chunk.
    pub(super) fn read(&mut self) -> Option<VecDeque<Piece>> {
        let bytes = self.bytes()?;
        let mut pieces = VecDeque::new();
        self.marks.push(bytes, &mut pieces);
        Some(pieces)
    }

    /// The rest when nothing more comes.
    pub(super) fn finish(&mut self) -> VecDeque<Piece> {
        let mut pieces = VecDeque::new();
        self.marks.finish(&mut pieces);
        pieces
    }

    fn bytes(&mut self) -> Option<Bytes> {
        let pipe = self.pipe.as_ref()?;
        if self.buffer.capacity() < CHUNK / 2 {
            self.buffer.reserve(CHUNK);
        }
        match pipe.try_read_buf(&mut self.buffer) {
            Ok(0) => {
                self.pipe = None;
                None
            }
            // A short text must not keep a whole chunk in memory.
            Ok(read) if read < CHUNK / 16 => {
                let bytes = Bytes::copy_from_slice(&self.buffer);
                self.buffer.clear();
                Some(bytes)
            }
            Ok(_) => Some(self.buffer.split().freeze()),
            Err(error) => {
                if error.kind() != io::ErrorKind::WouldBlock {
                    self.pipe = None;
                }
                None
            }
        }
    }
}

/// The pipe of frames.
pub(super) struct FrameReader {
    pipe: Option<pipe::Receiver>,
    buffer: BytesMut,
    // How much of the buffer has no end of line in it.
    looked: usize,
}

impl FrameReader {
    pub(super) fn new(pipe: pipe::Receiver) -> FrameReader {
        FrameReader { pipe: Some(pipe), buffer: BytesMut::new(), looked: 0 }
    }

    pub(super) async fn readable(&self) -> bool {
        readable(self.pipe.as_ref()).await
    }

    /// Reads the available bytes, up to one chunk; false when there is nothing.
    pub(super) fn read(&mut self) -> std::result::Result<bool, String> {
        let Some(pipe) = &self.pipe else { return Ok(false) };
        if self.buffer.len() > LARGEST_FRAME {
            return Err(format!("a frame is longer than {LARGEST_FRAME} bytes"));
        }
        let length = self.buffer.len();
        if length >= CHUNK && self.buffer.capacity() - length < CHUNK {
            // The buffer doubles, and aborts where there is no room for that.
            fault::check_room(Site::RunnerFrame, 2 * length)
                .map_err(|_| format!("there is no memory for a frame of more than {length} bytes"))?;
        }
        self.buffer.reserve(CHUNK);
        match pipe.try_read_buf(&mut self.buffer) {
            Ok(0) => {
                // It closed the pipe and may still run: without the pipe its state is unknown.
                self.pipe = None;
                Err("the pipe of frames was closed".into())
            }
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error.to_string()),
        }
    }

    pub(super) fn line(&mut self) -> Option<Bytes> {
        match memchr(b'\n', &self.buffer[self.looked..]) {
            Some(at) => {
                let mut line = self.buffer.split_to(self.looked + at + 1);
                line.truncate(line.len() - 1);
                self.looked = 0;
                if line.len() >= LARGE {
                    // The room that a large frame took goes with it.
                    self.buffer = BytesMut::from(&self.buffer[..]);
                }
                Some(line.freeze())
            }
            None => {
                self.looked = self.buffer.len();
                None
            }
        }
    }
}

/// All that a runner writes, put in order.
pub(super) struct Incoming {
    pub(super) streams: [PipeStream; 2],
    pub(super) frames: FrameReader,
    pub(super) order: OutputOrder<RunnerFrame>,
}

impl Incoming {
    /// Reads the available bytes of one of the streams; false when there is nothing.
    pub(super) fn read(&mut self, stream: usize) -> bool {
        let stream = &mut self.streams[stream];
        let pieces = stream.read();
        let is_some = pieces.is_some();
        if let Some(pieces) = pieces {
            self.order.read(stream.name, pieces);
        }
        is_some
    }

    /// Reads the last bytes of a process that is gone.
    pub(super) fn read_rest(&mut self) {
        for stream in &mut self.streams {
            while let Some(pieces) = stream.read() {
                self.order.read(stream.name, pieces);
            }
            self.order.read(stream.name, stream.finish());
        }
        while let Ok(true) = self.frames.read() {
            while let Some(line) = self.frames.line() {
                if let Ok(RunnerLine::Placed { mark, frame }) = frames::read(&line) {
                    self.order.frame(mark, frame);
                }
            }
        }
        self.order.finish();
    }
}

/// The pipe of requests, and the bytes that it has not taken yet.
pub(super) struct RequestWriter {
    pipe: pipe::Sender,
    unwritten: BytesMut,
}

impl RequestWriter {
    pub(super) fn new(pipe: pipe::Sender, first: &[u8]) -> RequestWriter {
        RequestWriter { pipe, unwritten: BytesMut::from(first) }
    }

    pub(super) fn is_written(&self) -> bool {
        self.unwritten.is_empty()
    }

    pub(super) async fn writable(&self) -> bool {
        self.pipe.writable().await.is_ok()
    }

    pub(super) fn push(&mut self, line: &[u8]) {
        self.unwritten.extend_from_slice(line);
    }

    /// Writes as much as the pipe takes.
    pub(super) fn write(&mut self) {
        while !self.unwritten.is_empty() {
            match self.pipe.try_write(&self.unwritten) {
                Ok(written) => self.unwritten.advance(written),
                // Either it takes more later, or it is gone, and then its death is told.
                Err(error) => {
                    if error.kind() != io::ErrorKind::WouldBlock {
                        self.unwritten.clear();
                    }
                    break;
                }
            }
        }
    }
}

async fn readable(pipe: Option<&pipe::Receiver>) -> bool {
    match pipe {
        Some(pipe) => pipe.readable().await.is_ok(),
        None => std::future::pending().await,
    }
}
