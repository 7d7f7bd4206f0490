//! Who may use the page. A code, which only a program of the same user can ask for, works once and not for long; for it a
//! browser gets a cookie of its own. Cookies are worth nothing to the next host: `handshake.rs` says how pages come back.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cellist_host::BrowserView;
use cellist_settings::Home;
use tokio::sync::watch;

use super::browsers::{Kept, digest};
use super::handshake;
use super::opening::{Opening, sweep};
use crate::log::note;
use crate::secret::random;

/// How long a code works.
pub(super) const VALID: Duration = Duration::from_secs(300);
/// How long a ticket works, which a page exchanges at once.
const TICKET: Duration = Duration::from_secs(60);

/// The door of the page.
#[derive(Debug)]
pub(crate) struct Door {
    home: Home,
    secret: String,
    bearer: String,
    state: Mutex<State>,
    /// Told of each browser that was revoked.
    revoked: watch::Sender<()>,
}

#[derive(Debug)]
struct State {
    kept: Kept,
    codes: HashMap<String, Code>,
    /// Browsers by the digest of a cookie that this host has given.
    cookies: HashMap<String, String>,
    /// How many pages of a browser are open.
    pages: HashMap<String, usize>,
}

#[derive(Debug)]
struct Code {
    until: Instant,
    /// The browser that it is for, where it is a ticket.
    browser: Option<String>,
    /// The file that leads to it, which goes with it.
    opening: Option<Opening>,
}

/// A browser that was let in, with its new cookie.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) browser: String,
    pub(crate) cookie: String,
}

impl Door {
    /// The door of a state folder, and the port that was used last.
    pub(crate) fn open(home: &Home) -> io::Result<(Door, Option<u16>)> {
        let kept = Kept::open(home)?;
        sweep(&opening_folder(home), Duration::ZERO);
        let port = kept.port;
        let door = Door {
            home: home.clone(),
            secret: kept.secret.clone(),
            bearer: kept.bearer.clone(),
            state: Mutex::new(State {
                kept,
                codes: HashMap::new(),
                cookies: HashMap::new(),
                pages: HashMap::new(),
            }),
            revoked: watch::Sender::new(()),
        };
        Ok((door, port))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the port for the next host.
    pub(crate) fn keep(&self, port: u16) -> io::Result<()> {
        let mut state = self.state();
        state.kept.port = Some(port);
        state.kept.write(&self.home)
    }

    /// Browsers that were let in go on without it; the next host does not know them.
    fn write(&self, state: &State) {
        if let Err(error) = state.kept.write(&self.home) {
            note(format_args!("the list of browsers cannot be kept: {error}"));
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

    /// A code that gives a page of a browser a cookie.
    pub(crate) fn ticket(&self, browser: &str) -> io::Result<String> {
        self.new_code(TICKET, Some(browser.to_owned()))
    }

    fn new_code(&self, valid: Duration, browser: Option<String>) -> io::Result<String> {
        let code = random()?[..32].to_owned();
        let until = Instant::now() + valid;
        self.state().codes.insert(code.clone(), Code { until, browser, opening: None });
        Ok(code)
    }

    /// Makes a private file that leads to the link of a code, for as long as the code works.
    pub(crate) fn lead(&self, code: &str, folder: Option<PathBuf>, link: &str) -> io::Result<PathBuf> {
        let folder = folder.unwrap_or_else(|| opening_folder(&self.home));
        sweep(&folder, VALID);
        let opening = Opening::write(&folder, link)?;
        let path = opening.path().to_owned();
        if let Some(code) = self.state().codes.get_mut(code) {
            code.opening = Some(opening);
        }
        Ok(path)
    }

    /// Drops codes that are too old, with their files.
    pub(crate) fn expire(&self) {
        let now = Instant::now();
        self.state().codes.retain(|_, code| now < code.until);
    }

    /// Drops all codes, with their files.
    pub(crate) fn close(&self) {
        self.state().codes.clear();
    }

    /// Lets a browser in for a code, which does not work again. One that shows a cookie of an earlier host is the browser
    /// that it was.
    pub(crate) fn redeem(
        &self,
        code: &str,
        agent: &str,
        shown: Option<&str>,
    ) -> io::Result<Option<Admitted>> {
        let mut state = self.state();
        if state.take(code).is_none_or(|code| code.browser.is_some()) {
            return Ok(None);
        }
        let cookie = random()?;
        let browser = state.kept.admit(agent, shown, &cookie)?;
        state.cookies.insert(digest(&cookie), browser.clone());
        self.write(&state);
        Ok(Some(Admitted { browser, cookie }))
    }

    /// A new cookie for a ticket.
    pub(crate) fn exchange(&self, ticket: &str) -> io::Result<Option<String>> {
        let mut state = self.state();
        let Some(browser) = state.take(ticket).and_then(|code| code.browser) else { return Ok(None) };
        let cookie = random()?;
        let Some(known) = state.kept.find(&browser) else { return Ok(None) };
        known.has_cookie(&cookie);
        state.cookies.insert(digest(&cookie), browser);
        self.write(&state);
        Ok(Some(cookie))
    }

    /// The browser that a cookie of this host was given to.
    pub(crate) fn browser(&self, cookie: &str) -> Option<String> {
        let mut state = self.state();
        let browser = state.cookies.get(&digest(cookie))?.clone();
        state.kept.find(&browser)?.used();
        Some(browser)
    }

    pub(crate) fn knows(&self, browser: &str) -> bool {
        self.state().kept.find(browser).is_some()
    }

    /// The key of a page.
    pub(crate) fn key(&self, browser: &str, salt: &str) -> String {
        handshake::key(&self.secret, browser, salt)
    }

    /// The key that all pages share.
    pub(crate) fn shared_key(&self) -> String {
        handshake::shared_key(&self.secret)
    }

    /// Counts a page for as long as the result is kept.
    pub(crate) fn visit(self: &Arc<Door>, browser: &str) -> OpenPage {
        let mut state = self.state();
        *state.pages.entry(browser.to_owned()).or_default() += 1;
        if let Some(known) = state.kept.find(browser) {
            known.used();
            self.write(&state);
        }
        OpenPage { door: self.clone(), browser: browser.to_owned() }
    }

    pub(crate) fn list(&self) -> Vec<BrowserView> {
        let state = self.state();
        let signed_in = |id: &str| state.cookies.values().any(|browser| browser == id);
        let pages = |id: &str| state.pages.get(id).copied().unwrap_or_default();
        let browsers = state.kept.browsers.iter();
        browsers.map(|browser| browser.view(pages(&browser.id), signed_in(&browser.id))).collect()
    }

    /// Ends a browser, or all of them: cookies, keys and open sockets.
    pub(crate) fn revoke(&self, id: Option<&str>) -> io::Result<Vec<BrowserView>> {
        let listed = self.list();
        let mut state = self.state();
        let gone: Vec<String> = state.kept.revoke(id).into_iter().map(|browser| browser.id).collect();
        state.cookies.retain(|_, browser| !gone.contains(browser));
        let written = state.kept.write(&self.home);
        drop(state);
        self.revoked.send_replace(());
        written.map(|()| listed.into_iter().filter(|browser| gone.contains(&browser.id)).collect())
    }

    /// Resolves when one of these browsers is not let in any more.
    pub(crate) async fn revoked(&self, browsers: &[String]) {
        let mut changes = self.revoked.subscribe();
        while browsers.iter().all(|browser| self.knows(browser)) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

impl State {
    /// A code that still works, and never again.
    fn take(&mut self, code: &str) -> Option<Code> {
        self.codes.remove(code).filter(|code| Instant::now() < code.until)
    }
}

fn opening_folder(home: &Home) -> PathBuf {
    home.path().join("run").join("open")
}

/// A page that is open.
#[derive(Debug)]
pub(crate) struct OpenPage {
    door: Arc<Door>,
    browser: String,
}

impl Drop for OpenPage {
    fn drop(&mut self) {
        let mut state = self.door.state();
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
        let (door, port) = Door::open(&home).unwrap();
        assert_eq!(port, None);
        let code = door.code().unwrap();
        let Admitted { browser, cookie } = door.redeem(&code, "curl", None).unwrap().unwrap();
        assert!(door.redeem(&code, "curl", None).unwrap().is_none());
        assert!(door.redeem("", "curl", None).unwrap().is_none());
        assert_eq!(door.browser(&cookie).as_ref(), Some(&browser));
        door.keep(4321).unwrap();
        assert_eq!(token(&home).as_deref(), Some(door.bearer()));
        let file = scratch.path().join("run/page.json");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!fs::read_to_string(&file).unwrap().contains(&cookie));

        let (next, port) = Door::open(&home).unwrap();
        assert_eq!(port, Some(4321));
        assert_eq!(next.browser(&cookie), None);
        assert!(next.knows(&browser) && next.redeem(&code, "curl", None).unwrap().is_none());
        assert_eq!(next.key(&browser, "salt"), door.key(&browser, "salt"));
        // The worthless cookie still tells that it is the same browser.
        let again = next.redeem(&next.code().unwrap(), "curl", Some(&cookie)).unwrap().unwrap();
        assert_eq!(again.browser, browser);
        assert_ne!(again.cookie, cookie);
        let other = next.redeem(&next.code().unwrap(), "curl", Some("guessed")).unwrap().unwrap();
        assert_ne!(other.browser, browser);
    }

    #[test]
    fn a_ticket_is_no_code_and_a_code_no_ticket() {
        let scratch = Scratch::new();
        let (door, _) = Door::open(&Home::at(scratch.path())).unwrap();
        let Admitted { browser, .. } = door.redeem(&door.code().unwrap(), "curl", None).unwrap().unwrap();
        assert!(door.redeem(&door.ticket(&browser).unwrap(), "curl", None).unwrap().is_none());
        assert!(door.exchange(&door.code().unwrap()).unwrap().is_none());
        let ticket = door.ticket(&browser).unwrap();
        let cookie = door.exchange(&ticket).unwrap().unwrap();
        assert_eq!(door.browser(&cookie), Some(browser));
        assert!(door.exchange(&ticket).unwrap().is_none());
    }

    #[tokio::test]
    async fn a_revoked_browser_has_neither_cookie_nor_key_nor_pages() {
        let scratch = Scratch::new();
        let home = Home::at(scratch.path());
        let door = Arc::new(Door::open(&home).unwrap().0);
        let admit = || door.redeem(&door.code().unwrap(), "curl", None).unwrap().unwrap();
        let (one, other) = (admit(), admit());
        let _open = door.visit(&one.browser);
        let pages: Vec<usize> = door.list().iter().map(|browser| browser.pages).collect();
        assert_eq!(pages, [1, 0]);
        let ticket = door.ticket(&one.browser).unwrap();
        assert!(door.revoke(Some("nothing")).unwrap().is_empty());
        assert_eq!(door.revoke(Some(&one.browser)).unwrap()[0].id, one.browser);
        door.revoked(std::slice::from_ref(&one.browser)).await;
        assert!(door.browser(&one.cookie).is_none() && !door.knows(&one.browser));
        assert!(door.exchange(&ticket).unwrap().is_none());
        assert!(door.browser(&other.cookie).is_some());
        let (next, _) = Door::open(&home).unwrap();
        assert!(!next.knows(&one.browser) && next.knows(&other.browser));
        assert_eq!(door.revoke(None).unwrap().len(), 1);
        assert!(door.list().is_empty());
    }

    #[test]
    fn the_file_that_leads_to_a_link_goes_when_it_is_used_or_too_old() {
        let scratch = Scratch::new();
        let (door, _) = Door::open(&Home::at(scratch.path())).unwrap();
        let code = door.code().unwrap();
        let file = door.lead(&code, None, "http://127.0.0.1:1/").unwrap();
        door.expire();
        assert!(file.exists());
        door.redeem(&code, "curl", None).unwrap();
        assert!(!file.exists());
        let code = door.code().unwrap();
        let file = door.lead(&code, None, "http://127.0.0.1:1/").unwrap();
        door.state().codes.get_mut(&code).unwrap().until = Instant::now();
        door.expire();
        assert!(!file.exists());
    }
}
