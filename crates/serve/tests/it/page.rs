//! The page's server without a browser: who is let in, and what is said on its socket.

use std::fs;
use std::path::{Path, PathBuf};

use cellist_link::{Link, PageAsk, Reply, Request};
use cellist_serve::Staying;
use cellist_session::live::{Actor, ActorKind};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::bed::{Bed, soon};

/// A host that serves the page, and a notebook with the cells `a` and `b`.
struct Site {
    bed: Bed,
    link: Link,
    path: PathBuf,
    port: u16,
}

impl Site {
    async fn new() -> Site {
        let bed = Bed::new();
        // It ends with the runtime of the test.
        drop(bed.serve("1.0.0", Staying::UntilStopped));
        let cell = |id: &str, source: &str| json!({ "cell_type": "code", "execution_count": null, "id": id, "metadata": {}, "outputs": [], "source": [source] });
        let cells = [cell("a", "x = 1"), cell("b", "y = 1")];
        let notebook = json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
        let path = bed.scratch.write("nb.ipynb", notebook.to_string());
        let path = fs::canonicalize(path).unwrap();
        let link = soon(Link::attach(&bed.seen_by("1.0.0"))).await.unwrap();
        let mut site = Site { bed, link, path, port: 0 };
        let address = site.address().await;
        site.port = address.split([':', '/']).nth(4).and_then(|port| port.parse().ok()).unwrap();
        site
    }

    /// A link that works once.
    async fn address(&self) -> String {
        let ask = PageAsk { folder: self.bed.scratch.path().to_owned(), ..PageAsk::default() };
        match soon(self.link.ask(Request::Page(Box::new(ask)))).await.unwrap() {
            Reply::Page(address) => address,
            other => panic!("{other:?}"),
        }
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// What is answered to a request, head and body.
    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> String {
        let mut stream = soon(TcpStream::connect(self.host())).await.unwrap();
        let has_host = headers.iter().any(|(name, _)| *name == "Host");
        let mut head = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n");
        if !has_host {
            head.push_str(&format!("Host: {}\r\n", self.host()));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        soon(stream.write_all(format!("{head}\r\n").as_bytes())).await.unwrap();
        let mut answer = Vec::new();
        soon(stream.read_to_end(&mut answer)).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    async fn status(&self, path: &str, headers: &[(&str, &str)]) -> u16 {
        let answer = self.get(path, headers).await;
        answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap()
    }

    /// The cookie that a link is worth.
    async fn cookie(&self) -> String {
        let address = self.address().await;
        let answer = self.get(address.split_once(&self.host()).unwrap().1, &[]).await;
        let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect(&answer);
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        cookie.split(';').next().unwrap().to_owned()
    }

    /// A socket, or the status with which it is refused.
    async fn socket(&self, cookie: &str, origin: &str) -> Result<Page, u16> {
        let mut request = format!("ws://{}/socket", self.host()).into_client_request().unwrap();
        let headers = request.headers_mut();
        headers.insert("cookie", HeaderValue::from_str(cookie).unwrap());
        headers.insert("origin", HeaderValue::from_str(origin).unwrap());
        let stream = soon(TcpStream::connect(self.host())).await.unwrap();
        match soon(client_async(request, stream)).await {
            Ok((socket, _)) => Ok(Page { socket, client: "me", next: 1, news: Vec::new() }),
            Err(Error::Http(answer)) => Err(answer.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// A page with the notebook.
    async fn page(&self) -> (Page, Value) {
        let cookie = self.cookie().await;
        let mut page = self.socket(&cookie, &format!("http://{}", self.host())).await.unwrap();
        let whole = page.open(&self.path, &[]).await;
        (page, whole)
    }
}

/// A page, as the host sees it.
struct Page {
    socket: WebSocketStream<TcpStream>,
    /// What it calls itself.
    client: &'static str,
    next: u64,
    /// What was told in between.
    news: Vec<Value>,
}

impl Page {
    async fn heard(&mut self) -> Value {
        loop {
            match soon(self.socket.next()).await.expect("the host stays").unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    async fn ask(&mut self, ask: Value) -> Value {
        let id = self.next;
        self.next += 1;
        soon(self.socket.send(Message::text(json!({ "id": id, "ask": ask }).to_string()))).await.unwrap();
        loop {
            let mut heard = self.heard().await;
            match heard["done"]["id"].as_u64() {
                Some(done) if done == id => return heard["done"]["result"].take(),
                Some(_) => {}
                None => self.news.push(heard["news"].take()),
            }
        }
    }

    async fn open(&mut self, path: &Path, clients: &[&str]) -> Value {
        let mut answer = self.ask(json!({ "open": { "path": path, "clients": clients } })).await;
        answer["Ok"]["whole"].take()
    }

    /// Submits an operation under a number of its own.
    async fn submit(&mut self, base: u64, number: u64, op: Value) -> Value {
        let tag = json!({ "client": self.client, "number": number });
        self.ask(json!({ "submit": { "base": base, "tag": tag, "ops": [op] } })).await
    }

    /// Waits for news that are as wanted.
    async fn told(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            if let Some(at) = self.news.iter().position(&is_wanted) {
                return self.news.remove(at);
            }
            let mut heard = self.heard().await;
            self.news.push(heard["news"].take());
        }
    }
}

/// Writes behind what a cell of so many letters has.
fn typed(cell: &str, length: usize, text: &str) -> Value {
    json!({ "op": "change", "cell": cell, "change": [length, [0, text]] })
}

fn version(answer: &Value) -> u64 {
    answer["Ok"]["version"].as_u64().unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test]
async fn a_link_lets_a_browser_in_once_and_nobody_else() {
    let site = Site::new().await;
    assert_eq!(site.status("/", &[]).await, 401);
    assert_eq!(site.status("/?code=guessed", &[]).await, 401);
    let address = site.address().await;
    let path = address.split_once(&site.host()).unwrap().1.to_owned();
    assert_eq!(site.status(&path, &[]).await, 303);
    assert_eq!(site.status(&path, &[]).await, 401);
    let cookie = site.cookie().await;
    assert_eq!(site.status("/", &[("Cookie", &cookie)]).await, 200);
    assert_eq!(site.status("/session", &[("Cookie", &cookie)]).await, 204);
    let forged = format!("{}=guessed", cookie.split('=').next().unwrap());
    assert_eq!(site.status("/session", &[("Cookie", &forged)]).await, 401);
    for path in ["/output?path=/etc/passwd", "/plotly.js"] {
        assert_eq!(site.status(path, &[]).await, 401, "{path}");
    }
}

#[tokio::test]
async fn foreign_names_and_foreign_pages_are_turned_away_whatever_they_show() {
    let site = Site::new().await;
    let cookie = site.cookie().await;
    for host in ["evil.test", "127.0.0.1", "127.0.0.1:1"] {
        assert_eq!(site.status("/", &[("Host", host), ("Cookie", &cookie)]).await, 421, "{host}");
    }
    let ours = format!("http://{}", site.host());
    for origin in ["http://evil.test", "null", &ours.replace("http", "https")] {
        assert_eq!(site.socket(&cookie, origin).await.err(), Some(403), "{origin}");
    }
    assert_eq!(site.socket("", &ours).await.err(), Some(401));
    assert!(site.socket(&cookie, &ours).await.is_ok());
    let page = site.get("/", &[("Cookie", &cookie)]).await;
    for part in ["default-src 'none'", "require-trusted-types-for 'script'", "frame-ancestors 'none'"] {
        assert!(page.contains(part), "{part}");
    }
    let frame = site.get("/frame.html", &[]).await;
    assert!(frame.contains("sandbox allow-scripts; default-src 'none'"), "{frame}");
}

#[tokio::test]
async fn what_one_page_types_another_is_told_and_one_that_is_behind_gets_what_it_missed() {
    let site = Site::new().await;
    let ((mut one, whole), (mut other, same)) = (site.page().await, site.page().await);
    other.client = "other";
    let base = whole["version"].as_u64().unwrap();
    assert_eq!(whole["cells"][0], json!({ "id": "a", "kind": "code", "source": "x = 1" }));
    assert_eq!(same["version"], whole["version"]);

    let taken = version(&one.submit(base, 1, typed("a", 5, "0")).await);
    let news = other.told(|news| !news["changes"].is_null()).await;
    let change = &news["changes"][0];
    assert_eq!((&change["version"], &change["tag"]["client"]), (&json!(taken), &json!("me")));
    assert_eq!(change["effects"][0], json!({ "effect": "changed", "cell": "a", "change": [5, [0, "0"]] }));

    // The same cell on the old text: refused, with what has happened, and taken once it is rebased on that.
    let late = other.submit(base, 1, typed("a", 5, "!")).await;
    assert_eq!(late["Ok"]["behind"]["version"], json!(taken), "{late}");
    assert_eq!(late["Ok"]["behind"]["changes"][0]["version"], json!(taken));
    let newest = version(&other.submit(taken, 2, typed("a", 6, "!")).await);
    assert!(newest > taken);
    // What is sent again because its answer was lost is taken once.
    assert_eq!(version(&other.submit(taken, 2, typed("a", 6, "!")).await), newest);
    other.told(|news| news["status"]["saved"].as_u64() >= Some(newest)).await;
    assert!(fs::read_to_string(&site.path).unwrap().contains("x = 10!"));
}

#[tokio::test]
async fn a_change_that_cannot_be_is_refused_and_the_page_goes_on() {
    let site = Site::new().await;
    let (mut page, whole) = site.page().await;
    let base = whole["version"].as_u64().unwrap();
    let long = page.submit(base, 1, typed("a", 500, "x")).await;
    assert!(long["Err"]["message"].is_string(), "{long}");
    // Half of a character of two units is no text.
    let emoji = version(&page.submit(base, 2, typed("a", 5, "😀")).await);
    let split = json!({ "op": "change", "cell": "a", "change": [6, [0, "x"], 1] });
    let refused = page.submit(emoji, 3, split).await;
    assert!(refused["Err"]["message"].is_string(), "{refused}");
    let ops = json!({ "op": "insert", "cell": "new", "after": "a", "kind": "markdown", "source": "# New" });
    version(&page.submit(emoji, 4, ops).await);
    let whole = page.open(&site.path, &["me"]).await;
    let ids: Vec<&str> =
        whole["cells"].as_array().unwrap().iter().filter_map(|cell| cell["id"].as_str()).collect();
    assert_eq!(ids, ["a", "new", "b"]);
}

#[tokio::test]
async fn a_page_that_comes_back_learns_what_of_its_own_has_arrived() {
    let site = Site::new().await;
    let (mut page, whole) = site.page().await;
    version(&page.submit(whole["version"].as_u64().unwrap(), 7, typed("b", 5, "2")).await);
    drop(page);
    let (mut again, _) = site.page().await;
    let whole = again.open(&site.path, &["me", "someone"]).await;
    assert_eq!(whole["heard"], json!({ "me": 7 }));
    assert_eq!(whole["cells"][1]["source"], json!("y = 12"));
    assert!(
        fs::read_to_string(&site.path).unwrap().contains("y = 12"),
        "what a page is told first is on disk"
    );
}

#[tokio::test]
async fn what_an_agent_changed_waits_and_its_turn_is_taken_back_as_a_whole() {
    let site = Site::new().await;
    let (mut page, _) = site.page().await;
    // Another process of the host's user, by way of the file's own owner.
    let link = soon(Link::attach(&site.bed.seen_by("1.0.0"))).await.unwrap();
    let actor = Actor::new(ActorKind::Agent, "bot");
    let operations = json!([
        { "action": "edit", "cell": "a", "content": "x = 2" },
        { "action": "delete", "cell": "b" },
    ]);
    let edit = json!({ "notebook": { "path": site.path, "ask": { "edit": {
        "edit": { "operations": operations }, "base": null, "author": { "actor": actor, "turn": "t9" },
    } } } });
    soon(link.ask(serde_json::from_value(edit).unwrap())).await.unwrap();
    let review = page.told(|news| !news["review"]["cells"]["b"].is_null()).await;
    assert_eq!(review["review"]["cells"]["a"]["was"]["source"], json!("x = 1"));
    assert_eq!(review["review"]["cells"]["b"]["was"]["was"], json!("deleted"));

    let history = page.ask(json!("history")).await;
    assert_eq!(history["Ok"]["history"][0]["turn"], json!("t9"));
    assert_eq!(history["Ok"]["history"][0]["deeds"], json!(["deleted code cell b", "edited cell a"]));
    assert_eq!(page.ask(json!({ "undo": { "turn": "t9" } })).await, json!({ "Ok": "done" }));
    page.told(|news| news["review"]["cells"] == json!({})).await;
    let whole = page.open(&site.path, &[]).await;
    let sources: Vec<&Value> =
        whole["cells"].as_array().unwrap().iter().map(|cell| &cell["source"]).collect();
    assert_eq!(sources, [&json!("x = 1"), &json!("y = 1")]);
    let again = page.ask(json!({ "undo": { "turn": "t9" } })).await;
    assert!(again["Err"]["message"].as_str().unwrap().contains("taken back already"), "{again}");
}
