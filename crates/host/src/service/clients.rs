//! The clients of the service: connections, pages, and front ends in this process.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cellist_assistant::{ApiKeys, ChatScope};
use cellist_live::{Actor, ActorKind, Author};
use cellist_platform::FailureKind;
use cellist_session::orders::ClientEnvironment;
use cellist_session::sessions::OwnerId;
use cellist_settings::Home;

use cellist_tools::redaction::Redaction;

use crate::error::Failure;
use crate::protocol::request::PageLinkRequest;

/// A client of the service.
#[derive(Clone, Debug)]
pub struct ServiceClient {
    owner: OwnerId,
    /// The environment that the client has sent.
    environment: Arc<Mutex<Arc<ClientEnvironment>>>,
    /// The user of the page, if the client is a page.
    page: Option<PageUser>,
}

/// The user of the page, with the environment, keys and folder of the last request for a link. A state folder has one
/// user. Cheap to clone; all clones are one.
#[derive(Clone, Debug)]
pub struct PageUser(Arc<Mutex<PageSettings>>);

#[derive(Debug)]
struct PageSettings {
    environment: ClientEnvironment,
    redaction: Redaction,
    keys: ApiKeys,
    folder: PathBuf,
}

impl ServiceClient {
    pub(super) fn new(owner: OwnerId, page: Option<PageUser>) -> ServiceClient {
        ServiceClient { owner, environment: Arc::default(), page }
    }

    /// Its id as an owner of sessions.
    pub fn owner(&self) -> &OwnerId {
        &self.owner
    }

    /// The author of a change: the named one, or the client itself.
    pub fn author(&self, named: Option<Author>) -> Author {
        named.unwrap_or_else(|| match &self.page {
            Some(page) => page.actor().into(),
            None => Actor::new(ActorKind::Person, "person").into(),
        })
    }

    /// The environment that selects its kernels. A page has that of its user.
    pub(super) fn environment(&self) -> Arc<ClientEnvironment> {
        match &self.page {
            Some(page) => Arc::new(page.environment()),
            None => self.environment.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    pub(super) fn set_environment(&self, environment: ClientEnvironment) {
        *self.environment.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(environment);
    }

    pub(super) fn is_page(&self) -> bool {
        self.page.is_some()
    }

    /// The user of the page.
    pub(super) fn page(&self) -> Result<&PageUser, Failure> {
        let missing = || Failure::bad_input(FailureKind::NoPage, "only a page can send this request");
        self.page.as_ref().ok_or_else(missing)
    }
}

impl PageUser {
    /// Creates the user from the first request for a link.
    pub fn new(ask: &PageLinkRequest) -> PageUser {
        PageUser(Arc::new(Mutex::new(PageSettings::by(ask))))
    }

    /// Applies a later request for a link.
    pub fn opens(&self, ask: &PageLinkRequest) {
        *self.lock() = PageSettings::by(ask);
    }

    fn lock(&self) -> MutexGuard<'_, PageSettings> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The environment that selects kernels.
    pub fn environment(&self) -> ClientEnvironment {
        self.lock().environment.clone()
    }

    /// The folder that the page was opened from.
    pub fn folder(&self) -> PathBuf {
        self.lock().folder.clone()
    }

    /// The scope of answers about a notebook.
    pub(super) fn place(&self, home: &Home, notebook: &Path) -> ChatScope {
        let opened = self.lock();
        ChatScope {
            home: home.clone(),
            cwd: opened.folder.clone(),
            environment: opened.environment.clone(),
            redaction: opened.redaction.clone(),
            keys: opened.keys.clone(),
            notebook: notebook.to_owned(),
        }
    }

    fn actor(&self) -> Actor {
        let opened = self.lock();
        let name = |wanted: &str| {
            let found = opened.environment.variables.iter().find(|(name, _)| name.to_str() == Some(wanted));
            found.and_then(|(_, value)| value.to_str()).filter(|name| !name.is_empty())
        };
        let name = name("USER").or_else(|| name("LOGNAME")).unwrap_or("you").to_owned();
        Actor { name, ..Actor::new(ActorKind::Person, "page") }
    }
}

impl PageSettings {
    fn by(ask: &PageLinkRequest) -> PageSettings {
        let PageLinkRequest { environment, redaction, keys, folder, .. } = ask.clone();
        PageSettings { environment, redaction, keys, folder }
    }
}
