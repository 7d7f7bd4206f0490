//! The minimum cost of a safe change of a file: read it, write a new one, and sync file and folder.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

fn main() -> io::Result<()> {
    let mut paths = std::env::args_os().skip(1);
    let (Some(from), Some(to)) = (paths.next(), paths.next()) else {
        return Err(io::Error::other("usage: floor-copy FROM TO"));
    };
    let to = Path::new(&to);
    let bytes = fs::read(from)?;
    let mut file = File::create(to)?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    File::open(to.parent().unwrap_or(Path::new(".")))?.sync_all()
}
