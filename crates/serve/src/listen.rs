//! The accept loop of every TCP listener: limits on number and idle time of connections. The
//! routers behind it decide about access.

mod connections;
mod counted_stream;
mod spare_descriptor;

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::http::{Extensions, Request, Response, StatusCode};
use axum::response::IntoResponse;
use cellist_platform::contained::contained;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::sleep;

use crate::log::note;
use crate::peer;
use counted_stream::CountedStream;

pub(crate) use connections::{Closing, ConnectionHandle, ConnectionSlot, ConnectionTable};
pub(crate) use spare_descriptor::SpareDescriptor;

/// Time until the first authenticated request of a connection.
const AUTHENTICATION: Duration = Duration::from_secs(10);
/// Idle time of an authenticated connection between requests, and time limit for the head of a
/// request.
const IDLE: Duration = Duration::from_secs(60);
/// Limit on the head of a request. Browsers send the cookies of all ports of this machine.
const LARGEST_HEAD: usize = 64 << 10;
/// Bytes of a body that are read ahead.
const READ_AHEAD: usize = 256 << 10;
/// Pause after a failed accept.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// Limits per listener on connections without and with an authenticated request. Lower if few files
/// may be open.
const MAX_UNAUTHENTICATED: usize = 256;
const MAX_AUTHENTICATED: usize = 512;

/// Connections that the system queues before accept. Clients beyond it retry after a second.
const BACKLOG: u32 = 4096;

/// Listens on an address.
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves until `leaving` resolves, then finishes the responses in progress.
pub(crate) async fn serve(listener: TcpListener, router: Router, stopping: impl Future<Output = ()>) {
    let table = ConnectionTable::new(MAX_UNAUTHENTICATED, MAX_AUTHENTICATED);
    let mut stopping = pin!(stopping);
    loop {
        let accepted = tokio::select! {
            () = &mut stopping => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) if peer::is_admitted(&stream) => {
                if let Some(slot) = table.admit(&stream) {
                    // Messages are small and should arrive at once.
                    let _ = stream.set_nodelay(true);
                    tokio::spawn(connection(stream, router.clone(), slot));
                }
            }
            Ok(_) => {}
            Err(error) => {
                accept_failed("a connection", &error);
                sleep(PAUSE).await;
            }
        }
    }
    table.close();
}

/// Logs a failed accept, and closes unauthenticated connections to free descriptors.
pub(crate) fn accept_failed(peer: &str, error: &io::Error) {
    let gave_way = connections::make_room();
    note(format_args!("cannot accept {peer}: {error}; closed {gave_way} unauthenticated connections"));
}

/// Marks the connection of a request as authenticated, which protects it from being closed for
/// newer ones.
pub(crate) fn mark_authenticated(extensions: &Extensions) {
    if let Some(handle) = extensions.get::<ConnectionHandle>() {
        handle.mark_authenticated();
    }
}

/// Serves one connection until it ends or is told to close.
async fn connection(stream: TcpStream, router: Router, slot: ConnectionSlot) {
    let handle = slot.handle();
    let mut orders = slot.orders();
    let service = TowerToHyperService::new(router);
    let extension = handle.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(extension.clone());
        answer(service.call(request))
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .max_header_size(LARGEST_HEAD)
        .max_buf_size(READ_AHEAD);
    // The WebSocket of a page outlives this task, and counts until it is closed.
    let io = TokioIo::new(CountedStream::new(stream, slot));
    let mut serving = pin!(builder.serve_connection(io, service).with_upgrades());
    let mut patience = pin!(sleep(AUTHENTICATION));
    let mut is_unauthenticated = true;
    loop {
        tokio::select! {
            // The client knows why its connection ended.
            _ = serving.as_mut() => return,
            () = &mut patience, if is_unauthenticated => match handle.is_unauthenticated() {
                true => return,
                false => is_unauthenticated = false,
            },
            order = orders.next() => match order {
                Closing::Now => return,
                Closing::AfterResponse => serving.as_mut().graceful_shutdown(),
            },
        }
    }
}

/// Turns a panic of a handler into an error response. The connection stays open.
async fn answer<E>(
    answering: impl Future<Output = Result<Response<axum::body::Body>, E>>,
) -> Result<Response<axum::body::Body>, E> {
    contained(answering).await.unwrap_or_else(|panicked| {
        Ok((StatusCode::INTERNAL_SERVER_ERROR, format!("{panicked}\n")).into_response())
    })
}
