//! Output at any rate, read at any pace: none of it is lost, and little of it is held.

use std::time::Duration;

use cellist_kernel::{Event, Status};

use super::bed::{Bed, rest};

/// The most memory that this process had in use so far, in bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn twenty_thousand_displays_reach_a_reader_that_looks_away() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let mut execution = kernel
        .begin("for at in range(20000): display({'text/plain': str(at), 'text/x': 'x' * 1000}, raw=True)")
        .await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut next = 0;
    while let Some(event) = execution.events.recv().await {
        match event {
            Event::Display { data, .. } => {
                assert_eq!(data.get_text("text/plain"), Some(next.to_string().as_str()));
                next += 1;
            }
            Event::Done(outcome) => assert_eq!(outcome.status, Status::Ok),
            Event::Started { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(next, 20_000);
    kernel.end().await;
}

#[tokio::test]
async fn a_hundred_megabytes_are_printed_and_held_once() {
    const SIZE: usize = 100 * 1024 * 1024;
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let before = peak_memory();
    let mut execution = kernel.begin(&format!("print('x\\n' * {})", SIZE / 2)).await;
    let (mut bytes, mut largest) = (0, 0);
    while let Some(event) = execution.events.recv().await {
        if let Event::Stream { bytes: piece, .. } = event {
            bytes += piece.len();
            largest = largest.max(piece.len());
        }
    }
    assert_eq!(bytes, SIZE + 1);
    assert!(largest <= 128 * 1024);
    // As JSON, in which each line end takes two bytes, it is half as large again.
    let held = peak_memory().saturating_sub(before);
    assert!(held < 250 * 1024 * 1024, "{held}");
    kernel.end().await;
}

#[tokio::test]
async fn many_lines_and_a_large_image_arrive_whole() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let ran = kernel.run("for at in range(300_000): print(at)").await;
    let expected: String = (0..300_000).map(|at| format!("{at}\n")).collect();
    assert!(ran.stdout() == expected);

    let ran = kernel.run("display({'image/png': 'A' * 20_000_000, 'text/plain': 'image'}, raw=True)").await;
    let Event::Display { data, .. } = &ran.0[1] else { panic!("no display") };
    assert_eq!(data.get_text("image/png").unwrap().len(), 20_000_000);
    kernel.end().await;
}

#[tokio::test]
async fn a_flood_can_be_interrupted_while_nobody_reads() {
    let bed = Bed::new();
    let kernel = bed.ipykernel().await;
    let mut execution = kernel.begin("while True: display({'text/plain': 'x' * 10_000}, raw=True)").await;
    // Until the kernel waits for us.
    tokio::time::sleep(Duration::from_secs(2)).await;
    kernel.kernel.interrupt(execution.id).await.unwrap();
    assert!(rest(&mut execution).await.outcome().cancelled);
    assert_eq!(kernel.run("1 + 1").await.result(), Some("2"));
    kernel.end().await;
}
