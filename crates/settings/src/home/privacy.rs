//! Whether other users can write to the state folder, or put another one in its place.

use std::fmt;
use std::path::{Path, PathBuf};

/// How other users could reach the state folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// It, or the folder of its sockets, belongs to another user.
    Foreign {
        /// Which folder.
        folder: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// Others may write to it, or to the folder of its sockets.
    Writable {
        /// Which folder.
        folder: PathBuf,
    },
    /// Others may rename it, since they may write to a folder above it that is not sticky.
    Replaceable {
        /// Which folder above it.
        folder: PathBuf,
    },
}

impl Exposure {
    /// How to mend it.
    pub fn remedy(&self) -> String {
        match self {
            Exposure::Foreign { .. } => "name a folder of your own with CELLIST_HOME".into(),
            Exposure::Writable { folder } => format!("chmod go-w {}", quoted(folder)),
            Exposure::Replaceable { folder } => {
                format!("chmod +t {}, or name another folder with CELLIST_HOME", quoted(folder))
            }
        }
    }
}

impl fmt::Display for Exposure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exposure::Foreign { folder, owner } => {
                write!(f, "{} belongs to another user (uid {owner})", folder.display())
            }
            Exposure::Writable { folder } => {
                write!(f, "other users may write to the state folder {}", folder.display())
            }
            Exposure::Replaceable { folder } => {
                write!(f, "other users may replace the state folder: they may write to {}", folder.display())
            }
        }
    }
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// The metadata of a folder.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(unix), expect(dead_code, reason = "only Unix tells"))]
struct Rights {
    owner: u32,
    mode: u32,
}

const STICKY: u32 = 0o1000;
const GROUP_OR_OTHERS: u32 = 0o022;
const OTHERS: u32 = 0o002;
const ROOT: u32 = 0;

/// Looks at the folder, the folder of its sockets and the folders above. One that is not there is no danger: it is made for
/// this user alone.
pub(super) fn exposure(home: &Path) -> Option<Exposure> {
    let home = std::path::absolute(home).ok()?;
    // A link may lead elsewhere, and the folders above both count.
    let real = home.canonicalize().ok()?;
    let above = real.ancestors().skip(1).chain(home.ancestors().skip(1).filter(|_| real != home));
    judge(
        user()?,
        [real.as_path(), &real.join("run")].map(|path| Some((path.to_owned(), rights(path)?))),
        above.filter_map(|path| Some((path.to_owned(), rights(path)?))),
    )
}

fn judge(
    user: u32,
    own: [Option<(PathBuf, Rights)>; 2],
    above: impl Iterator<Item = (PathBuf, Rights)>,
) -> Option<Exposure> {
    for (folder, Rights { owner, .. }) in own.iter().flatten() {
        if ![user, ROOT].contains(owner) {
            return Some(Exposure::Foreign { folder: folder.clone(), owner: *owner });
        }
    }
    for (folder, Rights { mode, .. }) in own.into_iter().flatten() {
        if mode & GROUP_OR_OTHERS != 0 {
            return Some(Exposure::Writable { folder });
        }
    }
    // Of a group above it nothing is said: most have one that is the user's alone.
    let mut above = above.filter(|(_, rights)| rights.mode & OTHERS != 0 && rights.mode & STICKY == 0);
    above.next().map(|(folder, _)| Exposure::Replaceable { folder })
}

#[cfg(unix)]
fn user() -> Option<u32> {
    Some(rustix::process::geteuid().as_raw())
}

#[cfg(unix)]
fn rights(path: &Path) -> Option<Rights> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path).ok()?;
    Some(Rights { owner: metadata.uid(), mode: metadata.mode() })
}

#[cfg(not(unix))]
fn user() -> Option<u32> {
    None
}

#[cfg(not(unix))]
fn rights(_: &Path) -> Option<Rights> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owner_permissions_and_folders_above_are_judged_in_this_order() {
        let check = |home: (u32, u32), run: Option<(u32, u32)>, above: &[u32], expected: &str| {
            let at = |name: &str, (owner, mode)| (PathBuf::from(name), Rights { owner, mode });
            let own = [Some(at("/u/home", home)), run.map(|run| at("/u/home/run", run))];
            let above = above.iter().map(|mode| at("/u", (7, *mode)));
            let found = judge(1000, own, above).map_or("safe".into(), |exposure| exposure.to_string());
            assert_eq!(found, expected);
        };
        check((1000, 0o40700), Some((1000, 0o40700)), &[0o40755, 0o41777], "safe");
        check((1000, 0o40755), None, &[0o40775], "safe");
        check((0, 0o40755), None, &[], "safe");
        let foreign = "/u/home belongs to another user (uid 1001)";
        check((1001, 0o40777), None, &[0o40777], foreign);
        check((1000, 0o40777), Some((1001, 0o40700)), &[], "/u/home/run belongs to another user (uid 1001)");
        check((1000, 0o40720), None, &[], "other users may write to the state folder /u/home");
        check((1000, 0o41777), None, &[], "other users may write to the state folder /u/home");
        check(
            (1000, 0o40700),
            Some((1000, 0o40702)),
            &[],
            "other users may write to the state folder /u/home/run",
        );
        check(
            (1000, 0o40700),
            None,
            &[0o40777],
            "other users may replace the state folder: they may write to /u",
        );
    }
}
