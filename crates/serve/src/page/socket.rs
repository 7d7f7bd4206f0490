//! The socket of one page: handshake, requests and replies as text, pings. The host service answers
//! the requests.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use cellist_host::wire::{ClientFrame, HostFrame};
use cellist_platform::contained::contained;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::PageServer;
use super::handshake::{self, PageHello};
use crate::exchange::{ClientWriter, Exchange};
use crate::listen::{self, Closing};
use crate::log::note;

/// Interval of pings, and the number of unanswered ones that ends the connection. Browsers answer
/// by themselves.
const PING: Duration = Duration::from_secs(20);
const MOST_PINGS: u32 = 3;
/// Time limit for a page to read a message.
const READING: Duration = Duration::from_secs(60);

/// Serves a page until it disconnects, its browser is revoked, or the host stops. `signed_in` is
/// the browser of its cookie.
pub(super) async fn serve(
    mut socket: WebSocket,
    connection: listen::ConnectionHandle,
    page: Arc<PageServer>,
    hello: PageHello,
    signed_in: Option<String>,
) {
    let mut orders = connection.orders();
    let is_accepted = tokio::select! {
        is_accepted = handshake::authenticate(&mut socket, &page, &hello, signed_in.is_some()) => is_accepted,
        // The limit of connections is reached, and this page has not completed the handshake.
        Closing::Now | Closing::AfterResponse = orders.next() => false,
    };
    if !is_accepted {
        return;
    }
    connection.mark_handshake_done();
    // A stopping host refuses new clients.
    let Some(_attached) = page.shared.attach() else { return };
    let _open = page.access.visit(&hello.browser);
    let browsers: Vec<String> = signed_in.into_iter().chain([hello.browser]).collect();
    let client = page.shared.service.page_client(page.user.clone());
    let (sink, stream) = socket.split();
    let broken = Arc::new(Notify::new());
    let writer = PageWriter { sink, broken: broken.clone() };
    let exchange = Exchange::new(page.shared.clone(), client, writer);
    let mut session = PageSession { exchange };
    tokio::select! {
        // A panic closes the socket of this page, which then reconnects.
        _ = contained(session.serve(stream)) => {}
        () = broken.notified() => {}
        () = page.shared.stopped() => {}
        () = page.access.revoked(&browsers) => {}
    }
}

/// The sending side of a page. `broken` is notified when the page does not read in time.
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

impl ClientWriter for PageWriter {
    fn encode(down: &HostFrame) -> io::Result<Vec<u8>> {
        Ok(serde_json::to_vec(down)?)
    }

    async fn write(&mut self, message: Vec<u8>) {
        match Utf8Bytes::try_from(message) {
            Ok(text) => self.send(Message::Text(text)).await,
            Err(_) => self.broken.notify_one(),
        }
    }
}

struct PageSession {
    exchange: Exchange<PageWriter>,
}

impl PageSession {
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
                    Ok(up) => self.exchange.handle(up),
                    Err(why) => return note(format_args!("closed the socket of a page: {why}")),
                },
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            }
        }
    }
}

/// Parses a message of a page. Pages may not make every request.
fn read(text: &str) -> Result<ClientFrame, String> {
    let up: ClientFrame =
        serde_json::from_str(text).map_err(|error| format!("unexpected message: {error}"))?;
    match &up {
        ClientFrame::Ask { request, .. } if !request.allowed_from_page() => {
            Err("a page may not make this request".to_owned())
        }
        ClientFrame::Ask { .. } | ClientFrame::Cancel { .. } => Ok(up),
    }
}
