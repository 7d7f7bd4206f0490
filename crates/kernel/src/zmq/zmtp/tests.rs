use proptest::prelude::*;
use tokio::io::{AsyncWriteExt, DuplexStream};

use super::*;

fn reader() -> (Reader, DuplexStream) {
    let (near, far) = tokio::io::duplex(1 << 16);
    (Reader::new(Box::new(near)), far)
}

/// The result of reading these bytes, up to the first fault.
async fn read(bytes: &[u8]) -> (Vec<Received>, Fault) {
    let (mut reader, mut far) = reader();
    let write = async {
        // A reader that has given up takes no more.
        let _ = far.write_all(bytes).await;
        drop(far);
    };
    let read = async {
        let mut received = Vec::new();
        loop {
            match reader.next().await {
                Ok(message) => received.push(message),
                Err(fault) => return (received, fault),
            }
        }
    };
    tokio::join!(write, read).1
}

async fn written(parts: &[Bytes]) -> Vec<u8> {
    let (near, mut far) = tokio::io::duplex(1 << 24);
    ZmtpWriter(Box::new(near)).send(parts).await.unwrap();
    let mut bytes = Vec::new();
    far.read_to_end(&mut bytes).await.unwrap();
    bytes
}

fn message(content: usize) -> Vec<Bytes> {
    let small =
        ["topic", "<IDS|MSG>", "signature", "{}", "{}", "{}"].map(|part| Bytes::from_static(part.as_bytes()));
    small.into_iter().chain([Bytes::from(vec![b'x'; content])]).collect()
}

#[tokio::test]
async fn messages_come_back_as_they_were_written() {
    for content in [0, 1, 255, 256, READ - 1, READ, READ * 3 + 7, LARGE + 1] {
        let parts = message(content);
        let bytes = [written(&parts).await, written(&message(3)).await].concat();
        let (received, fault) = read(&bytes).await;
        assert_eq!(received, [Received::Message(parts), Received::Message(message(3))], "{content}");
        assert!(matches!(fault, Fault::Broken(_)), "{fault}");
    }
}

#[tokio::test]
async fn only_messages_to_widgets_keep_their_buffers() {
    for (header, is_kept) in [(r#"{"msg_type":"comm_msg"}"#, true), (r#"{"msg_type":"stream"}"#, false)] {
        let mut parts = message(3);
        parts[3] = Bytes::from_static(header.as_bytes());
        let without = parts.clone();
        parts.extend([Bytes::from_static(b"one"), Bytes::new(), Bytes::from(vec![7; READ * 2])]);
        let (received, _) = read(&written(&parts).await).await;
        assert_eq!(received, [Received::Message(if is_kept { parts } else { without })]);
    }
}

#[test]
fn content_and_buffers_have_one_limit() {
    let half = KERNEL_MESSAGE as u64 / 2;
    let mut message = ZmtpMessage { behind: Some(CONTENT), has_buffers: true, ..ZmtpMessage::default() };
    assert_eq!(message.admit(half), Ok(true));
    message.behind = Some(CONTENT + 1);
    assert_eq!(message.admit(half), Ok(true));
    assert_eq!(message.admit(1), Ok(false));
    assert!(message.too_large.is_some());
}

#[tokio::test]
async fn a_message_is_whole_although_its_reading_was_dropped_again_and_again() {
    let bytes = written(&message(READ * 2)).await;
    let (mut reader, mut far) = reader();
    for piece in bytes.chunks(1000) {
        far.write_all(piece).await.unwrap();
        if let Ok(received) = tokio::time::timeout(std::time::Duration::ZERO, reader.next()).await {
            assert_eq!(received.unwrap(), Received::Message(message(READ * 2)));
            return;
        }
    }
    assert_eq!(reader.next().await.unwrap(), Received::Message(message(READ * 2)));
}

#[tokio::test]
async fn buffers_behind_the_content_are_not_kept() {
    let mut parts = message(4);
    parts.extend([Bytes::from(vec![0; READ * 5]), Bytes::from_static(b"more")]);
    let bytes = [written(&parts).await, written(&message(1)).await].concat();
    let (received, _) = read(&bytes).await;
    assert_eq!(received, [Received::Message(message(4)), Received::Message(message(1))]);
}

/// The head of a frame of any length.
fn head(flags: u8, length: u64) -> Vec<u8> {
    [&[flags | LONG], &length.to_be_bytes()[..]].concat()
}

async fn until_content() -> Vec<u8> {
    let mut bytes = written(&message(0)).await;
    // The last frame is the content: its head and nothing else.
    bytes.truncate(bytes.len() - 2);
    bytes
}

#[tokio::test]
async fn lengths_that_no_message_has_end_the_connection_at_once() {
    let check = async |bytes: Vec<u8>, says: &str| {
        let (received, fault) = read(&bytes).await;
        assert_eq!(received, []);
        assert!(matches!(fault, Fault::Violation(_)), "{fault}");
        assert!(fault.to_string().contains(says), "{fault}");
    };
    for length in [1 << 40, 1 << 63, u64::MAX] {
        check(head(0, length), "where at most 64 KiB are taken").await;
        check([until_content().await, head(0, length)].concat(), "where at most 512 MiB are taken").await;
    }
    check(head(COMMAND, 1 << 40), "a command of 1 TiB").await;
    check(vec![0xf8, 0, 0], "unknown flags").await;
    check([COMMAND, 1, 0].repeat(COMMANDS + 1), "1000 commands and no message").await;
    check([MORE, 1, 0].repeat(100), "parts without a delimiter").await;
    let endless = [written(&message(0)).await.split_last().map(|(_, rest)| rest.to_vec()).unwrap(), vec![0]];
    let mut endless = endless.concat();
    let at = endless.len() - 2;
    endless[at] = MORE;
    check([endless, [MORE, 1, 0].repeat(KERNEL_PARTS)].concat(), "a message in parts").await;
}

#[tokio::test]
async fn a_message_that_is_a_little_too_large_is_passed_over() {
    let (mut reader, mut far) = reader();
    let length = KERNEL_MESSAGE + 1;
    let write = async {
        far.write_all(&until_content().await).await.unwrap();
        far.write_all(&head(0, length as u64)).await.unwrap();
        let zeros = vec![0; 1 << 20];
        let mut left = length;
        while left > 0 {
            let piece = left.min(zeros.len());
            far.write_all(&zeros[..piece]).await.unwrap();
            left -= piece;
        }
        far.write_all(&written(&message(2)).await).await.unwrap();
    };
    let read = async {
        let Received::TooLarge(error) = reader.next().await.unwrap() else { panic!("it was kept") };
        assert_eq!(error.size, length as u64);
        assert_eq!(reader.next().await.unwrap(), Received::Message(message(2)));
    };
    tokio::join!(write, read);
}

#[tokio::test]
async fn a_greeting_that_is_not_zeromqs_is_refused() {
    let answered = async |bytes: &[u8]| {
        let (near, mut far) = tokio::io::duplex(1 << 16);
        let (reading, writing) = tokio::io::split(near);
        far.write_all(bytes).await.unwrap();
        let greeted =
            greet(Reader::new(Box::new(reading)), ZmtpWriter(Box::new(writing)), SocketType::Dealer, "me")
                .await;
        greeted.map(|_| ())
    };
    let ready = ready(SocketType::Request, "");
    answered(&[&greeting()[..], &ready].concat()).await.unwrap();
    let http = [b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), vec![b' '; 64]].concat();
    for wrong in [http, vec![0xff; 64], [&greeting()[..], &head(COMMAND, 1 << 50)].concat()] {
        assert!(matches!(answered(&wrong).await, Err(Fault::Violation(_))));
    }
}

proptest! {
    #[test]
    fn nothing_that_a_kernel_sends_breaks_the_reader(bytes: Vec<u8>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(read(&bytes));
    }
}
