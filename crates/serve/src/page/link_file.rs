//! A private HTML file that redirects a browser to the page. Its path may appear on a command line,
//! which other users can read; the link may not. It is removed when the link is used or expires.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::secret::random;

/// A link file, removed when dropped.
#[derive(Debug)]
pub(super) struct LinkFile(PathBuf);

impl LinkFile {
    /// Writes a link file. Makes its folder private.
    pub(super) fn write(folder: &Path, link: &str) -> io::Result<LinkFile> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let found = fs::symlink_metadata(folder)?;
        if !found.is_dir() || found.uid() != rustix::process::geteuid().as_raw() {
            let why = format!("{} is not a folder of this user", folder.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        fs::set_permissions(folder, Permissions::from_mode(0o700))?;
        let path = folder.join(format!("open-{}.html", &random()?[..16]));
        let mut out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let file = LinkFile(path);
        out.write_all(html(link).as_bytes())?;
        Ok(file)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for LinkFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Removes files of killed hosts.
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

/// HTML that redirects to a link, or lets the user click it.
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
    fn a_link_file_is_private_redirects_and_is_removed() {
        let scratch = Scratch::new();
        let folder = scratch.path().join("run/open");
        let file = LinkFile::write(&folder, "http://127.0.0.1:1/?code=c&path=%22x").unwrap();
        let path = file.path().to_owned();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&folder)), (0o600, 0o700));
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("0;url=http://127.0.0.1:1/?code=c&amp;path=%22x\""), "{text}");
        sweep(&folder, Duration::from_secs(60));
        assert!(path.exists());
        drop(file);
        assert!(!path.exists());
        let left = LinkFile::write(&folder, "http://127.0.0.1:1/").unwrap();
        sweep(&folder, Duration::ZERO);
        assert!(!left.path().exists());
    }

    #[test]
    fn a_symlink_instead_of_the_folder_is_refused() {
        let scratch = Scratch::new();
        let folder = scratch.path().join("open");
        std::os::unix::fs::symlink(scratch.path(), &folder).unwrap();
        assert!(LinkFile::write(&folder, "http://127.0.0.1:1/").is_err());
    }
}
