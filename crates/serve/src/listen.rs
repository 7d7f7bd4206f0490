//! The accept loop of every TCP listener: how many connections there are, how long they may be silent, and which one
//! gives way. Who may ask for what is for the routers behind it.

mod counted;
mod crowd;
mod spare;

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
use counted::Counted;

pub(crate) use crowd::{Closing, Crowd, Seat, Visit};
pub(crate) use spare::Spare;

/// How long a connection may take until a request of its was let in.
const STRANGER: Duration = Duration::from_secs(10);
/// How long a connection that was let in may be silent between two requests, and take to send a request's head.
const IDLE: Duration = Duration::from_secs(60);
/// The largest head of a request: browsers send the cookies of every port of this machine.
const LARGEST_HEAD: usize = 64 << 10;
/// The largest piece of a body that is read ahead of its reader.
const READ_AHEAD: usize = 256 << 10;
/// How long to wait after a connection could not be accepted.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// The most connections of one listener that were not let in yet, and that were. Both are less where few files may be
/// open.
const MOST_STRANGERS: usize = 256;
const MOST_KNOWN: usize = 512;

/// How many connections the system holds until they are accepted. Past it, clients wait for a second and try again.
const BACKLOG: u32 = 4096;

/// Listens at an address.
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves until `leaving` resolves; responses that were begun are finished.
pub(crate) async fn serve(listener: TcpListener, router: Router, leaving: impl Future<Output = ()>) {
    let crowd = Crowd::new(MOST_STRANGERS, MOST_KNOWN);
    let mut leaving = pin!(leaving);
    loop {
        let accepted = tokio::select! {
            () = &mut leaving => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) if peer::is_admitted(&stream) => {
                if let Some(seat) = crowd.enter(&stream) {
                    // What is said is small and wanted at once.
                    let _ = stream.set_nodelay(true);
                    tokio::spawn(connection(stream, router.clone(), seat));
                }
            }
            Ok(_) => {}
            Err(error) => {
                failed("a connection", &error);
                sleep(PAUSE).await;
            }
        }
    }
    crowd.close();
}

/// Notes that a connection could not be accepted, and makes room where that is why.
pub(crate) fn failed(what: &str, error: &io::Error) {
    let gave_way = crowd::make_room();
    note(format_args!("{what} could not be accepted: {error}; {gave_way} others were closed"));
}

/// A request's connection shows that it is not a stranger's: it will not give way to newer ones.
pub(crate) fn known(extensions: &Extensions) {
    if let Some(visit) = extensions.get::<Visit>() {
        visit.known();
    }
}

/// Serves one connection until it ends or has to.
async fn connection(stream: TcpStream, router: Router, seat: Seat) {
    let visit = seat.visit();
    let mut orders = seat.orders();
    let service = TowerToHyperService::new(router);
    let extension = visit.clone();
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
    // A socket of a page outlives this task, and counts for as long as it is open.
    let io = TokioIo::new(Counted::new(stream, seat));
    let mut serving = pin!(builder.serve_connection(io, service).with_upgrades());
    let mut patience = pin!(sleep(STRANGER));
    let mut is_stranger = true;
    loop {
        tokio::select! {
            // The reason for which a connection ends is its client's business.
            _ = serving.as_mut() => return,
            () = &mut patience, if is_stranger => match visit.is_stranger() {
                true => return,
                false => is_stranger = false,
            },
            order = orders.next() => match order {
                Closing::Now => return,
                Closing::AfterResponse => serving.as_mut().graceful_shutdown(),
            },
        }
    }
}

/// A handler that panics answers with an error, and its connection goes on.
async fn answer<E>(
    answering: impl Future<Output = Result<Response<axum::body::Body>, E>>,
) -> Result<Response<axum::body::Body>, E> {
    contained(answering).await.unwrap_or_else(|panicked| {
        Ok((StatusCode::INTERNAL_SERVER_ERROR, format!("{panicked}\n")).into_response())
    })
}
