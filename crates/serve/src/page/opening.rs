//! A private file that leads a browser to the page: its name may stand on a command line, which other users read, and the
//! link may not. It goes when the link was used or is too old.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::secret::random;

/// A file that is removed when it is dropped.
#[derive(Debug)]
pub(super) struct Opening(PathBuf);

impl Opening {
    /// Makes a file that leads to a link, in a folder that is then private.
    pub(super) fn write(folder: &Path, link: &str) -> io::Result<Opening> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let found = fs::symlink_metadata(folder)?;
        if !found.is_dir() || found.uid() != rustix::process::geteuid().as_raw() {
            let why = format!("{} is not a folder of this user", folder.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        fs::set_permissions(folder, Permissions::from_mode(0o700))?;
        let path = folder.join(format!("open-{}.html", &random()?[..16]));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let opening = Opening(path);
        file.write_all(html(link).as_bytes())?;
        Ok(opening)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Removes files that a host left behind that was killed.
pub(super) fn sweep(folder: &Path, older_than: Duration) {
    let Ok(files) = fs::read_dir(folder) else { return };
    for file in files.flatten() {
        let name = file.file_name();
        let is_ours = name.to_str().is_some_and(|name| name.starts_with("open-") && name.ends_with(".html"));
        let age = file.metadata().and_then(|file| file.modified()).ok().and_then(|time| time.elapsed().ok());
        if is_ours && age.is_some_and(|age| age >= older_than) {
            let _ = fs::remove_file(file.path());
        }
    }
}

/// A page that goes on to a link, and has it to be clicked where a browser does not go by itself.
fn html(link: &str) -> String {
    let link = link.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0;url={link}\">\n<title>cellist</title>\n\
         <p><a href=\"{link}\">Open the notebook</a>. The link works once.</p>\n"
    )
}

#[cfg(test)]
mod tests {
    use testkit::Scratch;

    use super::*;

    #[test]
    fn the_file_is_private_leads_to_the_link_and_goes() {
        let scratch = Scratch::new();
        let folder = scratch.path().join("run/open");
        let opening = Opening::write(&folder, "http://127.0.0.1:1/?code=c&path=%22x").unwrap();
        let path = opening.path().to_owned();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&folder)), (0o600, 0o700));
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("0;url=http://127.0.0.1:1/?code=c&amp;path=%22x\""), "{text}");
        sweep(&folder, Duration::from_secs(60));
        assert!(path.exists());
        drop(opening);
        assert!(!path.exists());
        let left = Opening::write(&folder, "http://127.0.0.1:1/").unwrap();
        sweep(&folder, Duration::ZERO);
        assert!(!left.path().exists());
    }

    #[test]
    fn a_link_in_place_of_the_folder_is_not_followed() {
        let scratch = Scratch::new();
        let folder = scratch.path().join("open");
        std::os::unix::fs::symlink(scratch.path(), &folder).unwrap();
        assert!(Opening::write(&folder, "http://127.0.0.1:1/").is_err());
    }
}
