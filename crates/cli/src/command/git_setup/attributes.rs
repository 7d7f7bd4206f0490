//! The line of .gitattributes that selects our drivers.

use std::fs;
use std::io;
use std::path::Path;

use crate::error::CliError;

const LINE: &str = "*.ipynb diff=cellist merge=cellist";

/// Adds the line, unless it exists. Returns a message if it was added.
pub(super) fn add(file: &Path) -> Result<Option<String>, CliError> {
    let text = read(file)?;
    if text.lines().any(is_ours) {
        return Ok(None);
    }
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    write(file, &format!("{text}{newline}{LINE}\n"))?;
    Ok(Some(format!("Added `{LINE}` to {}", file.display())))
}

/// Removes the line, if it exists, and a file that is empty without it. Returns a message.
pub(super) fn remove(file: &Path) -> Result<Option<String>, CliError> {
    let text = read(file)?;
    if !text.lines().any(is_ours) {
        return Ok(None);
    }
    let rest: String = text.split_inclusive('\n').filter(|line| !is_ours(line)).collect();
    if rest.is_empty() {
        fs::remove_file(file).map_err(|error| CliError::unwritable(file, &error))?;
    } else {
        write(file, &rest)?;
    }
    Ok(Some(format!("Removed `{LINE}` from {}", file.display())))
}

/// Later lines about notebooks, which override ours.
pub(super) fn rivals(file: &Path) -> Result<Vec<String>, CliError> {
    let text = read(file)?;
    let behind = text.lines().enumerate().skip_while(|(_, line)| !is_ours(line)).skip(1);
    let rival = |line: &str| {
        let mut words = line.split_whitespace();
        words.next().is_some_and(|pattern| pattern.ends_with(".ipynb"))
            && words.any(|word| word.contains("diff") || word.contains("merge"))
    };
    let told = behind.filter(|(_, line)| rival(line)).map(|(index, line)| {
        format!("{}:{}: `{}` comes later and wins", file.display(), index + 1, line.trim())
    });
    Ok(told.collect())
}

fn is_ours(line: &str) -> bool {
    line.split_whitespace().eq(LINE.split_whitespace())
}

fn read(file: &Path) -> Result<String, CliError> {
    match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        result => result.map_err(|error| CliError::unreadable(file, &error)),
    }
}

fn write(file: &Path, text: &str) -> Result<(), CliError> {
    let folder = file.parent().unwrap_or(Path::new("."));
    (fs::create_dir_all(folder).and_then(|()| fs::write(file, text)))
        .map_err(|error| CliError::unwritable(file, &error))
}
