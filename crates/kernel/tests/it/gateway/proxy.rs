//! A small way in between, which a test can break.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::zmq::bed::LONG;

/// How connections end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Break {
    /// The server hears first, and its messages until then arrive.
    Gently,
    /// All at once; messages on their way are lost.
    AtOnce,
    /// The server's messages from now on are swallowed.
    Swallow,
    /// The client gets these bytes, and the connection goes on.
    Inject(&'static [u8]),
}

pub(crate) struct Proxy {
    address: SocketAddr,
    /// Which connections end, by a number that grows, and how.
    broken: Arc<watch::Sender<(u64, Option<Break>)>>,
    /// How many bytes were swallowed.
    swallowed: Arc<watch::Sender<usize>>,
    /// Whether new connections lead anywhere.
    is_open: Arc<watch::Sender<bool>>,
}

impl Proxy {
    pub(crate) async fn to(server: SocketAddr) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let broken = Arc::new(watch::Sender::new((0, None)));
        let swallowed = Arc::new(watch::Sender::new(0));
        let is_open = Arc::new(watch::Sender::new(true));
        let (breaks, counted, gate) = (broken.clone(), swallowed.clone(), is_open.clone());
        tokio::spawn(async move {
            loop {
                let Ok((client, _)) = listener.accept().await else { return };
                let mut breaks = breaks.subscribe();
                breaks.mark_unchanged();
                let (counted, mut gate) = (counted.clone(), gate.subscribe());
                tokio::spawn(async move {
                    if gate.wait_for(|is_open| *is_open).await.is_err() {
                        return;
                    }
                    if let Ok(server) = TcpStream::connect(server).await {
                        pass(client, server, breaks, &counted).await;
                    }
                });
            }
        });
        Proxy { address, broken, swallowed, is_open }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits until so many bytes were swallowed.
    pub(crate) async fn until_swallowed(&self, count: usize) {
        let mut swallowed = self.swallowed.subscribe();
        tokio::time::timeout(LONG, swallowed.wait_for(|all| *all >= count)).await.unwrap().unwrap();
    }

    /// New connections lead nowhere until they may.
    pub(crate) fn set_open(&self, is_open: bool) {
        self.is_open.send_replace(is_open);
    }

    /// Breaks all connections that there are.
    pub(crate) fn cut(&self, how: Break) {
        self.broken.send_modify(|(number, kind)| (*number, *kind) = (*number + 1, Some(how)));
    }
}

async fn pass(
    client: TcpStream,
    server: TcpStream,
    mut breaks: watch::Receiver<(u64, Option<Break>)>,
    swallowed: &watch::Sender<usize>,
) {
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut swallowing = false;
    let how = loop {
        tokio::select! {
            biased;
            changed = breaks.changed() => {
                let how = breaks.borrow_and_update().1;
                match (changed, how) {
                    (Ok(()), Some(Break::Swallow)) => swallowing = true,
                    (Ok(()), Some(Break::Inject(bytes))) => if to_client.write_all(bytes).await.is_err() { return },
                    (Ok(()), Some(how)) => break how,
                    (Ok(()), None) => {}
                    (Err(_), _) => return,
                }
            }
            read = from_client.read(&mut up) => match read {
                Ok(count) if count > 0 => if to_server.write_all(&up[..count]).await.is_err() { return },
                _ => break Break::Gently,
            },
            read = from_server.read(&mut down) => match read {
                Ok(count) if count > 0 => {
                    if swallowing {
                        swallowed.send_modify(|all| *all += count);
                    } else if to_client.write_all(&down[..count]).await.is_err() {
                        return;
                    }
                }
                _ => return,
            },
        }
    };
    if how == Break::Gently && to_server.shutdown().await.is_ok() {
        while let Ok(count @ 1..) = from_server.read(&mut down).await {
            if to_client.write_all(&down[..count]).await.is_err() {
                return;
            }
        }
    }
}
