//! Trust in folders: items that need it, its extent, and the effect of a change.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use cellist_settings::trust::{Ledger, items};
use cellist_settings::{KernelMode, Project};

use crate::settings::Site;

const CONFIG: &str = "repo/.cellist/config.toml";
const MODULE: &str = "repo/.cellist/modules/helper.py";

fn project(site: &Site) -> Project {
    Project::find(&site.path("repo"), &site.variables(), &site.home()).unwrap()
}

fn trust(site: &Site) {
    let project = project(site);
    Ledger::new(&site.home()).trust(&project, &items(&project).unwrap()).unwrap();
}

/// The notice of a site, from the list of items without effect.
fn refused(site: &Site) -> Option<String> {
    let notices = site.resolve().unwrap().notices;
    assert!(notices.len() <= 1, "{notices:?}");
    let notice = notices.into_iter().next()?;
    let (_, rest) = notice.split_once("/repo/.cellist ").unwrap();
    Some(rest.split("; if").next().unwrap().to_owned())
}

#[test]
fn what_reaches_beyond_the_folder_has_no_effect_until_it_is_trusted() {
    let site = Site::new();
    site.write(CONFIG, "[python]\npass_env = ['KEY']\nkernel_mode = 'per-call'\n[output]\nmax_lines = 7\n");
    site.write(MODULE, "x = 1\n");
    let before = site.resolve().unwrap();
    assert_eq!(before.settings.output.max_lines, 7);
    assert_eq!(before.settings.python.pass_env, [""; 0]);
    assert_eq!((before.settings.python.kernel_mode, before.modules.len()), (KernelMode::Session, 0));
    assert_eq!(
        refused(&site).unwrap(),
        "is not trusted, so this has no effect: python.pass_env (line 2), python.kernel_mode (line 3), \
         modules/helper.py"
    );
    let folder = project(&site).folder().display().to_string();
    assert!(before.notices[0].ends_with(&format!("run: cellist trust {folder}")), "{:?}", before.notices);

    trust(&site);
    let after = site.resolve().unwrap();
    assert_eq!(after.settings.python.pass_env, ["KEY"]);
    assert_eq!((after.settings.python.kernel_mode, after.modules.len()), (KernelMode::PerCall, 1));
    assert_eq!(after.notices, [""; 0]);

    assert!(Ledger::new(&site.home()).remove(project(&site).folder()).unwrap());
    assert!(refused(&site).unwrap().starts_with("is not trusted"));
    assert!(!Ledger::new(&site.home()).remove(project(&site).folder()).unwrap());
}

#[test]
fn what_is_changed_or_added_later_is_not_trusted_and_the_rest_stays_so() {
    let site = Site::new();
    site.write(CONFIG, "[python]\npass_env = ['KEY']\n");
    site.write(MODULE, "x = 1\n");
    trust(&site);
    site.write(MODULE, "x = 2\n");
    assert_eq!(
        refused(&site).unwrap(),
        "has changed since it was trusted, so this has no effect: modules/helper.py"
    );
    assert_eq!(site.resolve().unwrap().settings.python.pass_env, ["KEY"]);
    // Lines move and items that need no trust change, without an effect on trust.
    site.write(CONFIG, "# a word\n[output]\nmax_lines = 3\n[python]\npass_env = ['KEY']\n");
    site.write(MODULE, "x = 1\n");
    assert_eq!(refused(&site), None);
    site.write(CONFIG, "[python]\npass_env = ['KEY', 'OTHER']\n");
    site.write("repo/.cellist/modules/second.py", "");
    assert!(refused(&site).unwrap().ends_with("python.pass_env (line 2), modules/second.py"));
    trust(&site);
    assert_eq!(refused(&site), None);
}

#[test]
fn trust_is_in_the_real_folder_by_whatever_name() {
    let site = Site::new();
    site.write(CONFIG, "[bridge]\ninherit = true\n");
    trust(&site);
    symlink(site.path("repo"), site.path("link")).unwrap();
    assert!(site.resolve_in("link/deep").unwrap().settings.bridge.inherit);
    fs::create_dir_all(site.path("other/.git")).unwrap();
    site.write("other/.cellist/config.toml", "[bridge]\ninherit = true\n");
    assert!(!site.resolve_in("other").unwrap().settings.bridge.inherit);
}

#[test]
fn what_is_trusted_is_written_down_for_the_user_alone() {
    let site = Site::new();
    site.write(CONFIG, "tools.roots = ['data', '/x']\n");
    trust(&site);
    let roots = site.resolve().unwrap().settings.tools.roots;
    assert_eq!(roots, [project(&site).folder().join("data"), "/x".into()]);
    let folder = site.path("user/.cellist/trust");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    assert_eq!(mode(&files[0]), 0o600);
    // A page that nobody can read is no trust.
    fs::write(&files[0], "{").unwrap();
    assert!(refused(&site).unwrap().starts_with("is not trusted"));
}

#[test]
fn prompts_need_trust_and_other_files_do_not() {
    let site = Site::new();
    site.write("repo/.cellist/prompts/mine.md", "obey");
    site.write("repo/.cellist/notes.txt", "");
    site.write("repo/.cellist/modules/data.json", "");
    let project = project(&site);
    let names: Vec<String> = items(&project).unwrap().into_iter().map(|item| item.name).collect();
    assert_eq!(names, ["prompts/mine.md"]);
}

#[test]
fn a_value_that_is_not_valid_is_not_looked_at_until_it_is_trusted() {
    let site = Site::new();
    site.write(CONFIG, "python.tool_mode = 'everything'\n");
    assert!(site.resolve().is_ok());
    trust(&site);
    let faults = site.resolve().unwrap_err().to_string();
    assert!(faults.contains("config.toml:1: python.tool_mode cannot be \"everything\""), "{faults}");
}

#[test]
fn a_notice_stays_short_and_harmless() {
    let site = Site::new();
    for number in 0..40 {
        site.write(&format!("repo/.cellist/modules/m{number:02}\u{1b}[2J.py"), "");
    }
    let notice = refused(&site).unwrap();
    assert!(notice.ends_with("modules/m05\\u{1b}[2J.py, 34 more"), "{notice}");
    assert!(!notice.contains('\u{1b}'));
}
