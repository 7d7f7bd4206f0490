//! Servers behind other addresses than a plain one: below a path, as a Hub gives them, and encrypted.

use std::path::PathBuf;
use std::sync::Arc;

use cellist_kernel::gateway::Target;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use testkit::{Flavour, Jupyter};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::bed::{Bed, at, target};

fn part(name: &str) -> PathBuf {
    testkit::repo_root().join("crates/kernel/tests/tls").join(name)
}

/// Encrypts the connection to a server, for as long as the test runs; its address.
async fn encrypted(server: &Jupyter) -> String {
    let certificates = CertificateDer::pem_file_iter(part("server.pem")).unwrap();
    let certificates = certificates.collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(part("server.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .unwrap();
    let (acceptor, to) = (TlsAcceptor::from(Arc::new(config)), server.address());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // A client that does not trust us hangs up.
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut server = TcpStream::connect(to).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut stream, &mut server).await;
            });
        }
    });
    url
}

#[tokio::test]
async fn an_encrypted_server_is_trusted_by_the_certificates_that_a_variable_names() {
    let server = Jupyter::shared(Flavour::KernelGateway);
    let url = encrypted(&server).await;
    let bed = Bed::new();
    for name in ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"] {
        let bundle = part("authority.pem").to_str().unwrap().to_owned();
        let gateway = at(&url).trusting(|asked| (asked == name).then(|| bundle.clone()));
        let kernel = bed.start(Target { gateway, ..target(&url) }).await;
        assert_eq!(kernel.run("6 * 7").await.result(), Some("42"));
        kernel.end().await;
    }
    let refused = bed.try_start(target(&url)).await.err().unwrap();
    assert!(refused.to_string().contains("shows a certificate that is not trusted: "), "{refused}");
    assert!(refused.hint().unwrap().contains("SSL_CERT_FILE"));
    let gateway = at(&url).trusting(|_| Some("/nowhere/bundle.pem".into()));
    let refused = bed.try_start(Target { gateway, ..target(&url) }).await.err().unwrap();
    assert!(refused.to_string().contains("no certificate can be read from /nowhere/bundle.pem"), "{refused}");
}

#[tokio::test]
async fn a_server_below_a_path_is_reached_there() {
    let server = Jupyter::start_below(Flavour::JupyterServer, "/user/ann");
    let bed = Bed::new();
    // With and without a slash at its end, as people copy it.
    for url in [format!("{}/user/ann/", server.url()), format!("{}/user/ann", server.url())] {
        let kernel = bed.start(target(&url)).await;
        assert_eq!(kernel.run("6 * 7").await.result(), Some("42"));
        kernel.kernel.restart().await.unwrap();
        kernel.end().await;
    }
    assert!(bed.try_start(target(&server.url())).await.is_err());
}
