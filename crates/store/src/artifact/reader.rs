//! Reads ranges of an artifact by line number, in constant memory for files of any size.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use cellist_platform::fault::{self, Site};
use memchr::{memchr_iter, memrchr_iter};

use super::{ArtifactError, ArtifactId, Artifacts};

/// Bytes per read.
const BLOCK: usize = 256 * 1024;

/// A range of an artifact. Lines are counted from 1 and end at `\n` only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArtifactRange {
    /// The complete output.
    Whole,
    /// Lines `first` to `last`, both included. Without `last`, to the end.
    Lines {
        /// The first line.
        first: u64,
        /// The last line.
        last: Option<u64>,
    },
    /// The last lines, by their number.
    Tail(u64),
}

/// The bytes of a range, up to a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactExcerpt {
    /// The bytes, as they were written.
    pub bytes: Vec<u8>,
    /// The number of bytes of the range beyond the limit.
    pub left_out: u64,
}

impl Artifacts {
    /// Copies a range byte for byte. Returns the number of bytes.
    pub fn copy(
        &self,
        id: &ArtifactId,
        part: ArtifactRange,
        out: &mut dyn Write,
    ) -> Result<u64, ArtifactError> {
        let mut reader = ArtifactReader::open(self, id)?;
        let (from, to) = reader.locate(part)?;
        reader.seek(from)?;
        let mut rest = to - from;
        let mut block = vec![0; BLOCK];
        while rest > 0 {
            let wanted = usize::try_from(rest).map_or(BLOCK, |rest| rest.min(BLOCK));
            let read = reader.read(&mut block[..wanted])?;
            if read == 0 {
                break;
            }
            out.write_all(&block[..read]).map_err(|error| ArtifactError::Copy { id: id.clone(), error })?;
            rest -= read as u64;
        }
        Ok(to - from - rest)
    }

    /// Reads a range, up to `limit` bytes.
    pub fn read(
        &self,
        id: &ArtifactId,
        part: ArtifactRange,
        limit: usize,
    ) -> Result<ArtifactExcerpt, ArtifactError> {
        let mut reader = ArtifactReader::open(self, id)?;
        let (from, to) = reader.locate(part)?;
        reader.seek(from)?;
        let wanted = (to - from).min(limit as u64);
        let mut bytes = Vec::new();
        let read = (&mut reader.file).take(wanted).read_to_end(&mut bytes);
        read.map_err(|error| reader.failed(error))?;
        Ok(ArtifactExcerpt { left_out: to - from - bytes.len() as u64, bytes })
    }
}

/// An open artifact. Its length is fixed when it is opened.
pub(super) struct ArtifactReader {
    id: ArtifactId,
    file: File,
    length: u64,
}

impl ArtifactReader {
    pub(super) fn open(artifacts: &Artifacts, id: &ArtifactId) -> Result<ArtifactReader, ArtifactError> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => ArtifactError::NoSuchArtifact { id: id.clone() },
            _ => ArtifactError::Unreadable { id: id.clone(), error },
        };
        let options = File::options().read(true).to_owned();
        let file = fault::open(Site::ArtifactRead, &options, &artifacts.path(id)).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        Ok(ArtifactReader { id: id.clone(), file, length })
    }

    pub(super) fn failed(&self, error: io::Error) -> ArtifactError {
        ArtifactError::Unreadable { id: self.id.clone(), error }
    }

    pub(super) fn read(&mut self, block: &mut [u8]) -> Result<usize, ArtifactError> {
        loop {
            match self.file.read(block) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read.map_err(|error| self.failed(error)),
            }
        }
    }

    fn seek(&mut self, to: u64) -> Result<(), ArtifactError> {
        self.file.seek(SeekFrom::Start(to)).map_err(|error| self.failed(error))?;
        Ok(())
    }

    /// The start and end of a range, in bytes.
    fn locate(&mut self, part: ArtifactRange) -> Result<(u64, u64), ArtifactError> {
        match part {
            ArtifactRange::Whole => Ok((0, self.length)),
            ArtifactRange::Lines { first, last } => self.locate_lines(first, last),
            ArtifactRange::Tail(count) => Ok((self.locate_tail(count)?, self.length)),
        }
    }

    fn locate_lines(&mut self, first: u64, last: Option<u64>) -> Result<(u64, u64), ArtifactError> {
        let mut block = vec![0; BLOCK];
        // `line` begins at `begins`; `offset` is the end of the bytes read.
        let (mut line, mut begins, mut offset) = (1, 0, 0);
        let mut from = (first == 1).then_some(0);
        loop {
            let read = self.read(&mut block)?;
            if read == 0 {
                break;
            }
            for end in memchr_iter(b'\n', &block[..read]) {
                begins = offset + end as u64 + 1;
                if last == Some(line)
                    && let Some(from) = from
                {
                    return Ok((from, begins));
                }
                line += 1;
                if line == first {
                    from = Some(begins);
                    if last.is_none() && begins < self.length {
                        return Ok((begins, self.length));
                    }
                }
            }
            offset += read as u64;
        }
        let lines = if begins < offset { line } else { line - 1 };
        match from {
            Some(from) if first <= lines && last.is_none_or(|last| first <= last && last <= lines) => {
                Ok((from, offset))
            }
            _ => Err(ArtifactError::OutOfRange {
                id: self.id.clone(),
                first,
                last: last.unwrap_or(first),
                lines,
            }),
        }
    }

    fn locate_tail(&mut self, count: u64) -> Result<u64, ArtifactError> {
        if count == 0 {
            return Ok(self.length);
        }
        let mut block = vec![0; BLOCK];
        let mut ends = 0;
        let mut before = self.length;
        while before > 0 {
            let size = before.min(BLOCK as u64);
            before -= size;
            self.seek(before)?;
            let block = &mut block[..usize::try_from(size).unwrap_or(BLOCK)];
            self.file.read_exact(block).map_err(|error| self.failed(error))?;
            for end in memrchr_iter(b'\n', block) {
                let after = before + end as u64 + 1;
                // The end of the last line starts no new line.
                if after == self.length {
                    continue;
                }
                ends += 1;
                if ends == count {
                    return Ok(after);
                }
            }
        }
        Ok(0)
    }
}
