//! The protocol on standard streams. A client that closes them has gone away, which is not the same as not wanting an
//! answer.

mod lines;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use cellist_platform::aside::{NotDone, check_threads};
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::stdio_pipes;
use tokio::io::{AsyncRead, ReadBuf};

use self::lines::Lines;
use super::server::Server;
use super::source::Source;

/// Serves whoever is at the other end of standard input and output until they close it. `gone` is set before calls that
/// are still under way are told that nobody waits for them.
pub async fn serve_stdio<S: Source>(server: Server<S>, gone: Arc<AtomicBool>) -> io::Result<()> {
    // Streams that are no pipes are read and written by a thread each.
    check_threads(2).map_err(NotDone::NoThread)?;
    let (reading, writing) = stdio_pipes();
    let reading = Watched { reading, gone };
    match server.serve(Lines::new(reading, writing)).await {
        Ok(service) => service.waiting().await.map(drop).map_err(io::Error::other),
        // Nobody ever asked anything.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// A stream that notes its end.
struct Watched<R> {
    reading: R,
    gone: Arc<AtomicBool>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.reading).poll_read(context, buffer);
        match &polled {
            Poll::Ready(Ok(())) if buffer.filled().len() > before => {}
            Poll::Ready(_) => self.gone.store(true, Ordering::SeqCst),
            Poll::Pending => {}
        }
        polled
    }
}
