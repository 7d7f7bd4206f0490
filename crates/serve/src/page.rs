//! The live page: notebooks in a browser, on this machine alone, for whoever was given a link. People, agents and several
//! windows work in the same open notebooks.

mod assets;
mod browsers;
mod door;
mod editor;
mod handshake;
mod opening;
mod routes;
mod socket;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::http::HeaderMap;
use cellist_host::{BrowserView, OpeningFile, PageAsk, PageLink, PageUser, encoded};
use cellist_platform::fault::{self, Site};
use cellist_settings::Home;
use cellist_store::Store;
use tokio::net::TcpListener;

use crate::guard::{Guard, MCP};
use crate::host::Shared;
use crate::listen;
use crate::log::note;
use crate::mcp::{Server, at_host, router};
use door::Door;

pub use browsers::{browsers, revoke, token};

/// The page's server.
pub(crate) struct Page {
    shared: Arc<Shared>,
    home: Home,
    door: Arc<Door>,
    guard: Guard,
    user: PageUser,
}

impl Page {
    /// Begins to listen at a port; without one at the port of the host before, or at any. Needs a runtime.
    pub(crate) async fn listen(shared: Arc<Shared>, ask: &PageAsk) -> io::Result<Arc<Page>> {
        let home = shared.home().clone();
        let (door, last) = Door::open(&home)?;
        let listener = match (ask.port, last) {
            (Some(port), _) => bind(port)?,
            (None, Some(last)) => match bind(last) {
                Ok(listener) => listener,
                Err(_) => bind(0)?,
            },
            (None, None) => bind(0)?,
        };
        let port = listener.local_addr()?.port();
        door.keep(port)?;
        let page = Arc::new(Page {
            shared: shared.clone(),
            guard: Guard::new(port, Some(door.bearer())),
            home,
            door: Arc::new(door),
            user: PageUser::new(ask),
        });
        let agents = at_host(&page.home, ask, page.shared.service.clone()).await?;
        let router = routes::router(page.clone(), router(move || Server(agents.another())));
        tokio::spawn(async move { listen::serve(listener, router, shared.left()).await });
        tokio::spawn(page.clone().watch_agents());
        tokio::spawn(page.clone().watch_codes());
        note(format_args!("the page is at http://127.0.0.1:{port}/"));
        note(format_args!(
            "MCP is at http://127.0.0.1:{port}{MCP} for whoever shows the token that `cellist status --token` prints"
        ));
        Ok(page)
    }

    /// A link that works once, for the user who asks.
    pub(crate) fn link(&self, ask: &PageAsk) -> io::Result<PageLink> {
        self.user.opens(ask);
        let path = ask.path.as_ref().map(|path| format!("&path={}", encoded(&path.to_string_lossy())));
        let code = self.door.code()?;
        let link = format!("http://127.0.0.1:{}/?code={code}{}", self.guard.port(), path.unwrap_or_default());
        let file = match &ask.file {
            OpeningFile::None => return Ok(PageLink { link, file: None }),
            OpeningFile::InState => self.door.lead(&code, None, &link),
            OpeningFile::In(folder) => self.door.lead(&code, Some(folder.clone()), &link),
        };
        // Without a file the user has the link.
        let file = file.inspect_err(|error| note(format_args!("no file leads to the page: {error}"))).ok();
        Ok(PageLink { link, file })
    }

    /// The port that it listens at.
    pub(crate) fn port(&self) -> u16 {
        self.guard.port()
    }

    fn store(&self) -> Store {
        Store::new(self.home.clone())
    }

    /// The browser that a request comes from, if it was let in.
    fn browser(&self, headers: &HeaderMap) -> Option<String> {
        self.door.browser(self.guard.cookie(headers)?)
    }

    /// Whether a request comes from a browser that was let in.
    fn is_known(&self, headers: &HeaderMap) -> bool {
        self.browser(headers).is_some()
    }

    /// The browsers that were let in.
    pub(crate) fn browsers(&self) -> Vec<BrowserView> {
        self.door.list()
    }

    /// Ends a browser, or all of them.
    pub(crate) fn revoke(&self, id: Option<&str>) -> io::Result<Vec<BrowserView>> {
        self.door.revoke(id)
    }

    /// Drops all codes, with their files: the host leaves.
    pub(crate) fn close(&self) {
        self.door.close();
    }

    /// Removes codes that are too old.
    async fn watch_codes(self: Arc<Page>) {
        let mut ticks = tokio::time::interval(door::VALID / 10);
        loop {
            tokio::select! {
                () = self.shared.left() => return,
                _ = ticks.tick() => self.door.expire(),
            }
        }
    }

    /// Notes the cells that agents read, until the host leaves.
    async fn watch_agents(self: Arc<Page>) {
        tokio::select! {
            () = self.shared.left() => {}
            () = self.shared.service.watch_agents() => {}
        }
    }
}

fn bind(port: u16) -> io::Result<TcpListener> {
    fault::point(Site::PageListener)?;
    listen::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
}
