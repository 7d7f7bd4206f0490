//! Receives what a kernel publishes. The library reads into one buffer and uses that again for good, however large a
//! message has made it; here it is brought to let go of such a buffer.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use bytes::Bytes;
use futures_util::Stream;
use zeromq::{Socket, SocketEvent, SocketOptions, SocketRecv, SubSocket, ZmqResult};

/// From this size on the buffer of a message matters.
const LARGE: usize = 1 << 20;

/// A socket for what everyone gets.
pub(super) struct Receiving {
    socket: SubSocket,
    /// A byte of the last large message. As long as someone has a part of a buffer, the library does not begin it
    /// anew, but takes another one when it comes to its end.
    large: Option<Bytes>,
}

impl Receiving {
    /// A socket that is not connected to anything yet.
    pub(super) fn new() -> Receiving {
        /// How much is read at a time, at first and at most.
        const READ: (usize, usize) = (128, 64 * 1024);
        let mut options = SocketOptions::default();
        // Behind a large message there is room for one reading of the largest size. Where readings become no smaller,
        // the first message that follows brings the buffer to its end.
        options.read_buffer(READ.0, READ.1, usize::MAX);
        Receiving { socket: SubSocket::with_options(options), large: None }
    }

    /// Connects it, and asks for everything.
    pub(super) async fn connect(&mut self, endpoint: &str) -> ZmqResult<()> {
        self.socket.subscribe("").await?;
        self.socket.connect(endpoint).await
    }

    /// Tells when connections come and go.
    pub(super) fn monitor(&mut self) -> impl Stream<Item = SocketEvent> + Unpin + use<> {
        self.socket.monitor()
    }

    /// The next message. Nothing is lost when this is dropped.
    pub(super) async fn next(&mut self) -> ZmqResult<Vec<Bytes>> {
        let mut receiving = pin!(self.socket.recv());
        let received = match poll_fn(|context| Poll::Ready(receiving.as_mut().poll(context))).await {
            Poll::Ready(received) => received,
            Poll::Pending => {
                self.large.take_if(|large| large.is_unique());
                receiving.await
            }
        };
        let frames = received?.into_vec();
        if let Some(frame) = frames.iter().find(|frame| frame.len() >= LARGE) {
            self.large = Some(frame.slice(..1));
        }
        Ok(frames)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::StreamExt;
    use tokio::time::timeout;
    use zeromq::{PubSocket, SocketSend, ZmqMessage};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn the_buffer_of_a_large_message_is_let_go_once_another_follows() {
        let folder = tempfile::tempdir().unwrap();
        let endpoint = format!("ipc://{}", folder.path().join("socket").display());
        let mut publisher = PubSocket::new();
        let mut joined = publisher.monitor();
        publisher.bind(&endpoint).await.unwrap();
        let mut receiving = Receiving::new();
        receiving.connect(&endpoint).await.unwrap();
        while !matches!(timeout(PATIENCE, joined.next()).await.unwrap(), Some(SocketEvent::Accepted(..))) {}

        let large = Bytes::from(vec![7; 8 * LARGE]);
        // Whoever subscribes just now hears nothing of what was said before.
        let first = loop {
            publisher.send(ZmqMessage::from(Bytes::from_static(b"there?"))).await.unwrap();
            if let Ok(first) = timeout(Duration::from_millis(10), receiving.next()).await {
                break first.unwrap();
            }
        };
        assert_eq!(first, [&b"there?"[..]]);
        publisher.send(ZmqMessage::from(large.clone())).await.unwrap();
        let mut next = async || loop {
            let frames = timeout(PATIENCE, receiving.next()).await.unwrap().unwrap();
            if frames != [&b"there?"[..]] {
                break frames;
            }
        };
        assert_eq!(next().await, [large]);
        publisher.send(ZmqMessage::from(Bytes::from_static(b"over"))).await.unwrap();
        assert_eq!(next().await, [&b"over"[..]]);
        assert!(timeout(Duration::from_millis(1), receiving.next()).await.is_err());
        assert!(receiving.large.is_none(), "the library has another one");
    }
}
