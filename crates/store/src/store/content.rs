//! Content of a file, actual or expected. Compares and writes it without a second copy in memory.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::sync::Arc;

use cellist_notebook::{Notebook, Revision};
use cellist_platform::files::Mark;

/// Bytes per read in a comparison.
const BLOCK: usize = 256 * 1024;
/// Size of the buffer that collects small writes.
const TOGETHER: usize = 64 * 1024;

/// The content that a file should have.
#[derive(Clone, Debug)]
pub(super) struct ExpectedFile {
    pub(super) content: FileContent,
    /// Identity, size and times of the file when it had this content.
    pub(super) mark: Option<Mark>,
}

#[derive(Clone, Debug)]
pub(super) enum FileContent {
    /// The file does not exist.
    Absent,
    Notebook(Arc<Notebook>),
    /// Bytes that are not a notebook.
    Bytes(Vec<u8>),
}

impl ExpectedFile {
    pub(super) fn nothing() -> ExpectedFile {
        ExpectedFile { content: FileContent::Absent, mark: None }
    }

    pub(super) fn bytes(bytes: Vec<u8>) -> ExpectedFile {
        ExpectedFile { content: FileContent::Bytes(bytes), mark: None }
    }

    pub(super) fn notebook(notebook: Arc<Notebook>, mark: Option<Mark>) -> ExpectedFile {
        ExpectedFile { content: FileContent::Notebook(notebook), mark }
    }
}

impl FileContent {
    pub(super) fn is_in(&self, file: &File) -> io::Result<bool> {
        match self {
            FileContent::Absent => Ok(false),
            FileContent::Notebook(notebook) => holds(file, notebook.pieces().iter()),
            FileContent::Bytes(bytes) => holds(file, [bytes.as_slice()]),
        }
    }

    /// Writes the content at the current position of the file.
    pub(super) fn write(&self, file: &File) -> io::Result<()> {
        match self {
            FileContent::Absent => Ok(()),
            FileContent::Notebook(notebook) => write(file, notebook),
            FileContent::Bytes(bytes) => (&*file).write_all(bytes),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            FileContent::Absent => 0,
            FileContent::Notebook(notebook) => notebook.pieces().len(),
            FileContent::Bytes(bytes) => bytes.len(),
        }
    }

    pub(super) fn revision(&self) -> Revision {
        match self {
            FileContent::Absent => Revision::of([]),
            FileContent::Notebook(notebook) => notebook.revision(),
            FileContent::Bytes(bytes) => Revision::of([bytes.as_slice()]),
        }
    }
}

/// Writes a notebook at the current position of the file. Small pieces are collected, large ones
/// written directly.
pub(super) fn write(file: &File, notebook: &Notebook) -> io::Result<()> {
    let mut writer = BufWriter::with_capacity(TOGETHER, file);
    for piece in notebook.pieces().iter() {
        writer.write_all(piece)?;
    }
    writer.flush()
}

/// Whether a file has exactly these bytes.
pub(super) fn holds<'a>(file: &File, pieces: impl IntoIterator<Item = &'a [u8]>) -> io::Result<bool> {
    let mut same = true;
    let mut pieces = pieces.into_iter();
    let mut piece: &[u8] = &[];
    blocks(file, |mut block| {
        while !block.is_empty() {
            if piece.is_empty() {
                match pieces.next() {
                    Some(next) => piece = next,
                    None => {
                        same = false;
                        return false;
                    }
                }
                continue;
            }
            let both = piece.len().min(block.len());
            if piece[..both] != block[..both] {
                same = false;
                return false;
            }
            piece = &piece[both..];
            block = &block[both..];
        }
        true
    })?;
    Ok(same && piece.is_empty() && pieces.all(<[u8]>::is_empty))
}

/// The revision of a file's content.
pub(super) fn revision_of(file: &File) -> io::Result<Revision> {
    let mut all = Vec::new();
    (&*file).rewind()?;
    (&*file).read_to_end(&mut all)?;
    Ok(Revision::of([all.as_slice()]))
}

/// Reads a file from its start in blocks, until `go_on` returns false.
fn blocks(mut file: &File, mut go_on: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
    file.rewind()?;
    let mut block = vec![0; BLOCK];
    loop {
        match file.read(&mut block) {
            Ok(0) => return Ok(()),
            Ok(length) if go_on(&block[..length]) => {}
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{BLOCK, holds};

    #[track_caller]
    fn check(content: &[u8], pieces: &[&[u8]], expected: bool) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        assert_eq!(holds(&file, pieces.iter().copied()).unwrap(), expected);
    }

    #[test]
    fn a_file_is_compared_across_the_borders_of_pieces_and_blocks() {
        let long = vec![7; BLOCK + 1];
        check(b"", &[], true);
        check(b"", &[b""], true);
        check(b"", &[b"a"], false);
        check(b"a", &[], false);
        check(b"abc", &[b"a", b"", b"bc", b""], true);
        check(b"abc", &[b"a", b"bd"], false);
        check(b"abc", &[b"ab"], false);
        check(b"ab", &[b"a", b"bc"], false);
        check(&long, &[&long[..5], &long[5..]], true);
        check(&long, &[&long[..BLOCK]], false);
        check(&long[..BLOCK], &[&long], false);
    }
}
