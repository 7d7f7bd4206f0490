//! One page's socket: the handshake, requests and replies as text, and pings. The host service answers the requests.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use cellist_host::wire::{Down, Up};
use cellist_platform::contained::contained;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::Page;
use super::handshake::{self, Hello};
use crate::exchange::{Exchange, Writer};
use crate::listen::{self, Closing};
use crate::log::note;

/// How often a page is asked whether it is still there, and how often in vain. A browser answers by itself.
const PING: Duration = Duration::from_secs(20);
const MOST_PINGS: u32 = 3;
/// How long a page may take to read.
const READING: Duration = Duration::from_secs(60);

/// Serves a page until it goes, its browser is revoked, or the host leaves. `signed_in` is the browser that its cookie was
/// given to.
pub(super) async fn serve(
    mut socket: WebSocket,
    connection: listen::Visit,
    page: Arc<Page>,
    hello: Hello,
    signed_in: Option<String>,
) {
    let mut orders = connection.orders();
    let is_met = tokio::select! {
        is_met = handshake::meet(&mut socket, &page, &hello, signed_in.is_some()) => is_met,
        // Others came since, and this page has not proven itself.
        Closing::Now | Closing::AfterResponse = orders.next() => false,
    };
    if !is_met {
        return;
    }
    connection.proven();
    // A host that is about to leave lets nobody in.
    let Some(_attached) = page.shared.attached() else { return };
    let _open = page.door.visit(&hello.browser);
    let browsers: Vec<String> = signed_in.into_iter().chain([hello.browser]).collect();
    let client = page.shared.service.page_client(page.user.clone());
    let (sink, stream) = socket.split();
    let broken = Arc::new(Notify::new());
    let writer = PageWriter { sink, broken: broken.clone() };
    let exchange = Exchange::new(page.shared.clone(), client, writer);
    let mut visit = Visit { exchange };
    tokio::select! {
        // A fault of ours closes this page's socket, and the page comes back.
        _ = contained(visit.serve(stream)) => {}
        () = broken.notified() => {}
        () = page.shared.left() => {}
        () = page.door.revoked(&browsers) => {}
    }
}

/// The way to a page. It breaks when the page does not read.
struct PageWriter {
    sink: SplitSink<WebSocket, Message>,
    broken: Arc<Notify>,
}

impl PageWriter {
    async fn send(&mut self, message: Message) {
        if !matches!(timeout(READING, self.sink.send(message)).await, Ok(Ok(()))) {
            self.broken.notify_one();
        }
    }
}

impl Writer for PageWriter {
    fn encode(down: &Down) -> io::Result<Vec<u8>> {
        Ok(serde_json::to_vec(down)?)
    }

    async fn write(&mut self, message: Vec<u8>) {
        match Utf8Bytes::try_from(message) {
            Ok(text) => self.send(Message::Text(text)).await,
            Err(_) => self.broken.notify_one(),
        }
    }
}

struct Visit {
    exchange: Exchange<PageWriter>,
}

impl Visit {
    async fn serve(&mut self, mut socket: SplitStream<WebSocket>) {
        let mut pings = interval(PING);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut unanswered = 0;
        loop {
            let message = tokio::select! {
                biased;
                message = socket.next() => message,
                _ = pings.tick() => {
                    unanswered += 1;
                    if unanswered > MOST_PINGS {
                        return;
                    }
                    self.exchange.connection().writer().await.send(Message::Ping(Bytes::new())).await;
                    continue;
                }
            };
            unanswered = 0;
            match message {
                Some(Ok(Message::Text(text))) => match read(&text) {
                    Ok(up) => self.exchange.take(up),
                    Err(why) => return note(format_args!("a page is let go: {why}")),
                },
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            }
        }
    }
}

/// A message of a page, which may not ask everything.
fn read(text: &str) -> Result<Up, String> {
    let up: Up = serde_json::from_str(text).map_err(|error| format!("unexpected message: {error}"))?;
    match &up {
        Up::Ask { request, .. } if !request.allowed_from_page() => {
            Err("a page may not make this request".to_owned())
        }
        Up::Ask { .. } | Up::Cancel { .. } => Ok(up),
    }
}
