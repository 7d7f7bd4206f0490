//! Starts the user's browser with a file. Returns whether it started.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use cellist_host::OpeningFile;

use crate::host;

/// The timeout of `xdg-settings`.
const NAMING: Duration = Duration::from_secs(2);

/// Whether a graphical session is available.
pub(super) fn can_start() -> bool {
    let has = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(target_os = "macos") || has("DISPLAY") || has("WAYLAND_DISPLAY")
}

/// The location of the redirect file, which the browser must be able to read.
pub(super) fn file() -> OpeningFile {
    match snap_folder() {
        Some(folder) => OpeningFile::In(folder),
        None => OpeningFile::InState,
    }
}

/// The folder for a browser from a snap, which cannot read hidden folders.
fn snap_folder() -> Option<PathBuf> {
    if cfg!(target_os = "macos") {
        return None;
    }
    let named = host::block_on(async {
        let mut command = tokio::process::Command::new("xdg-settings");
        command.args(["get", "default-web-browser"]).stdin(Stdio::null()).kill_on_drop(true);
        Ok(tokio::time::timeout(NAMING, command.output()).await)
    });
    let output = named.ok()?.ok()?.ok()?;
    let snap = snap_of(&String::from_utf8_lossy(&output.stdout))?.to_owned();
    let common = PathBuf::from(std::env::var_os("HOME")?).join("snap").join(snap).join("common");
    common.is_dir().then(|| common.join("cellist"))
}

/// The snap of a desktop entry such as `firefox_firefox.desktop`.
fn snap_of(entry: &str) -> Option<&str> {
    let (snap, program) = entry.trim().split_once('_')?;
    let is_name = !snap.is_empty() && snap.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (is_name && program.ends_with(".desktop")).then_some(snap)
}

/// Starts the user's browser with a file, if there is one to be started.
pub(super) fn start(file: &Path) -> bool {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(address(file.as_os_str())).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}

/// A path as a `file://` URL.
fn address(path: &OsStr) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    path.as_bytes().iter().fold("file://".to_owned(), |text, byte| match plain(*byte) {
        true => text + &char::from(*byte).to_string(),
        false => text + &format!("%{byte:02X}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_snap_of_a_browser_is_known_by_its_entry() {
        for (entry, expected) in [
            ("firefox_firefox.desktop\n", Some("firefox")),
            ("chromium_chromium.desktop", Some("chromium")),
            ("firefox.desktop", None),
            ("../../x_y.desktop", None),
            ("_x.desktop", None),
            ("", None),
        ] {
            assert_eq!(snap_of(entry), expected, "{entry}");
        }
    }

    #[test]
    fn a_file_is_named_as_browsers_do() {
        assert_eq!(address(OsStr::new("/a b/é#?.html")), "file:///a%20b/%C3%A9%23%3F.html");
    }
}
