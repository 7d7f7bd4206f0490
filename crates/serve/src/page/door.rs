//! Who may use the page: whoever holds a cookie that was given for a code, which works once and not for long. Only a program
//! of the same user can ask for a code.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use cellist_session::Home;
use serde::{Deserialize, Serialize};

use crate::secret::{is_same, random};

/// How long a code works.
const VALID: Duration = Duration::from_secs(300);

/// What outlives a host, so that pages that are open find the next one.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    /// What cookies hold.
    token: String,
    /// What programs show.
    #[serde(default)]
    bearer: String,
    /// The port that it listened at.
    port: Option<u16>,
}

/// The door of the page.
#[derive(Debug)]
pub(crate) struct Door {
    token: String,
    bearer: String,
    codes: Mutex<HashMap<String, Instant>>,
}

impl Kept {
    fn read(home: &Home) -> Option<Kept> {
        let bytes = fs::read(home.path().join("run").join("page.json")).ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}

/// What programs show to the host of a state folder over HTTP.
pub fn token(home: &Home) -> Option<String> {
    Kept::read(home).map(|kept| kept.bearer).filter(|bearer| !bearer.is_empty())
}

impl Door {
    /// The door of a state folder, and the port that was used last.
    pub(crate) fn open(home: &Home) -> io::Result<(Door, Option<u16>)> {
        home.folder("run")?;
        let (token, bearer, port) = match Kept::read(home) {
            Some(Kept { token, bearer, port }) if token.len() == 64 => (token, bearer, port),
            Some(_) | None => (random()?, String::new(), None),
        };
        let bearer = if bearer.len() == 64 { bearer } else { random()? };
        Ok((Door { token, bearer, codes: Mutex::default() }, port))
    }

    /// Keeps what the next host has to know.
    pub(crate) fn keep(&self, home: &Home, port: u16) -> io::Result<()> {
        let folder = home.folder("run")?;
        let (file, fresh) =
            (folder.join("page.json"), folder.join(format!("page.{}.new", std::process::id())));
        let kept = Kept { token: self.token.clone(), bearer: self.bearer.clone(), port: Some(port) };
        let mut out = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        out.write_all(serde_json::to_string(&kept)?.as_bytes())?;
        fs::rename(&fresh, &file)
    }

    /// What programs show.
    pub(crate) fn bearer(&self) -> &str {
        &self.bearer
    }

    /// A code that works once.
    pub(crate) fn code(&self) -> io::Result<String> {
        let code = random()?[..32].to_owned();
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|_, made| made.elapsed() < VALID);
        codes.insert(code.clone(), Instant::now());
        Ok(code)
    }

    /// What to put into a cookie for a code, which does not work again.
    pub(crate) fn redeem(&self, code: &str) -> Option<&str> {
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        let made = codes.remove(code)?;
        (made.elapsed() < VALID).then_some(self.token.as_str())
    }

    /// Whether a cookie is ours.
    pub(crate) fn knows(&self, cookie: &str) -> bool {
        is_same(cookie, &self.token)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use testkit::Scratch;

    use super::*;

    #[test]
    fn a_code_works_once_and_its_cookie_outlives_the_host() {
        let scratch = Scratch::new();
        let home = Home::at(scratch.path());
        let (door, port) = Door::open(&home).unwrap();
        assert_eq!(port, None);
        let code = door.code().unwrap();
        let cookie = door.redeem(&code).unwrap().to_owned();
        assert!(door.redeem(&code).is_none() && door.redeem("").is_none());
        door.keep(&home, 4321).unwrap();
        assert_eq!(token(&home).as_deref(), Some(door.bearer()));
        assert!(!door.knows(door.bearer()) && door.bearer().len() == 64);
        let mode = fs::metadata(scratch.path().join("run/page.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);

        let (next, port) = Door::open(&home).unwrap();
        assert_eq!(port, Some(4321));
        assert!(next.knows(&cookie) && !next.knows(&code) && !next.knows(""));
        assert!(next.redeem(&code).is_none());
    }
}
