//! The assistant on a page's socket, with a scripted provider.

mod answers;
mod going_back;
mod inline;
mod kept;
mod preview;
mod scenarios;
mod trouble;

use std::fs;

use cellist_session::orders::ClientEnvironment;
use serde_json::{Value, json};
use testkit::{ModelRequest, Models, Said};

use crate::bed::soon;
use crate::site::{Page, Site};

/// A site with a scripted provider.
struct Room {
    site: Site,
    models: Models,
}

impl Room {
    async fn new(script: impl IntoIterator<Item = Said>) -> Room {
        let models = Models::start(script);
        let mut site = Site::new().await;
        let variables = vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())];
        site.opened.environment = ClientEnvironment {
            variables,
            python: Some(testkit::python("kernels")),
            backend: serde_json::from_value(json!("runner")).unwrap(),
            ..ClientEnvironment::default()
        };
        let room = Room { site, models };
        room.settings("");
        room
    }

    fn settings(&self, more: &str) {
        let url = self.models.url();
        let config =
            format!("[chat]\nprovider = \"anthropic\"\nmodel = \"scripted\"\nbase_url = \"{url}\"\n{more}");
        fs::write(self.site.bed.home.path().join("config.toml"), config).unwrap();
    }

    /// A page with the notebook and its conversation open.
    async fn page(&self) -> Page {
        let (mut page, _) = self.site.page().await;
        look(&mut page, None).await;
        open(&mut page, false).await;
        page
    }

    /// Stops the host and its kernels, so that nothing remains.
    async fn close(self, page: Page) {
        drop(page);
        soon(self.site.bed.seen_by("1.0.0").stop()).await.unwrap();
    }

    fn sources(&self) -> Vec<String> {
        let file: Value = serde_json::from_slice(&fs::read(&self.site.path).unwrap()).unwrap();
        let text = |lines: &Value| match lines {
            Value::Array(lines) => lines.iter().map(|line| line.as_str().unwrap()).collect(),
            other => other.as_str().unwrap().to_owned(),
        };
        file["cells"].as_array().unwrap().iter().map(|cell| text(&cell["source"])).collect()
    }
}

async fn look(page: &mut Page, editing: Option<&str>) {
    let looking = json!({ "cell": editing, "selected": [], "editing": editing.is_some() });
    assert_eq!(page.on_notebook(json!({ "present": looking })).await, json!({ "Ok": "done" }));
}

/// Opens the conversation. Returns the setup for messages.
async fn open(page: &mut Page, is_new: bool) -> Value {
    page.open_chat(None, is_new).await;
    let setup = page.setup().await;
    assert!(setup.is_object());
    setup
}

/// A message in a mode, with the notebook attached.
fn message(mode: &str, words: &str) -> Value {
    json!({ "id": words, "words": words, "mode": mode, "is_attached": true, "attached": [], "selected": [], "outputs": [] })
}

async fn send(page: &mut Page, message: Value) {
    assert_eq!(page.on_chat("say", json!({ "message": message })).await, done(true));
}

/// The reply of a request that had an effect, or none.
fn done(is_done: bool) -> Value {
    json!({ "Ok": { "done": is_done } })
}

/// All entries up to one with this name.
async fn until(page: &mut Page, name: &str) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        let mut news = page.next_chat().await;
        let told = news["told"].as_array_mut().unwrap();
        let at = told.iter().position(|told| told.get(name).is_some());
        all.extend(told.drain(..at.map_or(told.len(), |at| at + 1)));
        if at.is_some() {
            // Later entries are for the next reader.
            page.chat.heard.insert(0, news);
            return all;
        }
    }
}

fn find<'a>(told: &'a [Value], name: &str) -> &'a Value {
    told.iter().find_map(|told| told.get(name)).unwrap_or_else(|| panic!("no {name} in {told:?}"))
}

fn words(told: &[Value]) -> String {
    told.iter().filter_map(|told| told["text"].as_str()).collect()
}

/// The names of the tools in a request.
fn tools(asked: &ModelRequest) -> Vec<String> {
    let tools = asked.body["tools"].as_array().into_iter().flatten();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}
