//! A server with responses from a test, which records its requests.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

/// A response: a status line and a body, or nothing at all.
pub(crate) type Answer = Option<(&'static str, &'static str)>;

pub(crate) struct Scripted {
    pub(crate) url: String,
    pub(crate) asked: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    /// `answer` gets the method and the path, and how often they were asked for before.
    pub(crate) async fn start(answer: impl Fn(&str, usize) -> Answer + Send + Sync + 'static) -> Scripted {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (noted, answer) = (asked.clone(), Arc::new(answer));
        tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { return };
                let (noted, answer) = (noted.clone(), answer.clone());
                tokio::spawn(async move {
                    let mut stream = BufReader::new(stream);
                    let (mut first, mut length) = (String::new(), 0);
                    stream.read_line(&mut first).await.unwrap();
                    loop {
                        let mut line = String::new();
                        if stream.read_line(&mut line).await.unwrap() <= 2 {
                            break;
                        }
                        if let Some((_, count)) = line.to_lowercase().split_once("content-length:") {
                            length = count.trim().parse().unwrap();
                        }
                    }
                    let mut body = vec![0; length];
                    stream.read_exact(&mut body).await.unwrap();
                    let what = first.rsplit_once(" HTTP").unwrap().0.to_owned();
                    let before = {
                        let mut noted = noted.lock().unwrap();
                        let before = noted.iter().filter(|asked| **asked == what).count();
                        noted.push(what.clone());
                        before
                    };
                    match answer(&what, before) {
                        Some((status, body)) => {
                            let answer = format!(
                                "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                                body.len()
                            );
                            let _ = stream.write_all(answer.as_bytes()).await;
                            let _ = stream.shutdown().await;
                        }
                        None => std::future::pending().await,
                    }
                });
            }
        });
        Scripted { url, asked }
    }

    pub(crate) fn count(&self, what: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| *asked == what).count()
    }
}
