//! Artifacts on real disks: with space, full and read-only, and with many writers.

mod limits;

use std::fs::{self, File, FileTimes};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, SystemTime};

use cellist_settings::Home;
use cellist_store::artifact::{
    ArtifactError, ArtifactId, ArtifactOrigin, ArtifactRange, ArtifactSummary, ArtifactWriter, Artifacts,
    Retention, first_line,
};
use testkit::{Scratch, wait_until};

use crate::bed::{as_nobody, give_to_nobody, mount, names, role, say, start, with_own_mounts};

const SPILL: usize = 1000;

fn artifacts(scratch: &Scratch) -> Artifacts {
    Artifacts::new(&Home::at(scratch.path().join("home")), Retention::default())
}

fn origin(what: &str) -> ArtifactOrigin {
    ArtifactOrigin { what: what.to_owned(), ..ArtifactOrigin::default() }
}

fn finish(writer: ArtifactWriter) -> ArtifactSummary {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(writer.finish())
}

fn keep(artifacts: &Artifacts, what: &str, bytes: &[u8]) -> ArtifactSummary {
    let mut writer = artifacts.begin(origin(what), SPILL);
    bytes.chunks(777).for_each(|chunk| writer.write(chunk.to_vec()));
    writer.keep_anyway();
    finish(writer)
}

fn numbered(count: u64) -> Vec<u8> {
    (1..=count).flat_map(|number| format!("line {number}\n").into_bytes()).collect()
}

fn read(artifacts: &Artifacts, id: &ArtifactId, part: ArtifactRange) -> String {
    let mut bytes = Vec::new();
    artifacts.copy(id, part, &mut bytes).unwrap();
    let piece = artifacts.read(id, part, usize::MAX).unwrap();
    assert_eq!((piece.bytes, piece.left_out), (bytes.clone(), 0));
    String::from_utf8(bytes).unwrap()
}

fn make_old(path: &Path, age: Duration) {
    let times = FileTimes::new().set_modified(SystemTime::now() - age);
    File::options().append(true).open(path).unwrap().set_times(times).unwrap();
}

#[test]
fn every_byte_is_kept_as_it_was_written() {
    let scratch = Scratch::new();
    let artifacts = artifacts(&scratch);
    let mut bytes: Vec<u8> = (0..=255).cycle().take(3_000_000).collect();
    bytes.extend(b"\xff\xfe\r\n\x1b[31mred\x1b[0m\n\0 no end");
    let kept = keep(&artifacts, "all bytes", &bytes);
    let id = kept.id.unwrap();
    assert_eq!(kept.failure, None);
    assert_eq!(kept.bytes, bytes.len() as u64);
    assert_eq!(kept.lines, bytes.iter().filter(|byte| **byte == b'\n').count() as u64 + 1);
    assert_eq!(fs::read(kept.path.unwrap()).unwrap(), bytes);
    let mut copied = Vec::new();
    assert_eq!(artifacts.copy(&id, ArtifactRange::Whole, &mut copied).unwrap(), bytes.len() as u64);
    assert_eq!(copied, bytes);
    let piece = artifacts.read(&id, ArtifactRange::Whole, 10).unwrap();
    assert_eq!((piece.bytes.as_slice(), piece.left_out), (&bytes[..10], bytes.len() as u64 - 10));
}

#[test]
fn a_small_output_touches_no_disk_unless_it_is_to_be_kept() {
    let scratch = Scratch::new();
    let artifacts = artifacts(&scratch);
    let mut writer = artifacts.begin(origin("small"), 3);
    writer.write(&b"abc"[..]);
    assert_eq!(writer.id(), None);
    assert_eq!(finish(writer), ArtifactSummary::default());
    let mut writer = artifacts.begin(origin("empty"), 3);
    writer.keep_anyway();
    assert_eq!(finish(writer), ArtifactSummary::default());
    assert!(!scratch.path().join("home").exists());
    assert!(artifacts.list().unwrap().is_empty());

    let kept = keep(&artifacts, "small", b"abc");
    assert_eq!(read(&artifacts, &kept.id.unwrap(), ArtifactRange::Whole), "abc");
}

#[test]
fn an_output_can_be_read_while_it_is_written() {
    let scratch = Scratch::new();
    let artifacts = artifacts(&scratch);
    let mut writer = artifacts.begin(origin("slow"), 3);
    writer.write(&b"first\n"[..]);
    wait_until("it has a name", || writer.id().is_some());
    let id = writer.id().unwrap();
    wait_until("its first line is there", || fs::metadata(artifacts.path(&id)).unwrap().len() == 6);
    assert_eq!(read(&artifacts, &id, ArtifactRange::Whole), "first\n");
    assert!(artifacts.list().unwrap()[0].is_being_written);
    writer.write(&b"second\n"[..]);
    finish(writer);
    assert_eq!(read(&artifacts, &id, ArtifactRange::Whole), "first\nsecond\n");
    wait_until("nobody holds it", || !artifacts.list().unwrap()[0].is_being_written);
}

#[test]
fn lines_and_tails_are_found_wherever_blocks_end() {
    let scratch = Scratch::new();
    let artifacts = artifacts(&scratch);
    let bytes = numbered(100_000);
    let id = keep(&artifacts, "lines", &bytes).id.unwrap();
    let expected =
        |first: u64, last: u64| (first..=last).map(|number| format!("line {number}\n")).collect::<String>();
    for (first, last) in [(1, 1), (1, 5), (2, 3), (50_000, 50_100), (19_000, 21_000), (100_000, 100_000)] {
        let lines = ArtifactRange::Lines { first, last: Some(last) };
        assert_eq!(read(&artifacts, &id, lines), expected(first, last));
    }
    assert_eq!(
        read(&artifacts, &id, ArtifactRange::Lines { first: 99_998, last: None }),
        expected(99_998, 100_000)
    );
    assert_eq!(read(&artifacts, &id, ArtifactRange::Lines { first: 1, last: None }), expected(1, 100_000));
    for count in [0, 1, 2, 40_000, 100_000, 200_000] {
        let first = 100_001_u64.saturating_sub(count).max(1);
        assert_eq!(read(&artifacts, &id, ArtifactRange::Tail(count)), expected(first, 100_000), "{count}");
    }
    for (first, last) in [(100_001, None), (100_001, Some(100_001)), (99_999, Some(100_001)), (0, Some(1))] {
        let error = artifacts.read(&id, ArtifactRange::Lines { first, last }, 100).unwrap_err();
        assert!(error.to_string().ends_with(&format!("artifact {id} has 100000 lines")), "{error}");
        assert_eq!(error.hint().unwrap(), "lines 1-100000 can be read");
    }
}

#[test]
fn a_last_line_without_end_counts_as_one() {
    let scratch = Scratch::new();
    let artifacts = artifacts(&scratch);
    let kept = keep(&artifacts, "open", b"a\n\nc");
    let id = kept.id.unwrap();
    assert_eq!(kept.lines, 3);
    assert_eq!(read(&artifacts, &id, ArtifactRange::Lines { first: 3, last: Some(3) }), "c");
    assert_eq!(read(&artifacts, &id, ArtifactRange::Lines { first: 3, last: None }), "c");
    assert_eq!(read(&artifacts, &id, ArtifactRange::Lines { first: 2, last: Some(2) }), "\n");
    assert_eq!(read(&artifacts, &id, ArtifactRange::Tail(1)), "c");
    assert_eq!(read(&artifacts, &id, ArtifactRange::Tail(2)), "\nc");
    let error = artifacts.read(&id, ArtifactRange::Lines { first: 4, last: None }, 1).unwrap_err();
    assert!(matches!(error, ArtifactError::OutOfRange { lines: 3, .. }), "{error}");
}

/// Peak memory of this process, in bytes.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn reading_parts_of_two_gigabytes_takes_little_memory() {
    // In a separate process, so that other tests do not count.
    let test = "artifacts::reading_parts_of_two_gigabytes_takes_little_memory";
    if role().is_none() {
        let output = start(&mut Command::new("env"), test, &["measure"]).wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let scratch = Scratch::new();
    let artifacts = artifacts(&scratch);
    let kept = keep(&artifacts, "large", b"first\n");
    let (id, path) = (kept.id.unwrap(), kept.path.unwrap());
    // One line is a hole of two gigabytes, with short lines on both sides.
    let mut file = File::options().append(true).open(&path).unwrap();
    file.set_len(2 << 30).unwrap();
    file.write_all(b"\nneedle\nlast\n").unwrap();
    let before = peak_memory();
    let line = artifacts.read(&id, ArtifactRange::Lines { first: 3, last: Some(3) }, 100).unwrap();
    assert_eq!(line.bytes, b"needle\n");
    assert_eq!(read(&artifacts, &id, ArtifactRange::Tail(1)), "last\n");
    let found = artifacts.search(&id, "^need", 10).unwrap();
    assert_eq!((found.matching_lines, found.total_lines, found.hits[0].line), (1, 4, 3));
    let grown = peak_memory() - before;
    assert!(grown < 16 << 20, "{grown} bytes");
}

#[test]
fn a_search_shows_the_first_lines_and_counts_them_all() {
    let scratch = Scratch::new();
    let artifacts = artifacts(&scratch);
    let id = keep(&artifacts, "search", &numbered(100_000)).id.unwrap();
    let found = artifacts.search(&id, r"^line \d*99$", 3).unwrap();
    assert_eq!(found.matching_lines, 1000);
    assert_eq!(found.total_lines, 100_000);
    let hits: Vec<(u64, &str)> = found.hits.iter().map(|hit| (hit.line, hit.text.as_str())).collect();
    assert_eq!(hits, [(99, "line 99"), (199, "line 199"), (299, "line 299")]);
    assert_eq!(artifacts.search(&id, "nothing", 3).unwrap().matching_lines, 0);

    let error = artifacts.search(&id, "(", 3).unwrap_err();
    assert_eq!(error.to_string(), "`(` is not a regular expression: unclosed group");
}

#[test]
fn a_search_sees_long_lines_colours_and_bad_bytes() {
    let scratch = Scratch::new();
    let artifacts = artifacts(&scratch);
    // The match crosses the border of two chunks.
    let mut bytes = vec![b'x'; 1024 * 1024 - 3];
    bytes.extend(b"needle");
    bytes.extend(vec![b'y'; 3 * 1024 * 1024]);
    bytes.extend(b"needle\n\x1b[31mred needle\x1b[0m\xff\r\nneedle");
    let id = keep(&artifacts, "long", &bytes).id.unwrap();
    let found = artifacts.search(&id, "needle", 10).unwrap();
    assert_eq!((found.matching_lines, found.total_lines), (3, 3));
    assert_eq!(found.hits[1].text, "red needle\u{fffd}");
    assert_eq!(found.hits[2].text, "needle");
    assert!(found.hits[0].text.starts_with("…xxx") && found.hits[0].text.ends_with("yyy…"));
    assert!(found.hits[0].text.contains("needle"));
    assert!(found.hits[0].text.len() < 500);
}

#[test]
fn an_unknown_id_and_an_invalid_id_are_different_errors() {
    let scratch = Scratch::new();
    let artifacts = artifacts(&scratch);
    let error = artifacts.read(&"01234567".parse().unwrap(), ArtifactRange::Whole, 1).unwrap_err();
    assert_eq!(error.to_string(), "artifact 01234567 does not exist");
    let error = "../secret".parse::<ArtifactId>().unwrap_err();
    assert_eq!(error.to_string(), "`../secret` is not the id of an artifact");
}

#[test]
fn artifacts_are_readable_only_by_their_user() {
    let scratch = Scratch::new();
    let artifacts = artifacts(&scratch);
    let kept = keep(&artifacts, "private", b"secret");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&artifacts.folder()), 0o700);
    let files = names(&artifacts.folder());
    assert_eq!(files.len(), 2, "{files:?}");
    for name in files {
        assert_eq!(mode(&artifacts.folder().join(name)), 0o600);
    }
    assert_eq!(mode(kept.path.unwrap().parent().unwrap()), 0o700);
}

#[test]
fn a_list_shows_the_origin_of_each_artifact() {
    let scratch = Scratch::new();
    let artifacts = artifacts(&scratch);
    let from = ArtifactOrigin {
        what: first_line("\n  for x in range(9):\n    print(x)"),
        session: Some("s".into()),
        notebook: Some("/some/nb.ipynb".into()),
    };
    let mut writer = artifacts.begin(from.clone(), 1);
    writer.write(&b"1\n2\n"[..]);
    let kept = finish(writer);
    wait_until("nobody holds it", || !artifacts.list().unwrap()[0].is_being_written);
    let rows = artifacts.list().unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].id, kept.id.unwrap());
    assert_eq!((rows[0].bytes, rows[0].lines, rows[0].is_whole), (4, Some(2), true));
    assert_eq!(rows[0].origin, from);
    assert_eq!(rows[0].origin.what, "for x in range(9):");
    // The bytes remain without their metadata.
    fs::remove_file(rows[0].path.with_extension("json")).unwrap();
    let rows = artifacts.list().unwrap();
    assert_eq!((rows[0].bytes, rows[0].lines, rows[0].is_whole), (4, None, false));
}

#[test]
fn concurrent_writers_do_not_mix() {
    let scratch = Scratch::new();
    let artifacts = artifacts(&scratch);
    let writers: Vec<_> = (0..16)
        .map(|number| {
            let artifacts = artifacts.clone();
            thread::spawn(move || {
                let bytes = format!("{number}\n").repeat(50_000).into_bytes();
                (keep(&artifacts, &number.to_string(), &bytes), bytes)
            })
        })
        .collect();
    for writer in writers {
        let (kept, bytes) = writer.join().unwrap();
        assert_eq!(kept.failure, None);
        assert_eq!(fs::read(kept.path.unwrap()).unwrap(), bytes);
    }
    let mut ids: Vec<ArtifactId> = artifacts.list().unwrap().into_iter().map(|row| row.id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 16);
}

fn write_for_ever(role: &[String]) {
    let artifacts = Artifacts::new(&Home::at(&role[0]), Retention::default());
    let mut writer = artifacts.begin(origin("for ever"), 1);
    for number in 1_u64.. {
        writer.write(format!("line {number}\n").into_bytes());
        if number == 1 {
            wait_until("it has a name", || writer.id().is_some());
            say(&format!("\n{}", writer.id().unwrap()));
        }
    }
}

#[test]
fn a_killed_writer_leaves_the_bytes_it_wrote() {
    if let Some(role) = role() {
        return write_for_ever(&role);
    }
    let scratch = Scratch::new();
    let artifacts = artifacts(&scratch);
    let home = scratch.path().join("home");
    let test = "artifacts::a_killed_writer_leaves_the_bytes_it_wrote";
    let mut child = start(&mut Command::new("env"), test, &[home.to_str().unwrap()]);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let id: ArtifactId = lines.map_while(Result::ok).find_map(|line| line.parse().ok()).unwrap();
    wait_until("there is a lot", || fs::metadata(artifacts.path(&id)).unwrap().len() > 1_000_000);
    // No sweep removes it while it is written, though it looks old and large.
    make_old(&artifacts.path(&id), Duration::from_secs(86_400));
    let none = Retention { max_bytes: 0, max_age: Duration::ZERO };
    assert_eq!(Artifacts::new(&Home::at(&home), none).sweep(SystemTime::now() + Duration::from_secs(60)), []);
    child.kill().unwrap();
    child.wait().unwrap();

    let bytes = fs::read(artifacts.path(&id)).unwrap();
    assert!(bytes.starts_with(&numbered(80_000)));
    let row = &artifacts.list().unwrap()[0];
    assert!(!row.is_being_written && !row.is_whole);
    assert_eq!(row.origin.what, "for ever");
    assert_eq!(read(&artifacts, &id, ArtifactRange::Lines { first: 7, last: Some(7) }), "line 7\n");
    let removed = Artifacts::new(&Home::at(&home), none).sweep(SystemTime::now() + Duration::from_secs(60));
    assert_eq!(removed, [id]);
    assert!(names(&artifacts.folder()).is_empty());
}

#[tokio::test]
async fn a_writer_that_awaits_room_loses_nothing() {
    let scratch = Scratch::new();
    let artifacts = artifacts(&scratch);
    let mut writer = artifacts.begin(origin("flood"), SPILL);
    let chunk = bytes::Bytes::from(vec![b'z'; 64 * 1024]);
    for _ in 0..1000 {
        writer.write(chunk.clone());
        writer.room().await;
    }
    let kept = writer.finish().await;
    assert_eq!((kept.bytes, kept.lines, kept.failure), (1000 * 64 * 1024, 1, None));
}
