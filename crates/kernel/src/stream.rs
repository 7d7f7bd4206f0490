//! Connections that wait for nothing: small messages go out at once, and incoming data is acknowledged at once. A
//! Jupyter server holds its next small message back until then, for 40 ms with a client that does not care.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use cellist_platform::aside::aside;
use cellist_platform::fault::{self, Site};
use hyper::Uri;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// A connection to a server, encrypted where its address says so.
pub struct Stream(Carrier);

enum Carrier {
    Plain(Prompt),
    Encrypted(Box<TlsStream<Prompt>>),
}

impl Stream {
    /// Connects to the machine of an address.
    pub async fn open(uri: &Uri) -> io::Result<Stream> {
        Stream::open_trusting(uri, None).await
    }

    /// The same, where the certificates in a file take the place of those that this machine trusts.
    pub async fn open_trusting(uri: &Uri, bundle: Option<&Path>) -> io::Result<Stream> {
        let encrypted = uri.scheme_str() == Some("https");
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = uri.port_u16().unwrap_or(if encrypted { 443 } else { 80 });
        let socket = connect(&host, port).await?;
        socket.set_nodelay(true)?;
        let prompt = Prompt(socket);
        if !encrypted {
            return Ok(Stream(Carrier::Plain(prompt)));
        }
        let name = ServerName::try_from(host).map_err(io::Error::other)?;
        let connector = TlsConnector::from(match bundle {
            Some(bundle) => trust_in(bundle)?,
            None => trust()?,
        });
        Ok(Stream(Carrier::Encrypted(Box::new(connector.connect(name, prompt).await?))))
    }
}

/// Connects to a machine by its name or number. Names are looked up on a thread of ours, which may not be had.
async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    fault::point(Site::ServerSocket)?;
    if let Ok(number) = host.parse::<IpAddr>() {
        return TcpStream::connect((number, port)).await;
    }
    let name = host.to_owned();
    let found = aside(move || (name.as_str(), port).to_socket_addrs()).await??;
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "no address was found");
    for address in found {
        match TcpStream::connect(address).await {
            Ok(socket) => return Ok(socket),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// The certificates that this machine trusts.
fn trust() -> io::Result<Arc<ClientConfig>> {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(config.clone());
    }
    let config = believing(rustls_native_certs::load_native_certs().certs)?;
    Ok(CONFIG.get_or_init(|| config).clone())
}

/// The certificates in a file.
fn trust_in(bundle: &Path) -> io::Result<Arc<ClientConfig>> {
    let loaded = rustls_native_certs::load_certs_from_paths(Some(bundle), None);
    if loaded.certs.is_empty() {
        let why = loaded.errors.first().map(|error| format!(": {error}")).unwrap_or_default();
        return Err(io::Error::other(format!("no certificate can be read from {}{why}", bundle.display())));
    }
    believing(loaded.certs)
}

fn believing(certificates: Vec<CertificateDer<'static>>) -> io::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// A socket that acknowledges at once.
struct Prompt(TcpStream);

impl Prompt {
    /// The system forgets this again and again, so it is said before each read.
    fn acknowledge(&self) {
        #[cfg(target_os = "linux")]
        let _ = rustix::net::sockopt::set_tcp_quickack(&self.0, true);
    }
}

impl AsyncRead for Prompt {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.acknowledge();
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Prompt {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.get_mut().0 {
            Carrier::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Carrier::Encrypted(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().0 {
            Carrier::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Carrier::Encrypted(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().0 {
            Carrier::Plain(stream) => Pin::new(stream).poll_flush(context),
            Carrier::Encrypted(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().0 {
            Carrier::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Carrier::Encrypted(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
