//! MCP on standard streams. Closed streams mean that the client is gone, which cancels no call.

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

use self::lines::LineTransport;
use super::server::McpServer;
use super::source::McpSource;

/// Serves the client on standard input and output until it closes them. Sets `gone` before running
/// calls are cancelled.
pub async fn serve_stdio<S: McpSource>(server: McpServer<S>, gone: Arc<AtomicBool>) -> io::Result<()> {
    // Streams other than pipes need one thread each.
    check_threads(2).map_err(NotDone::NoThread)?;
    let (reading, writing) = stdio_pipes();
    let reading = EndWatcher { reading, gone };
    match server.serve(LineTransport::new(reading, writing)).await {
        Ok(service) => service.waiting().await.map(drop).map_err(io::Error::other),
        // The client sent no request.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// A stream that records its end.
struct EndWatcher<R> {
    reading: R,
    gone: Arc<AtomicBool>,
}

impl<R: AsyncRead + Unpin> AsyncRead for EndWatcher<R> {
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
