//! How the runner gets into a Python process: from a folder of ours, where Python keeps its compiled form, or
//! through the pipe where there is no such folder.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use sha2::{Digest, Sha256};

/// The runner itself.
const SOURCE: &str = include_str!("../../runner/cellist_runner.py");

/// Where the descriptors of the protocol are in the child.
pub(super) const REQUESTS: i32 = 3;
/// Where frames go in the child.
pub(super) const FRAMES: i32 = 4;

// Both run on any Python, so that an old one can be told what is wrong.
const CHECK: &str = "import sys
if sys.version_info < (3, 8):
    sys.exit('cellist needs Python 3.8 or newer; %s is %s' % (sys.executable, sys.version.split()[0]))
";
/// What an old one says first.
pub(super) const TOO_OLD: &str = "cellist needs Python";
const FROM_FOLDER: &str = "write, sys.dont_write_bytecode = sys.dont_write_bytecode, False
sys.path.insert(0, sys.argv[1])
import cellist_runner
del sys.path[0]
sys.dont_write_bytecode = write
cellist_runner.main(3, 4)
";
const FROM_PIPE: &str = "import os, types
rest, pieces = int(sys.argv[1]), []
while rest:
    pieces.append(os.read(3, min(rest, 65536)))
    rest -= len(pieces[-1]) or os._exit(1)
cellist_runner = sys.modules['cellist_runner'] = types.ModuleType('cellist_runner')
exec(compile(b''.join(pieces), '<cellist_runner>', 'exec'), cellist_runner.__dict__)
cellist_runner.main(3, 4)
";

/// The folder's name: another runner is in another folder, so that nothing compiled is ever stale.
static FOLDER: LazyLock<String> = LazyLock::new(|| {
    let digest = Sha256::digest(SOURCE.as_bytes());
    let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("runner-{name}")
});

/// How a process becomes a runner.
pub(super) struct Boot {
    /// Arguments of the interpreter.
    pub(super) arguments: Vec<OsString>,
    /// What has to be written to it first.
    pub(super) first: &'static str,
}

impl Boot {
    /// Prepares a start, with the compiled runner kept in `cache` if that can be written.
    pub(super) fn new(cache: &Path) -> Boot {
        match unpack(cache) {
            Ok(folder) => Boot { arguments: arguments(FROM_FOLDER, folder.into()), first: "" },
            Err(_) => {
                Boot { arguments: arguments(FROM_PIPE, SOURCE.len().to_string().into()), first: SOURCE }
            }
        }
    }
}

fn arguments(how: &str, argument: OsString) -> Vec<OsString> {
    vec!["-c".into(), format!("{CHECK}{how}").into(), argument]
}

/// Puts the runner into its folder, if it is not there, and returns the folder.
fn unpack(cache: &Path) -> io::Result<PathBuf> {
    let folder = cache.join(&*FOLDER);
    let file = folder.join("cellist_runner.py");
    if fs::read(&file).is_ok_and(|found| found == SOURCE.as_bytes()) {
        return Ok(folder);
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    // Another process may be at the same: whoever is last puts the same bytes there.
    let temporary = folder.join(format!(".{}.py", std::process::id()));
    let mut out = fs::File::create(&temporary)?;
    out.write_all(SOURCE.as_bytes())?;
    drop(out);
    fs::rename(&temporary, &file)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runner_is_unpacked_once_and_repaired_when_it_was_changed() {
        let cache = tempfile::tempdir().unwrap();
        let folder = unpack(cache.path()).unwrap();
        let file = folder.join("cellist_runner.py");
        let made = fs::metadata(&file).unwrap().modified().unwrap();
        unpack(cache.path()).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), made);
        fs::write(&file, "print('other')").unwrap();
        unpack(cache.path()).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), SOURCE);
    }

    #[test]
    fn a_folder_that_cannot_be_written_sends_the_runner_through_the_pipe() {
        let boot = Boot::new(Path::new("/dev/null"));
        assert_eq!(boot.first, SOURCE);
    }
}
