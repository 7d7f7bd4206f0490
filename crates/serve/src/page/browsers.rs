//! The signed-in browsers in the state folder: names, times, and digests of cookies. The running
//! host decides which cookies are valid.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cellist_host::BrowserView;
use cellist_settings::Home;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::secret::{hex, random};

/// Time until an unused browser is forgotten.
const REMEMBERED: Duration = Duration::from_secs(30 * 24 * 3600);
/// Limit on the number of browsers.
const MOST: usize = 64;

/// The state of the page that outlives a host, so that open pages and programs reach the next one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PageStateFile {
    /// The root of the page keys.
    pub(super) secret: String,
    /// The token of programs.
    pub(super) bearer: String,
    /// The port of the last host.
    pub(super) port: Option<u16>,
    pub(super) browsers: Vec<Browser>,
}

/// A signed-in browser.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Browser {
    pub(super) id: String,
    name: String,
    first: u64,
    last: u64,
    /// Digest of its newest cookie. It identifies the browser even after the cookie has expired.
    cookie: String,
}

impl PageStateFile {
    /// Reads the state and makes missing secrets.
    pub(super) fn open(home: &Home) -> io::Result<PageStateFile> {
        home.folder("run")?;
        let mut state = PageStateFile::read(home).unwrap_or_default();
        for secret in [&mut state.secret, &mut state.bearer] {
            if secret.len() != 64 {
                *secret = random()?;
            }
        }
        let oldest = now().saturating_sub(REMEMBERED.as_secs());
        state.browsers.retain(|browser| browser.last >= oldest);
        Ok(state)
    }

    pub(super) fn read(home: &Home) -> Option<PageStateFile> {
        serde_json::from_slice(&fs::read(path(home)).ok()?).ok()
    }

    /// Replaces the file atomically, readable by this user only.
    pub(super) fn write(&self, home: &Home) -> io::Result<()> {
        let file = path(home);
        let fresh = file.with_extension(format!("{}.new", std::process::id()));
        let mut out = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        out.write_all(&serde_json::to_vec(self)?)?;
        fs::rename(&fresh, &file)
    }

    pub(super) fn find(&mut self, id: &str) -> Option<&mut Browser> {
        self.browsers.iter_mut().find(|browser| browser.id == id)
    }

    /// Registers a new cookie, for the browser with the earlier cookie or for a new one.
    pub(super) fn admit(&mut self, agent: &str, before: Option<&str>, cookie: &str) -> io::Result<String> {
        let before = before.map(digest);
        let known = self.browsers.iter_mut().find(|browser| before.as_ref() == Some(&browser.cookie));
        if let Some(browser) = known {
            browser.cookie = digest(cookie);
            browser.mark_used();
            return Ok(browser.id.clone());
        }
        if self.browsers.len() >= MOST
            && let Some(oldest) = (0..self.browsers.len()).min_by_key(|at| self.browsers[*at].last)
        {
            self.browsers.remove(oldest);
        }
        let (id, now) = (random()?[..8].to_owned(), now());
        let browser =
            Browser { id: id.clone(), name: name(agent), first: now, last: now, cookie: digest(cookie) };
        self.browsers.push(browser);
        Ok(id)
    }

    /// Removes one browser, or all. Returns the removed ones.
    pub(super) fn revoke(&mut self, id: Option<&str>) -> Vec<Browser> {
        self.browsers.extract_if(.., |browser| id.is_none_or(|id| browser.id == id)).collect()
    }
}

impl Browser {
    pub(super) fn mark_used(&mut self) {
        self.last = now();
    }

    pub(super) fn set_cookie(&mut self, cookie: &str) {
        self.cookie = digest(cookie);
        self.mark_used();
    }

    /// The browser as listed for users, with its number of open pages.
    pub(super) fn view(&self, pages: usize, is_signed_in: bool) -> BrowserView {
        let Browser { id, name, first, last, .. } = self.clone();
        BrowserView { id, name, first, last, pages, is_signed_in }
    }
}

/// The browsers that may return to the next host. For use while no host runs.
pub fn browsers(home: &Home) -> Vec<BrowserView> {
    let state = PageStateFile::read(home).unwrap_or_default();
    state.browsers.iter().map(|browser| browser.view(0, false)).collect()
}

/// Revokes one browser, or all. For use while no host runs.
pub fn revoke(home: &Home, id: Option<&str>) -> io::Result<Vec<BrowserView>> {
    let Some(mut state) = PageStateFile::read(home) else { return Ok(Vec::new()) };
    let gone = state.revoke(id);
    state.write(home)?;
    Ok(gone.iter().map(|browser| browser.view(0, false)).collect())
}

/// The token for programs that call the host over HTTP.
pub fn token(home: &Home) -> Option<String> {
    PageStateFile::read(home).map(|state| state.bearer).filter(|bearer| !bearer.is_empty())
}

pub(super) fn digest(cookie: &str) -> String {
    hex(&Sha256::digest(cookie.as_bytes()))
}

fn path(home: &Home) -> PathBuf {
    home.path().join("run").join("page.json")
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// A short name of a browser, from its user agent.
fn name(agent: &str) -> String {
    // A user agent may contain several of these. The first match wins.
    const BROWSERS: [(&str, &str); 5] = [
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Version/", "Safari"),
    ];
    const SYSTEMS: [(&str, &str); 5] = [
        ("Android", "Android"),
        ("iPhone", "iOS"),
        ("Mac OS X", "macOS"),
        ("Windows", "Windows"),
        ("Linux", "Linux"),
    ];
    let found = BROWSERS.iter().find_map(|(mark, name)| {
        let version: String = agent.split_once(mark)?.1.chars().take_while(char::is_ascii_digit).collect();
        Some(format!("{name} {version}"))
    });
    let system = SYSTEMS.iter().find(|(mark, _)| agent.contains(mark)).map(|(_, name)| *name);
    match (found, system) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(browser), None) => browser,
        (None, _) => {
            let plain = agent.chars().filter(|letter| letter.is_ascii_graphic() || *letter == ' ').take(40);
            Some(plain.collect::<String>().trim().to_owned())
                .filter(|name| !name.is_empty())
                .unwrap_or_else(|| "unknown".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_has_a_short_name_without_control_characters() {
        for (agent, expected) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36",
                "Chrome 156 on Linux",
            ),
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0",
                "Firefox 144 on Linux",
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15",
                "Safari 26 on macOS",
            ),
            ("curl/8.5.0", "curl/8.5.0"),
            ("\u{1b}]0;owned\u{7}", "]0;owned"),
            ("", "unknown"),
        ] {
            assert_eq!(name(agent), expected);
        }
    }

    #[test]
    fn the_oldest_browser_is_removed_above_the_limit() {
        let mut state = PageStateFile::default();
        for at in 0..MOST + 3 {
            let id = state.admit("curl", None, &format!("cookie {at}")).unwrap();
            state.find(&id).unwrap().last = at as u64;
        }
        assert_eq!(state.browsers.len(), MOST);
        assert!(state.browsers.iter().all(|browser| browser.last >= 3));
    }
}
