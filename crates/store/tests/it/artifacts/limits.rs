//! Limits of artifacts: age, total size, full and read-only disks.

use super::*;

#[test]
fn a_sweep_removes_by_age_and_size_but_no_open_artifact() {
    let scratch = Scratch::new();
    let home = Home::at(scratch.path().join("home"));
    let kept_for_long = Artifacts::new(&home, Retention::default());
    let days = |count: u64| Duration::from_secs(count * 24 * 60 * 60);
    let made: Vec<ArtifactId> = (0..3)
        .map(|number| keep(&kept_for_long, "old", format!("{number}").repeat(100).as_bytes()).id.unwrap())
        .collect();
    let mut writer = kept_for_long.begin(origin("busy"), 1);
    writer.write(&b"busy"[..]);
    wait_until("it has a name", || writer.id().is_some());
    let busy = writer.id().unwrap();
    for id in made.iter().chain([&busy]) {
        wait_until("nobody but its writer holds it", || {
            kept_for_long.list().unwrap().iter().all(|row| !row.is_being_written || row.id == busy)
        });
        make_old(&kept_for_long.path(id), days(if *id == made[0] { 40 } else { 20 }));
    }
    assert_eq!(kept_for_long.sweep(SystemTime::now()), made[..1]);

    let for_an_hour = Retention { max_bytes: 1000, max_age: Duration::from_secs(3600) };
    let removed = Artifacts::new(&home, for_an_hour).sweep(SystemTime::now());
    assert_eq!(removed.len(), 2, "{removed:?}");
    let left = kept_for_long.list().unwrap();
    assert_eq!(left.iter().map(|row| &row.id).collect::<Vec<_>>(), [&busy]);
    writer.write(&b" still"[..]);
    finish(writer);
    assert_eq!(read(&kept_for_long, &busy, ArtifactRange::Whole), "busy still");
    assert_eq!(names(&kept_for_long.folder()).len(), 2);
}

#[test]
fn a_new_artifact_removes_old_ones() {
    let scratch = Scratch::new();
    let few = Retention { max_bytes: 250, max_age: Duration::from_secs(3600) };
    let artifacts = Artifacts::new(&Home::at(scratch.path().join("home")), few);
    for _ in 0..4 {
        let kept = keep(&artifacts, "one of several", &[b'x'; 100]);
        wait_until("nobody holds it", || !artifacts.list().unwrap().iter().any(|row| row.is_being_written));
        make_old(&kept.path.unwrap(), Duration::from_secs(60));
    }
    keep(&artifacts, "the last", &[b'x'; 100]);
    wait_until("there is room", || artifacts.list().unwrap().len() <= 3);
    assert_eq!(artifacts.list().unwrap()[0].origin.what, "the last");
}

#[test]
fn one_output_is_cut_at_the_limit_for_all_artifacts() {
    let scratch = Scratch::new();
    let few = Retention { max_bytes: 5000, ..Retention::default() };
    let artifacts = Artifacts::new(&Home::at(scratch.path().join("home")), few);
    let kept = keep(&artifacts, "endless", &numbered(10_000));
    assert_eq!(kept.bytes, 5000);
    assert_eq!(
        kept.failure.unwrap(),
        "[Only the first 5000 bytes of the output could be kept: it reached the limit set by artifacts.max_bytes.]"
    );
    assert_eq!(fs::read(kept.path.unwrap()).unwrap(), numbered(10_000)[..5000]);
}

#[test]
fn a_full_disk_keeps_the_beginning_of_an_output() {
    if !with_own_mounts("artifacts::limits::a_full_disk_keeps_the_beginning_of_an_output") {
        return;
    }
    let scratch = Scratch::new();
    let disk = scratch.path().join("disk");
    fs::create_dir(&disk).unwrap();
    mount(&["-t", "tmpfs", "-o", "size=64k", "none", disk.to_str().unwrap()]);
    let artifacts = Artifacts::new(&Home::at(disk.join("home")), Retention::default());
    let bytes = numbered(100_000);
    let kept = keep(&artifacts, "too large", &bytes);
    let failure = kept.failure.unwrap();
    assert_eq!(
        failure,
        format!("[Only the first {} bytes of the output could be kept: the disk is full.]", kept.bytes)
    );
    assert!(kept.bytes > 10_000 && kept.bytes < 64 * 1024);
    let held = fs::read(kept.path.unwrap()).unwrap();
    assert_eq!(held, bytes[..held.len()]);
    assert_eq!(held.len() as u64, kept.bytes);
    let id = kept.id.unwrap();
    assert_eq!(read(&artifacts, &id, ArtifactRange::Lines { first: 2, last: Some(2) }), "line 2\n");
    // The next artifact may get a file but no space. A notice says so.
    let next = keep(&artifacts, "no room", &bytes);
    assert!(next.failure.unwrap().ends_with("the disk is full.]"));
    assert_eq!(next.bytes, 0);
}

#[test]
fn a_folder_that_cannot_be_written_to_is_a_notice() {
    let scratch = Scratch::new();
    let home = scratch.path().join("home");
    fs::create_dir(&home).unwrap();
    give_to_nobody(scratch.path());
    fs::set_permissions(&home, fs::Permissions::from_mode(0o500)).unwrap();
    let folder = home.join("artifacts");
    let kept = as_nobody(move || {
        // The writing thread inherits the user of this one.
        keep(&Artifacts::new(&Home::at(home), Retention::default()), "refused", &numbered(1000))
    });
    assert_eq!(
        kept.failure.unwrap(),
        format!("[The whole output could not be kept: {}: permission denied.]", folder.display())
    );
    assert_eq!((kept.id, kept.path, kept.bytes), (None, None, 0));
}
