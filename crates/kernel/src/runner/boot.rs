//! How the runner gets into a Python process: from a folder of ours, where Python keeps its compiled form, or
//! through the pipe where there is no such folder.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use xxhash_rust::xxh3::Xxh3Default;

/// The files of the runner, by their paths in its folder.
macro_rules! files {
    ($($path:literal,)*) => { &[$(($path, include_str!(concat!("../../runner/", $path)))),*] };
}
const FILES: &[(&str, &str)] = files![
    "cellist_runner/__init__.py",
    "cellist_runner/base.py",
    "cellist_runner/c_output.py",
    "cellist_runner/capture.py",
    "cellist_runner/commands.py",
    "cellist_runner/comms.py",
    "cellist_runner/compiling.py",
    "cellist_runner/completeness.py",
    "cellist_runner/completion.py",
    "cellist_runner/debugging.py",
    "cellist_runner/display.py",
    "cellist_runner/errors.py",
    "cellist_runner/execution.py",
    "cellist_runner/figures.py",
    "cellist_runner/formatting.py",
    "cellist_runner/history.py",
    "cellist_runner/hooks.py",
    "cellist_runner/inspection.py",
    "cellist_runner/interrupts.py",
    "cellist_runner/ipython.py",
    "cellist_runner/ipython_arguments.py",
    "cellist_runner/ipython_comm.py",
    "cellist_runner/ipython_display.py",
    "cellist_runner/ipython_magic.py",
    "cellist_runner/ipython_media.py",
    "cellist_runner/ipython_objects.py",
    "cellist_runner/ipython_shell.py",
    "cellist_runner/jsontext.py",
    "cellist_runner/kernel.py",
    "cellist_runner/lookup.py",
    "cellist_runner/magics/__init__.py",
    "cellist_runner/magics/aliases.py",
    "cellist_runner/magics/configuration.py",
    "cellist_runner/magics/display.py",
    "cellist_runner/magics/errors.py",
    "cellist_runner/magics/history.py",
    "cellist_runner/magics/profiling.py",
    "cellist_runner/magics/running.py",
    "cellist_runner/magics/session.py",
    "cellist_runner/magics/settings.py",
    "cellist_runner/magics/system.py",
    "cellist_runner/magics/timing.py",
    "cellist_runner/namespace.py",
    "cellist_runner/outlet.py",
    "cellist_runner/prelude.py",
    "cellist_runner/pretty.py",
    "cellist_runner/pretty_types.py",
    "cellist_runner/reloading.py",
    "cellist_runner/reporting.py",
    "cellist_runner/requests.py",
    "cellist_runner/runner.py",
    "cellist_runner/shell.py",
    "cellist_runner/streams.py",
    "cellist_runner/syntax.py",
    "cellist_runner/tasks.py",
    "cellist_runner/tracebacks/__init__.py",
    "cellist_runner/tracebacks/colours.py",
    "cellist_runner/tracebacks/docs.py",
    "cellist_runner/tracebacks/frames.py",
    "cellist_runner/tracebacks/layout.py",
    "cellist_runner/tracebacks/listing.py",
    "cellist_runner/tracebacks/native.py",
    "cellist_runner/tracebacks/sources.py",
    "cellist_runner/tracebacks/variables.py",
    "cellist_runner/transforming.py",
    "cellist_runner/watched.py",
];

/// Where the descriptors of the protocol are in the child.
pub(super) const REQUESTS: i32 = 3;
/// Where frames go in the child.
pub(super) const FRAMES: i32 = 4;

// Both run on any Python, so that an old one gets a message.
const CHECK: &str = "import sys
if sys.version_info < (3, 8):
    sys.exit('cellist needs Python 3.8 or newer; %s is %s' % (sys.executable, sys.version.split()[0]))
# A file of the user's may have the name of a module that the runner imports.
sys.path[:] = [entry for entry in sys.path if entry]
";
/// The first line of an old one.
pub(super) const TOO_OLD: &str = "cellist needs Python";
const FROM_FOLDER: &str = "write, sys.dont_write_bytecode = sys.dont_write_bytecode, False
sys.path.insert(0, sys.argv[1])
import cellist_runner
del sys.path[0]
sys.dont_write_bytecode = write
cellist_runner.main(3, 4)
";
const FROM_PIPE: &str = include_str!("../../runner/cellist_boot.py");

/// All files as one JSON object, for a Python that gets them through the pipe.
static SENT: LazyLock<String> = LazyLock::new(|| {
    let files: serde_json::Map<_, _> =
        FILES.iter().map(|(path, source)| ((*path).to_owned(), (*source).into())).collect();
    serde_json::Value::Object(files).to_string()
});

/// The folder's name: another runner is in another folder, so that nothing compiled is ever stale.
static FOLDER: LazyLock<String> = LazyLock::new(|| {
    // Made at each start of the program, so a fast hash. The folder is private, and its files are compared.
    let mut digest = Xxh3Default::new();
    for (path, source) in FILES {
        [path, "\0", source, "\0"].iter().for_each(|part| digest.update(part.as_bytes()));
    }
    format!("runner-{:016x}", digest.digest())
});

/// How a process becomes a runner.
pub(super) struct Boot {
    /// Arguments of the interpreter.
    pub(super) arguments: Vec<OsString>,
    /// The bytes that have to be written to it first.
    pub(super) first: &'static str,
}

impl Boot {
    /// Prepares a start, with the compiled runner kept in `cache` if that can be written.
    pub(super) fn new(cache: &Path) -> Boot {
        match unpack(cache) {
            Ok(folder) => Boot { arguments: arguments(FROM_FOLDER, folder.into()), first: "" },
            Err(_) => Boot { arguments: arguments(FROM_PIPE, SENT.len().to_string().into()), first: &SENT },
        }
    }
}

fn arguments(how: &str, argument: OsString) -> Vec<OsString> {
    vec!["-c".into(), format!("{CHECK}{how}").into(), argument]
}

/// Puts the runner into its folder, where it is not there, and returns the folder.
fn unpack(cache: &Path) -> io::Result<PathBuf> {
    let folder = cache.join(&*FOLDER);
    for (path, source) in FILES {
        let file = folder.join(path);
        if !fs::read(&file).is_ok_and(|found| found == source.as_bytes()) {
            write(&file, source)?;
        }
    }
    Ok(folder)
}

fn write(file: &Path, source: &str) -> io::Result<()> {
    let folder = file.parent().unwrap_or(file);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // Another process may be at the same: the last one puts the same bytes there.
    let temporary = file.with_extension(format!("{}", std::process::id()));
    let mut out = fs::File::create(&temporary)?;
    out.write_all(source.as_bytes())?;
    drop(out);
    fs::rename(&temporary, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_runner_is_known() {
        fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    walk(&path, found);
                } else if path.extension().is_some_and(|end| end == "py") {
                    found.push(path);
                }
            }
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("runner");
        let mut found = Vec::new();
        walk(&root.join("cellist_runner"), &mut found);
        found.sort();
        let known: Vec<PathBuf> = FILES.iter().map(|(path, _)| root.join(path)).collect();
        assert_eq!(found, known);
    }

    #[test]
    fn the_runner_is_unpacked_once_and_repaired_when_it_was_changed() {
        let cache = tempfile::tempdir().unwrap();
        let folder = unpack(cache.path()).unwrap();
        let file = folder.join("cellist_runner/magics/system.py");
        let made = fs::metadata(&file).unwrap().modified().unwrap();
        unpack(cache.path()).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), made);
        let source = fs::read_to_string(&file).unwrap();
        fs::write(&file, "print('other')").unwrap();
        unpack(cache.path()).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), source);
    }

    #[test]
    fn a_folder_that_cannot_be_written_sends_the_runner_through_the_pipe() {
        let boot = Boot::new(Path::new("/dev/null"));
        assert_eq!(boot.first, SENT.as_str());
    }
}
