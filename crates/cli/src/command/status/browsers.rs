//! Lists the browsers that were signed in to the page, from the host or from the state folder.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cellist_host::{BrowserView, HostClient, Reply, Request};
use cellist_settings::Home;
use serde_json::{Value, json};

use crate::clock::ago;
use crate::error::CliError;
use crate::host::{self, unexpected};
use crate::listing::table;
use crate::output::CommandOutput;

const COLUMNS: [&str; 6] = ["browser", "name", "signed in", "open pages", "first used", "last used"];

/// The output of `cellist status --browsers`.
pub(super) fn list(home: &Home) -> Result<CommandOutput, CliError> {
    let browsers = ask(Request::Browsers)?.unwrap_or_else(|| cellist_serve::browsers(home));
    let json = json!({ "browsers": browsers.iter().map(to_json).collect::<Vec<_>>() });
    if browsers.is_empty() {
        let notices = vec!["no browser is signed in".to_owned()];
        return Ok(CommandOutput::new("", json).with_notices(notices));
    }
    Ok(CommandOutput::new(table(&COLUMNS, browsers.iter().map(row)), json))
}

/// Sends a request about browsers. Returns `None` without a host.
pub(crate) fn ask(request: Request) -> Result<Option<Vec<BrowserView>>, CliError> {
    host::block_on(async {
        let host = host::user_host();
        if host.state().await?.is_none() {
            return Ok(None);
        }
        match HostClient::attach(&host).await?.ask(request).await? {
            Reply::Browsers(browsers) => Ok(Some(browsers)),
            other => Err(unexpected(&other)),
        }
    })
}

pub(crate) fn to_json(browser: &BrowserView) -> Value {
    serde_json::to_value(browser).unwrap_or_else(|_| json!({}))
}

fn row(browser: &BrowserView) -> Vec<String> {
    let BrowserView { id, name, first, last, pages, is_signed_in } = browser;
    let since = |seconds: u64| {
        ago(SystemTime::now().duration_since(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap_or_default())
    };
    let signed_in = if *is_signed_in { "yes" } else { "no" };
    vec![id.clone(), name.clone(), signed_in.to_owned(), pages.to_string(), since(*first), since(*last)]
}
