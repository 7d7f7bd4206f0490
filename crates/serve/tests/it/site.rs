//! A host with the page, and clients that act as pages: a socket each, without a browser.

use std::fs;
use std::path::{Path, PathBuf};

use cellist_host::{HostClient, PageLinkRequest, Reply, Request};
use cellist_serve::IdlePolicy;
use futures_util::{SinkExt, StreamExt};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::bed::{Bed, soon};

/// A host with the page, and a notebook with the cells `a` and `b`.
pub(crate) struct Site {
    pub(crate) bed: Bed,
    pub(crate) link: HostClient,
    pub(crate) path: PathBuf,
    port: u16,
    /// The environment for kernels and the keys of providers.
    pub(crate) opened: PageLinkRequest,
}

impl Site {
    pub(crate) async fn new() -> Site {
        let bed = Bed::new();
        // It ends with the runtime of the test.
        drop(bed.serve("1.0.0", IdlePolicy::UntilStopped));
        let cell = |id: &str, source: &str| json!({ "cell_type": "code", "execution_count": null, "id": id, "metadata": {}, "outputs": [], "source": [source] });
        let cells = [cell("a", "x = 1"), cell("b", "y = 1")];
        let notebook = json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
        let path = bed.scratch.write("nb.ipynb", notebook.to_string());
        let path = fs::canonicalize(path).unwrap();
        let link = soon(HostClient::attach(&bed.seen_by("1.0.0"))).await.unwrap();
        let opened = PageLinkRequest {
            folder: bed.scratch.path().canonicalize().unwrap(),
            ..PageLinkRequest::default()
        };
        let mut site = Site { bed, link, path, port: 0, opened };
        site.find_port().await;
        site
    }

    /// Stops the host and starts another.
    pub(crate) async fn restart(&mut self) {
        soon(self.bed.seen_by("1.0.0").stop()).await.unwrap();
        drop(self.bed.serve("1.0.0", IdlePolicy::UntilStopped));
        self.link = soon(HostClient::attach(&self.bed.seen_by("1.0.0"))).await.unwrap();
        self.find_port().await;
    }

    async fn find_port(&mut self) {
        let address = self.address().await;
        self.port = address.split([':', '/']).nth(4).and_then(|port| port.parse().ok()).unwrap();
    }

    /// A link that works once.
    pub(crate) async fn address(&self) -> String {
        match soon(self.link.ask(Request::Page(Box::new(self.opened.clone())))).await.unwrap() {
            Reply::Page(page) => page.link,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Head and body of a response to `GET`.
    pub(crate) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> String {
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

    /// Head and body of a response to `POST`.
    pub(crate) async fn post(&self, path: &str, body: &str, headers: &[(&str, &str)]) -> String {
        let mut head = format!("POST {path} HTTP/1.1\r\nConnection: close\r\nHost: {}\r\n", self.host());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        let mut stream = soon(TcpStream::connect(self.host())).await.unwrap();
        soon(stream.write_all(head.as_bytes())).await.unwrap();
        let mut answer = Vec::new();
        soon(stream.read_to_end(&mut answer)).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub(crate) async fn status(&self, path: &str, headers: &[(&str, &str)]) -> u16 {
        let answer = self.get(path, headers).await;
        answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap()
    }

    /// A cookie for a new link.
    pub(crate) async fn cookie(&self) -> String {
        self.sign_in().await.0
    }

    /// A cookie for a new link, and the key in the page.
    pub(crate) async fn sign_in(&self) -> (String, PageKey) {
        let address = self.address().await;
        let answer = self.get(address.split_once(&self.host()).unwrap().1, &[]).await;
        let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect(&answer);
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        (cookie.split(';').next().unwrap().to_owned(), PageKey::in_page(&answer))
    }

    /// A socket before the handshake, or the status of its refusal.
    pub(crate) async fn socket(&self, cookie: &str, origin: &str, hello: &str) -> Result<Page, u16> {
        let mut request = format!("ws://{}/socket?{hello}", self.host()).into_client_request().unwrap();
        let headers = request.headers_mut();
        headers.insert("cookie", HeaderValue::from_str(cookie).unwrap());
        headers.insert("origin", HeaderValue::from_str(origin).unwrap());
        let stream = soon(TcpStream::connect(self.host())).await.unwrap();
        match soon(client_async(request, stream)).await {
            Ok((socket, _)) => {
                let (path, chat) = (self.path.clone(), Chat::default());
                Ok(Page { socket, client: "me", next: 1, path, news: Vec::new(), chat })
            }
            Err(Error::Http(answer)) => Err(answer.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// A socket after the handshake, and the ticket if one was sent.
    pub(crate) async fn meet(&self, cookie: &str, key: &PageKey) -> Option<(Page, Option<String>)> {
        let challenge = "0123456789abcdef0123456789abcdef";
        let origin = format!("http://{}", self.host());
        let mut page = self.socket(cookie, &origin, &key.hello(challenge)).await.unwrap();
        let greeting = page.heard().await;
        let part = |name: &str| greeting["host"][name].as_str().unwrap().to_owned();
        let (host, standing) = (part("challenge"), part("standing"));
        let prove = |side: &str| key.proof(&format!("{side} {} {challenge} {host} {standing}", self.port));
        assert_eq!(part("proof"), prove("host"), "{greeting}");
        if standing == "signed_out" {
            return None;
        }
        page.say(json!({ "proof": prove("page") })).await;
        let ticket = match standing == "returning" {
            true => Some(page.heard().await["ticket"].as_str().unwrap().to_owned()),
            false => None,
        };
        Some((page, ticket))
    }

    /// A page with the notebook.
    pub(crate) async fn page(&self) -> (Page, Value) {
        let (cookie, key) = self.sign_in().await;
        let (mut page, _) = self.meet(&cookie, &key).await.unwrap();
        let whole = page.open(&self.path, &[]).await;
        (page, whole)
    }
}

/// The key of a page.
pub(crate) struct PageKey {
    pub(crate) browser: String,
    salt: String,
    key: String,
}

impl PageKey {
    /// The key in the HTML of a page.
    fn in_page(text: &str) -> PageKey {
        let found = text.split("name=\"page-key\" content=\"").nth(1).and_then(|rest| rest.split('"').next());
        let mut parts = found.expect(text).split(' ').map(str::to_owned);
        let mut next = || parts.next().unwrap();
        PageKey { browser: next(), salt: next(), key: next() }
    }

    pub(crate) fn hello(&self, challenge: &str) -> String {
        format!("browser={}&salt={}&challenge={challenge}", self.browser, self.salt)
    }

    fn proof(&self, text: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.key.as_bytes()).unwrap();
        mac.update(format!("cellist {text}").as_bytes());
        mac.finalize().into_bytes()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A page, as the host sees it.
pub(crate) struct Page {
    socket: WebSocketStream<TcpStream>,
    /// The id of the client.
    pub(crate) client: &'static str,
    next: u64,
    /// The open notebook.
    path: PathBuf,
    /// Events that no test has read yet.
    news: Vec<Value>,
    pub(crate) chat: Chat,
}

/// A conversation, as a page receives it.
#[derive(Default)]
pub(crate) struct Chat {
    pub(crate) name: String,
    from: u64,
    mark: Value,
    /// Received entries for the next reader.
    pub(crate) heard: Vec<Value>,
}

impl Page {
    pub(crate) async fn heard(&mut self) -> Value {
        loop {
            match soon(self.socket.next()).await.expect("the host stays").unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    pub(crate) async fn say(&mut self, said: Value) {
        soon(self.socket.send(Message::text(said.to_string()))).await.unwrap();
    }

    /// Resolves when the host has closed the socket. Ignores earlier messages.
    pub(crate) async fn closed(mut self) {
        while let Some(Ok(message)) = soon(self.socket.next()).await {
            if message.is_close() {
                return;
            }
        }
    }

    /// Makes a request and waits for the reply.
    pub(crate) async fn ask(&mut self, request: Value) -> Value {
        let id = self.next;
        self.next += 1;
        self.say(json!({ "ask": { "id": id, "request": request } })).await;
        loop {
            let mut heard = self.heard().await;
            if heard["done"]["id"] == json!(id) {
                return heard["done"]["result"].take();
            }
        }
    }

    /// Makes a request about the open notebook.
    pub(crate) async fn on_notebook(&mut self, ask: Value) -> Value {
        let mut reply = self.ask(json!({ "notebook": { "path": self.path, "ask": ask } })).await;
        match reply["Ok"].get_mut("notebook") {
            Some(inner) => json!({ "Ok": inner.take() }),
            None => reply,
        }
    }

    pub(crate) async fn open(&mut self, path: &Path, clients: &[&str]) -> Value {
        (self.path, self.news) = (path.to_owned(), Vec::new());
        let follow = json!({ "follow": { "clients": clients, "outputs": "bounded" } });
        self.on_notebook(follow).await["Ok"]["whole"].take()
    }

    /// Submits an operation with its own number.
    pub(crate) async fn submit(&mut self, base: u64, number: u64, op: Value) -> Value {
        let tag = json!({ "client": self.client, "number": number });
        let submission = json!({ "base": base, "tag": tag, "ops": [op] });
        self.on_notebook(json!({ "submit": { "submission": submission, "author": null } })).await
    }

    /// Waits for a matching event.
    pub(crate) async fn told(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            if let Some(at) = self.news.iter().position(&is_wanted) {
                return self.news.remove(at);
            }
            let mut reply = self.on_notebook(json!("news")).await;
            assert!(reply["Ok"]["news"].is_object(), "{reply}");
            self.news.push(reply["Ok"]["news"].take());
        }
    }

    /// Opens the conversation about the notebook, or about a cell.
    pub(crate) async fn open_chat(&mut self, cell: Option<&str>, is_new: bool) {
        let open = json!({ "notebook": self.path, "cell": cell, "is_new": is_new });
        let reply = self.ask(json!({ "chat": { "open": open } })).await;
        let name = reply["Ok"]["chat"]["open"]["chat"].as_str().unwrap_or_else(|| panic!("{reply}"));
        self.chat = Chat { name: name.to_owned(), ..Chat::default() };
    }

    /// The models and settings for a message.
    pub(crate) async fn setup(&mut self) -> Value {
        let mut reply = self.ask(json!({ "chat": { "setup": { "notebook": self.path } } })).await;
        reply["Ok"]["chat"]["setup"].take()
    }

    /// Makes a request about the open conversation.
    pub(crate) async fn on_chat(&mut self, what: &str, mut about: Value) -> Value {
        about["chat"] = json!(self.chat.name);
        let mut reply = self.ask(json!({ "chat": { what: about } })).await;
        match reply["Ok"].get_mut("chat") {
            Some(inner) => json!({ "Ok": inner.take() }),
            None => reply,
        }
    }

    /// Waits for the next entry of the conversation, or of its successor.
    pub(crate) async fn next_chat(&mut self) -> Value {
        loop {
            if !self.chat.heard.is_empty() {
                return self.chat.heard.remove(0);
            }
            let Chat { from, mark, .. } = &self.chat;
            let hear = json!({ "from": from, "mark": mark });
            let mut reply = self.on_chat("hear", hear).await;
            let is_gone = reply["Err"]["kind"] == json!("no_such_chat");
            let mut heard = reply["Ok"]["heard"].take();
            assert!(is_gone || heard.is_object(), "{reply}");
            if is_gone || heard["is_over"] == json!(true) && heard["told"] == json!([]) {
                self.open_chat(None, false).await;
                continue;
            }
            heard["from"] = json!(self.chat.from);
            (self.chat.from, self.chat.mark) = (heard["next"].as_u64().unwrap(), heard["mark"].clone());
            self.chat.heard.push(heard);
        }
    }
}

/// Appends lines to a cell of `length` characters.
pub(crate) fn typed(cell: &str, length: usize, lines: &[&str]) -> Value {
    let mut inserted = vec![json!(0)];
    inserted.extend(lines.iter().map(|line| json!(line)));
    json!({ "op": "change", "cell": cell, "change": [length, inserted] })
}

pub(crate) fn version(answer: &Value) -> u64 {
    answer["Ok"]["version"].as_u64().unwrap_or_else(|| panic!("{answer}"))
}
