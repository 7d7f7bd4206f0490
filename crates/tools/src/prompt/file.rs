//! A prompt file: a YAML header between lines of `---`, then the text.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::mode::Mode;

/// A parsed prompt file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PromptFile {
    pub(super) name: String,
    pub(super) path: Option<PathBuf>,
    pub(super) description: String,
    pub(super) modes: Vec<Mode>,
    pub(super) order: i64,
    pub(super) body: String,
}

/// An unusable prompt file.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {flaw}", path = .path.display())]
pub struct BadPrompt {
    /// The file.
    pub path: PathBuf,
    /// The problem.
    pub flaw: PromptFlaw,
}

/// A problem with a prompt file.
#[derive(Debug, thiserror::Error)]
pub enum PromptFlaw {
    /// The file does not start with a header.
    #[error("no header: the file must start with one between two lines of ---")]
    NoHeader,
    /// The header is not valid.
    #[error("invalid header: {0}")]
    Header(String),
    /// The file cannot be read.
    #[error("cannot read the file: {0}")]
    Unreadable(#[from] io::Error),
}

impl BadPrompt {
    /// Describes a valid header.
    pub fn hint(&self) -> &'static str {
        "a header has the lines `description: …`, `mode: agent` or `mode: [ask, edit]`, and `order: 80`"
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PromptHeader {
    description: String,
    mode: OneOrMany,
    order: i64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl PromptFile {
    pub(super) fn parse(name: &str, path: Option<PathBuf>, text: &str) -> Result<PromptFile, PromptFlaw> {
        let text = text.replace("\r\n", "\n");
        let rest = text.strip_prefix("---\n").ok_or(PromptFlaw::NoHeader)?;
        let (header, body) = match rest.split_once("\n---\n") {
            Some(parts) => parts,
            None => (rest.strip_suffix("\n---").ok_or(PromptFlaw::NoHeader)?, ""),
        };
        let header: PromptHeader = serde_saphyr::from_str(header)
            .map_err(|error| PromptFlaw::Header(first_line(&error.to_string())))?;
        let words = match header.mode {
            OneOrMany::One(word) => vec![word],
            OneOrMany::Many(words) => words,
        };
        let modes = words.iter().map(|word| word.parse()).collect::<Result<Vec<Mode>, _>>();
        let modes = modes.map_err(|unknown| PromptFlaw::Header(unknown.to_string()))?;
        Ok(PromptFile {
            name: name.to_owned(),
            path,
            description: header.description,
            modes,
            order: header.order,
            body: body.to_owned(),
        })
    }
}

/// Reads the prompt files of a folder. A missing folder has none.
pub(super) fn in_folder(folder: &Path) -> Result<Vec<PromptFile>, BadPrompt> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(BadPrompt { path: folder.to_owned(), flaw: error.into() }),
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

/// Reads a prompt file.
pub(super) fn read(path: &Path) -> Result<PromptFile, BadPrompt> {
    let bad = |flaw| BadPrompt { path: path.to_owned(), flaw };
    let text = fs::read_to_string(path).map_err(|error| bad(error.into()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    PromptFile::parse(&name, Some(path.to_owned()), &text).map_err(bad)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_names_the_modes_of_a_file() {
        let file = PromptFile::parse(
            "a.md",
            None,
            "---\r\ndescription: d\r\nmode: [ask, edit]\r\norder: 3\r\n---\r\nText\r\n",
        );
        let file = file.unwrap();
        assert_eq!(
            (file.modes.as_slice(), file.order, file.body.as_str()),
            (&[Mode::Ask, Mode::Edit][..], 3, "Text\n")
        );
        let empty =
            PromptFile::parse("a.md", None, "---\ndescription: d\nmode: agent\norder: 3\n---").unwrap();
        assert_eq!((empty.modes.as_slice(), empty.body.as_str()), (&[Mode::Agent][..], ""));
    }

    #[test]
    fn an_unusable_file_has_a_reason() {
        let check = |text: &str, said: &str| {
            let flaw = PromptFile::parse("a.md", None, text).unwrap_err().to_string();
            assert!(flaw.contains(said), "{text:?}: {flaw}");
        };
        check("Just text", "no header");
        check("---\nmode: agent\n", "no header");
        check("---\ndescription: d\norder: 1\n---\n", "mode");
        check("---\ndescription: d\nmode: plan\norder: 1\n---\n", "\"plan\" is not a mode");
        check("---\ndescription: d\nmode: agent\norder: first\n---\n", "invalid header");
        check("---\ndescription: d\nmode: agent\norder: 1\ncolour: red\n---\n", "colour");
    }

    #[test]
    fn an_unreadable_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("bad.md"), b"---\nmode: \xff\n---\n").unwrap();
        let error = in_folder(folder.path()).unwrap_err();
        assert!(error.to_string().starts_with(&folder.path().join("bad.md").display().to_string()));
    }
}
