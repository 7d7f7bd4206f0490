//! Access to the page. A process of the same user gets a code, which works once and briefly. A
//! browser exchanges it for its own cookie. Cookies end with the host; `handshake.rs` describes how
//! pages return to the next one.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cellist_host::BrowserView;
use cellist_settings::Home;
use tokio::sync::watch;

use super::browsers::{PageStateFile, digest};
use super::handshake;
use super::link_file::{LinkFile, sweep};
use crate::log::note;
use crate::secret::random;

/// Lifetime of a code.
pub(super) const VALID: Duration = Duration::from_secs(300);
/// Lifetime of a ticket, which a page exchanges at once.
const TICKET: Duration = Duration::from_secs(60);

/// Codes, cookies and browsers of the page.
///
/// A code and a ticket work once. A cookie is valid until the host stops or its browser is revoked.
/// All methods are synchronous and take one lock. [`PageAccess::keep`] and [`PageAccess::revoke`]
/// report a failure to write the state file. All other methods only log it.
#[derive(Debug)]
pub(crate) struct PageAccess {
    home: Home,
    secret: String,
    bearer: String,
    state: Mutex<AccessState>,
    /// Notifies open pages of each revocation.
    revoked: watch::Sender<()>,
}

#[derive(Debug)]
struct AccessState {
    file: PageStateFile,
    codes: HashMap<String, AccessCode>,
    /// Browsers by the digest of a cookie of this host.
    cookies: HashMap<String, String>,
    /// Number of open pages by browser.
    pages: HashMap<String, usize>,
}

#[derive(Debug)]
struct AccessCode {
    until: Instant,
    /// The browser of a ticket. `None` for a code.
    browser: Option<String>,
    /// The link file of a code, removed with it.
    link_file: Option<LinkFile>,
}

/// A browser that was just signed in, and its cookie.
#[derive(Debug)]
pub(crate) struct AdmittedBrowser {
    pub(crate) browser: String,
    pub(crate) cookie: String,
}

impl PageAccess {
    /// The access to a state folder, and the port of the last host.
    pub(crate) fn open(home: &Home) -> io::Result<(PageAccess, Option<u16>)> {
        let file = PageStateFile::open(home)?;
        sweep(&link_folder(home), Duration::ZERO);
        let port = file.port;
        let access = PageAccess {
            home: home.clone(),
            secret: file.secret.clone(),
            bearer: file.bearer.clone(),
            state: Mutex::new(AccessState {
                file,
                codes: HashMap::new(),
                cookies: HashMap::new(),
                pages: HashMap::new(),
            }),
            revoked: watch::Sender::new(()),
        };
        Ok((access, port))
    }

    fn state(&self) -> MutexGuard<'_, AccessState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Saves the port for the next host.
    pub(crate) fn keep(&self, port: u16) -> io::Result<()> {
        let mut state = self.state();
        state.file.port = Some(port);
        state.file.write(&self.home)
    }

    /// If this fails, signed-in browsers are unknown to the next host only.
    fn write(&self, state: &AccessState) {
        if let Err(error) = state.file.write(&self.home) {
            note(format_args!("cannot save the list of browsers: {error}"));
        }
    }

    /// The token of programs.
    pub(crate) fn bearer(&self) -> &str {
        &self.bearer
    }

    /// A code that works once.
    pub(crate) fn code(&self) -> io::Result<String> {
        self.new_code(VALID, None)
    }

    /// A code that gives a page of a known browser a new cookie.
    pub(crate) fn ticket(&self, browser: &str) -> io::Result<String> {
        self.new_code(TICKET, Some(browser.to_owned()))
    }

    fn new_code(&self, valid: Duration, browser: Option<String>) -> io::Result<String> {
        let code = random()?[..32].to_owned();
        let until = Instant::now() + valid;
        self.state().codes.insert(code.clone(), AccessCode { until, browser, link_file: None });
        Ok(code)
    }

    /// Writes a private file that leads to the link of a code. It lives as long as the code.
    pub(crate) fn write_link_file(
        &self,
        code: &str,
        folder: Option<PathBuf>,
        link: &str,
    ) -> io::Result<PathBuf> {
        let folder = folder.unwrap_or_else(|| link_folder(&self.home));
        sweep(&folder, VALID);
        let link_file = LinkFile::write(&folder, link)?;
        let path = link_file.path().to_owned();
        if let Some(code) = self.state().codes.get_mut(code) {
            code.link_file = Some(link_file);
        }
        Ok(path)
    }

    /// Removes expired codes and their files.
    pub(crate) fn expire(&self) {
        let now = Instant::now();
        self.state().codes.retain(|_, code| now < code.until);
    }

    /// Removes all codes and their files.
    pub(crate) fn close(&self) {
        self.state().codes.clear();
    }

    /// Signs a browser in by a code. A browser with a cookie of an earlier host keeps its identity.
    pub(crate) fn redeem(
        &self,
        code: &str,
        agent: &str,
        shown: Option<&str>,
    ) -> io::Result<Option<AdmittedBrowser>> {
        let mut state = self.state();
        if state.take(code).is_none_or(|code| code.browser.is_some()) {
            return Ok(None);
        }
        let cookie = random()?;
        let browser = state.file.admit(agent, shown, &cookie)?;
        state.cookies.insert(digest(&cookie), browser.clone());
        self.write(&state);
        Ok(Some(AdmittedBrowser { browser, cookie }))
    }

    /// Exchanges a ticket for a new cookie.
    pub(crate) fn exchange(&self, ticket: &str) -> io::Result<Option<String>> {
        let mut state = self.state();
        let Some(browser) = state.take(ticket).and_then(|code| code.browser) else { return Ok(None) };
        let cookie = random()?;
        let Some(known) = state.file.find(&browser) else { return Ok(None) };
        known.set_cookie(&cookie);
        state.cookies.insert(digest(&cookie), browser);
        self.write(&state);
        Ok(Some(cookie))
    }

    /// The browser of a cookie of this host.
    pub(crate) fn browser(&self, cookie: &str) -> Option<String> {
        let mut state = self.state();
        let browser = state.cookies.get(&digest(cookie))?.clone();
        state.file.find(&browser)?.mark_used();
        Some(browser)
    }

    pub(crate) fn knows(&self, browser: &str) -> bool {
        self.state().file.find(browser).is_some()
    }

    /// The key of a page.
    pub(crate) fn key(&self, browser: &str, salt: &str) -> String {
        handshake::key(&self.secret, browser, salt)
    }

    /// The key that all pages share.
    pub(crate) fn shared_key(&self) -> String {
        handshake::shared_key(&self.secret)
    }

    /// Counts an open page until the result is dropped.
    pub(crate) fn visit(self: &Arc<PageAccess>, browser: &str) -> OpenPage {
        let mut state = self.state();
        *state.pages.entry(browser.to_owned()).or_default() += 1;
        if let Some(known) = state.file.find(browser) {
            known.mark_used();
            self.write(&state);
        }
        OpenPage { access: self.clone(), browser: browser.to_owned() }
    }

    pub(crate) fn list(&self) -> Vec<BrowserView> {
        let state = self.state();
        let signed_in = |id: &str| state.cookies.values().any(|browser| browser == id);
        let pages = |id: &str| state.pages.get(id).copied().unwrap_or_default();
        let browsers = state.file.browsers.iter();
        browsers.map(|browser| browser.view(pages(&browser.id), signed_in(&browser.id))).collect()
    }

    /// Revokes one browser, or all: cookies, keys and open sockets.
    pub(crate) fn revoke(&self, id: Option<&str>) -> io::Result<Vec<BrowserView>> {
        let listed = self.list();
        let mut state = self.state();
        let gone: Vec<String> = state.file.revoke(id).into_iter().map(|browser| browser.id).collect();
        state.cookies.retain(|_, browser| !gone.contains(browser));
        let written = state.file.write(&self.home);
        drop(state);
        self.revoked.send_replace(());
        written.map(|()| listed.into_iter().filter(|browser| gone.contains(&browser.id)).collect())
    }

    /// Resolves when one of these browsers is revoked.
    pub(crate) async fn revoked(&self, browsers: &[String]) {
        let mut changes = self.revoked.subscribe();
        while browsers.iter().all(|browser| self.knows(browser)) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

impl AccessState {
    /// Takes a code out, if it has not expired.
    fn take(&mut self, code: &str) -> Option<AccessCode> {
        self.codes.remove(code).filter(|code| Instant::now() < code.until)
    }
}

fn link_folder(home: &Home) -> PathBuf {
    home.path().join("run").join("open")
}

/// An open page.
#[derive(Debug)]
pub(crate) struct OpenPage {
    access: Arc<PageAccess>,
    browser: String,
}

impl Drop for OpenPage {
    fn drop(&mut self) {
        let mut state = self.access.state();
        if let Some(pages) = state.pages.get_mut(&self.browser) {
            *pages = pages.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use testkit::Scratch;

    use super::super::browsers::token;
    use super::*;

    #[test]
    fn a_code_works_once_and_its_cookie_ends_with_the_host() {
        let scratch = Scratch::new();
        let home = Home::at(scratch.path());
        let (access, port) = PageAccess::open(&home).unwrap();
        assert_eq!(port, None);
        let code = access.code().unwrap();
        let AdmittedBrowser { browser, cookie } = access.redeem(&code, "curl", None).unwrap().unwrap();
        assert!(access.redeem(&code, "curl", None).unwrap().is_none());
        assert!(access.redeem("", "curl", None).unwrap().is_none());
        assert_eq!(access.browser(&cookie).as_ref(), Some(&browser));
        access.keep(4321).unwrap();
        assert_eq!(token(&home).as_deref(), Some(access.bearer()));
        let file = scratch.path().join("run/page.json");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!fs::read_to_string(&file).unwrap().contains(&cookie));

        let (next, port) = PageAccess::open(&home).unwrap();
        assert_eq!(port, Some(4321));
        assert_eq!(next.browser(&cookie), None);
        assert!(next.knows(&browser) && next.redeem(&code, "curl", None).unwrap().is_none());
        assert_eq!(next.key(&browser, "salt"), access.key(&browser, "salt"));
        // The expired cookie still identifies the browser.
        let again = next.redeem(&next.code().unwrap(), "curl", Some(&cookie)).unwrap().unwrap();
        assert_eq!(again.browser, browser);
        assert_ne!(again.cookie, cookie);
        let other = next.redeem(&next.code().unwrap(), "curl", Some("guessed")).unwrap().unwrap();
        assert_ne!(other.browser, browser);
    }

    #[test]
    fn tickets_and_codes_are_not_interchangeable() {
        let scratch = Scratch::new();
        let (access, _) = PageAccess::open(&Home::at(scratch.path())).unwrap();
        let AdmittedBrowser { browser, .. } =
            access.redeem(&access.code().unwrap(), "curl", None).unwrap().unwrap();
        assert!(access.redeem(&access.ticket(&browser).unwrap(), "curl", None).unwrap().is_none());
        assert!(access.exchange(&access.code().unwrap()).unwrap().is_none());
        let ticket = access.ticket(&browser).unwrap();
        let cookie = access.exchange(&ticket).unwrap().unwrap();
        assert_eq!(access.browser(&cookie), Some(browser));
        assert!(access.exchange(&ticket).unwrap().is_none());
    }

    #[tokio::test]
    async fn a_revoked_browser_loses_cookie_key_and_pages() {
        let scratch = Scratch::new();
        let home = Home::at(scratch.path());
        let access = Arc::new(PageAccess::open(&home).unwrap().0);
        let admit = || access.redeem(&access.code().unwrap(), "curl", None).unwrap().unwrap();
        let (one, other) = (admit(), admit());
        let _open = access.visit(&one.browser);
        let pages: Vec<usize> = access.list().iter().map(|browser| browser.pages).collect();
        assert_eq!(pages, [1, 0]);
        let ticket = access.ticket(&one.browser).unwrap();
        assert!(access.revoke(Some("nothing")).unwrap().is_empty());
        assert_eq!(access.revoke(Some(&one.browser)).unwrap()[0].id, one.browser);
        access.revoked(std::slice::from_ref(&one.browser)).await;
        assert!(access.browser(&one.cookie).is_none() && !access.knows(&one.browser));
        assert!(access.exchange(&ticket).unwrap().is_none());
        assert!(access.browser(&other.cookie).is_some());
        let (next, _) = PageAccess::open(&home).unwrap();
        assert!(!next.knows(&one.browser) && next.knows(&other.browser));
        assert_eq!(access.revoke(None).unwrap().len(), 1);
        assert!(access.list().is_empty());
    }

    #[test]
    fn a_link_file_is_removed_when_its_code_is_used_or_expires() {
        let scratch = Scratch::new();
        let (access, _) = PageAccess::open(&Home::at(scratch.path())).unwrap();
        let code = access.code().unwrap();
        let file = access.write_link_file(&code, None, "http://127.0.0.1:1/").unwrap();
        access.expire();
        assert!(file.exists());
        access.redeem(&code, "curl", None).unwrap();
        assert!(!file.exists());
        let code = access.code().unwrap();
        let file = access.write_link_file(&code, None, "http://127.0.0.1:1/").unwrap();
        access.state().codes.get_mut(&code).unwrap().until = Instant::now();
        access.expire();
        assert!(!file.exists());
    }
}
