//! The live page: notebooks in a browser on this machine, opened by a link. People, agents and
//! several windows share the open notebooks.

mod access;
mod assets;
mod browsers;
mod editor;
mod handshake;
mod link_file;
mod routes;
mod socket;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::http::HeaderMap;
use cellist_host::{BrowserView, OpeningFile, PageLink, PageLinkRequest, PageUser, encoded};
use cellist_platform::fault::{self, Site};
use cellist_settings::Home;
use cellist_store::Store;
use tokio::net::TcpListener;

use crate::guard::{HttpGuard, MCP};
use crate::host::HostShared;
use crate::listen;
use crate::log::note;
use crate::mcp::{McpServer, at_host, router};
use access::PageAccess;

pub use browsers::{browsers, revoke, token};

/// The server of the page.
pub(crate) struct PageServer {
    shared: Arc<HostShared>,
    home: Home,
    access: Arc<PageAccess>,
    guard: HttpGuard,
    user: PageUser,
}

impl PageServer {
    /// Listens on the requested port, or on the port of the previous host, or on any. Needs a
    /// runtime.
    pub(crate) async fn listen(
        shared: Arc<HostShared>,
        ask: &PageLinkRequest,
    ) -> io::Result<Arc<PageServer>> {
        let home = shared.home().clone();
        let (access, last) = PageAccess::open(&home)?;
        let listener = match (ask.port, last) {
            (Some(port), _) => bind(port)?,
            (None, Some(last)) => match bind(last) {
                Ok(listener) => listener,
                Err(_) => bind(0)?,
            },
            (None, None) => bind(0)?,
        };
        let port = listener.local_addr()?.port();
        access.keep(port)?;
        let page = Arc::new(PageServer {
            shared: shared.clone(),
            guard: HttpGuard::new(port, Some(access.bearer())),
            home,
            access: Arc::new(access),
            user: PageUser::new(ask),
        });
        let agents = at_host(&page.home, ask, page.shared.service.clone()).await?;
        let router = routes::router(page.clone(), router(move || McpServer(agents.another())));
        tokio::spawn(async move { listen::serve(listener, router, shared.stopped()).await });
        tokio::spawn(page.clone().watch_agents());
        tokio::spawn(page.clone().watch_codes());
        note(format_args!("the page is at http://127.0.0.1:{port}/"));
        note(format_args!(
            "MCP is at http://127.0.0.1:{port}{MCP}; `cellist status --token` prints its token"
        ));
        Ok(page)
    }

    /// A link that works once.
    pub(crate) fn link(&self, ask: &PageLinkRequest) -> io::Result<PageLink> {
        self.user.opens(ask);
        let path = ask.path.as_ref().map(|path| format!("&path={}", encoded(&path.to_string_lossy())));
        let code = self.access.code()?;
        let link = format!("http://127.0.0.1:{}/?code={code}{}", self.guard.port(), path.unwrap_or_default());
        let file = match &ask.file {
            OpeningFile::None => return Ok(PageLink { link, file: None }),
            OpeningFile::InState => self.access.write_link_file(&code, None, &link),
            OpeningFile::In(folder) => self.access.write_link_file(&code, Some(folder.clone()), &link),
        };
        // The user still has the link.
        let file = file.inspect_err(|error| note(format_args!("cannot write the link file: {error}"))).ok();
        Ok(PageLink { link, file })
    }

    /// The port of the page.
    pub(crate) fn port(&self) -> u16 {
        self.guard.port()
    }

    fn store(&self) -> Store {
        Store::new(self.home.clone())
    }

    /// The signed-in browser of a request.
    fn browser(&self, headers: &HeaderMap) -> Option<String> {
        self.access.browser(self.guard.cookie(headers)?)
    }

    /// Whether a request comes from a signed-in browser.
    fn is_known(&self, headers: &HeaderMap) -> bool {
        self.browser(headers).is_some()
    }

    /// The signed-in browsers.
    pub(crate) fn browsers(&self) -> Vec<BrowserView> {
        self.access.list()
    }

    /// Revokes one browser, or all.
    pub(crate) fn revoke(&self, id: Option<&str>) -> io::Result<Vec<BrowserView>> {
        self.access.revoke(id)
    }

    /// Removes all codes and link files when the host stops.
    pub(crate) fn close(&self) {
        self.access.close();
    }

    /// Removes expired codes.
    async fn watch_codes(self: Arc<PageServer>) {
        let mut ticks = tokio::time::interval(access::VALID / 10);
        loop {
            tokio::select! {
                () = self.shared.stopped() => return,
                _ = ticks.tick() => self.access.expire(),
            }
        }
    }

    /// Records the cells that agents read, until the host stops.
    async fn watch_agents(self: Arc<PageServer>) {
        tokio::select! {
            () = self.shared.stopped() => {}
            () = self.shared.service.watch_agents() => {}
        }
    }
}

fn bind(port: u16) -> io::Result<TcpListener> {
    fault::point(Site::PageListener)?;
    listen::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
}
