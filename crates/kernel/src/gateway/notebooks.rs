//! Which of a Jupyter Server's kernels belongs to a notebook.

use std::path::{Component, Path};

use serde::Deserialize;

use super::address::Gateway;
use super::live::ListedKernel;
use super::rest;
use crate::error::{Error, Result};

#[derive(Clone, Debug, Deserialize)]
struct GatewaySession {
    /// Relative to the server's own folder, which it does not tell.
    #[serde(default)]
    path: String,
    kernel: Option<ListedKernel>,
}

/// The kernel that a server has for a notebook.
pub(super) async fn kernel_of(gateway: &Gateway, notebook: &Path) -> Result<ListedKernel> {
    let sessions: Vec<GatewaySession> = rest::get(gateway, "/api/sessions")
        .await
        .map_err(|trouble| trouble.error(gateway, "listing its notebooks"))?;
    choose(&sessions, notebook).map_err(|message| Error::Gateway {
        message: format!("the server {} {message}", gateway.url()),
        hint: Some("open the notebook there first, or name its kernel with --kernel-id ID".into()),
    })
}

/// The session whose path is the longest end of the notebook's.
fn choose(sessions: &[GatewaySession], notebook: &Path) -> std::result::Result<ListedKernel, String> {
    let names = |path: &Path| -> Vec<String> {
        let normal = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
            _ => None,
        });
        normal.collect()
    };
    let wanted = names(notebook);
    let fitting = sessions.iter().filter_map(|session| {
        let path = names(Path::new(&session.path));
        let fits = !path.is_empty() && wanted.ends_with(&path);
        fits.then(|| Some((path.len(), session.kernel.clone()?))).flatten()
    });
    let mut fitting: Vec<(usize, ListedKernel)> = fitting.collect();
    fitting.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
    match fitting.as_slice() {
        [] => Err(format!("has no kernel for {}", notebook.display())),
        [(one, _), (other, _), ..] if one == other => {
            Err(format!("has several kernels for {}", notebook.display()))
        }
        [(_, kernel), ..] => Ok(kernel.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(paths: &[&str], notebook: &str) -> std::result::Result<String, String> {
        let session = |(at, path): (usize, &&str)| GatewaySession {
            path: (*path).to_owned(),
            kernel: Some(ListedKernel { id: at.to_string(), name: "python3".into() }),
        };
        let sessions: Vec<GatewaySession> = paths.iter().enumerate().map(session).collect();
        choose(&sessions, Path::new(notebook)).map(|kernel| kernel.id)
    }

    #[test]
    fn a_notebook_is_found_wherever_the_server_was_started() {
        assert_eq!(chosen(&["b.ipynb", "plots/a.ipynb"], "/ann/plots/a.ipynb").unwrap(), "1");
        assert_eq!(chosen(&["a.ipynb", "plots/a.ipynb"], "/ann/plots/a.ipynb").unwrap(), "1");
        assert_eq!(chosen(&["a.ipynb"], "/a.ipynb").unwrap(), "0");
        assert_eq!(chosen(&["other/a.ipynb", ""], "/w/a.ipynb").unwrap_err(), "has no kernel for /w/a.ipynb");
        let several = chosen(&["a.ipynb", "a.ipynb"], "/w/a.ipynb").unwrap_err();
        assert_eq!(several, "has several kernels for /w/a.ipynb");
    }
}
