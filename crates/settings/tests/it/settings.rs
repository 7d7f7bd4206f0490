//! Settings from real files, variables and flags: precedence, and messages about wrong ones.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use cellist_platform::Variables;
use cellist_settings::{
    Access, BackendWish, Faults, Home, Origin, Resolved, Settings, Sources, TABLE, resolve,
};
use testkit::Scratch;

/// A repository with a folder to work in, and a user with a state folder.
pub(crate) struct Site {
    scratch: Scratch,
    pub(crate) variables: Vec<(String, String)>,
    pub(crate) flags: Vec<String>,
}

impl Site {
    pub(crate) fn new() -> Site {
        let scratch = Scratch::new();
        fs::create_dir_all(scratch.path().join("repo/.git")).unwrap();
        fs::create_dir_all(scratch.path().join("repo/deep/down")).unwrap();
        fs::create_dir_all(scratch.path().join("user")).unwrap();
        Site { scratch, variables: Vec::new(), flags: Vec::new() }
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        self.scratch.write(name, text);
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    pub(crate) fn home(&self) -> Home {
        Home::at(self.path("user/.cellist"))
    }

    pub(crate) fn variables(&self) -> Variables {
        let own = self.path("user").to_string_lossy().into_owned();
        let mut all = vec![("HOME".to_owned(), own)];
        all.extend(self.variables.iter().cloned());
        all.into_iter().collect()
    }

    pub(crate) fn resolve_in(&self, folder: &str) -> Result<Resolved, Faults> {
        let (home, variables, folder) = (self.home(), self.variables(), self.path(folder));
        resolve(&Sources { home: &home, folder: Some(&folder), variables: &variables, flags: &self.flags })
    }

    pub(crate) fn resolve(&self) -> Result<Resolved, Faults> {
        self.resolve_in("repo/deep/down")
    }

    /// The faults, each with its hint, with our folder left out.
    fn faults(&self) -> Vec<String> {
        let folder = self.scratch.path().canonicalize().unwrap();
        let plain = |text: String| {
            let text = text.replace(&*folder.to_string_lossy(), "");
            text.replace(&*self.scratch.path().to_string_lossy(), "")
        };
        let faults = self.resolve().unwrap_err();
        faults.iter().map(|fault| plain(format!("{fault} | {}", fault.hint().unwrap_or_default()))).collect()
    }
}

fn origin_of<'a>(resolved: &'a Resolved, name: &str) -> &'a Origin {
    resolved.rows().find(|(row, _)| row.name == name).unwrap().1
}

#[test]
fn where_nothing_is_set_every_value_is_the_default() {
    let resolved = Site::new().resolve().unwrap();
    assert_eq!(resolved.settings, Settings::default());
    assert!(resolved.rows().all(|(_, origin)| *origin == Origin::Default));
    assert_eq!((resolved.rows().count(), resolved.project, resolved.notices.len()), (TABLE.len(), None, 0));
}

#[test]
fn a_flag_beats_a_variable_beats_the_project_beats_the_user() {
    let mut site = Site::new();
    let holds = |site: &Site| {
        let resolved = site.resolve().unwrap();
        (resolved.settings.output.max_lines, origin_of(&resolved, "output.max_lines").word())
    };
    assert_eq!(holds(&site), (2000, "default"));
    site.write("user/.cellist/config.toml", "[output]\nmax_lines = 1\n");
    assert_eq!(holds(&site), (1, "user"));
    site.write("repo/.cellist/config.toml", "# ours\noutput.max_lines = 2\n");
    assert_eq!(holds(&site), (2, "project"));
    site.variables.push(("CELLIST_OUTPUT_MAX_LINES".into(), "3".into()));
    assert_eq!(holds(&site), (3, "environment"));
    site.flags.push("output.max_lines=4".into());
    assert_eq!(holds(&site), (4, "flag"));
}

#[test]
fn a_value_knows_its_line() {
    let site = Site::new();
    site.write("repo/.cellist/config.toml", "# ours\n\n[python]\nbackend = \"runner\"\n");
    let resolved = site.resolve().unwrap();
    assert_eq!(resolved.settings.python.backend, BackendWish::Runner);
    let line = origin_of(&resolved, "python.backend").line().unwrap();
    assert_eq!(line.line, 4);
    assert!(line.path.ends_with("repo/.cellist/config.toml"), "{line:?}");
    assert!(resolved.is_set("python.backend") && !resolved.is_set("python.heartbeat"));
}

#[test]
fn values_may_have_units_wherever_they_are_written() {
    let mut site = Site::new();
    site.write("user/.cellist/config.toml", "[python]\nidle_timeout = '2h'\nheartbeat = 2.5\n");
    site.variables.push(("CELLIST_NOTEBOOK_MAX_OUTPUT".into(), "1MiB".into()));
    site.variables.push(("CELLIST_PYTHON_PASS_ENV".into(), "A,B".into()));
    site.variables.push(("CELLIST_PYTHON_BACKEND".into(), String::new()));
    let settings = site.resolve().unwrap().settings;
    assert_eq!(settings.python.idle_timeout, Duration::from_secs(7200));
    assert_eq!(settings.python.heartbeat, Duration::from_millis(2500));
    assert_eq!(settings.notebook.max_output, Some(1 << 20));
    assert_eq!(settings.python.pass_env, ["A", "B"]);
}

#[test]
fn the_nearest_project_within_the_repository_counts() {
    let site = Site::new();
    site.write(".cellist/config.toml", "output.max_lines = 1\n");
    assert_eq!(site.resolve().unwrap().settings.output.max_lines, 2000);
    site.write("repo/.cellist/config.toml", "output.max_lines = 2\n");
    assert_eq!(site.resolve().unwrap().settings.output.max_lines, 2);
    site.write("repo/deep/.cellist/config.toml", "output.max_bytes = 2000\n");
    let resolved = site.resolve().unwrap();
    assert_eq!((resolved.settings.output.max_bytes, resolved.settings.output.max_lines), (2000, 2000));
    assert!(resolved.project.unwrap().folder().ends_with("repo/deep"));
}

#[test]
fn the_state_folder_is_no_project() {
    let site = Site::new();
    site.write("user/.cellist/config.toml", "output.max_lines = 1\n");
    site.write("user/.cellist/modules/own.py", "");
    fs::create_dir_all(site.path("user/work")).unwrap();
    let resolved = site.resolve_in("user/work").unwrap();
    assert_eq!((origin_of(&resolved, "output.max_lines").word(), resolved.project), ("user", None));
    assert_eq!(resolved.notices, [""; 0]);
}

#[test]
fn every_fault_names_its_place_and_what_is_valid() {
    let mut site = Site::new();
    site.write(
        "user/.cellist/config.toml",
        "[python]\nmax_sessions = 0\nbackend = 'ruby'\n[output]\nmax_bytes = 'lots'\n",
    );
    site.write("repo/.cellist/config.toml", "[python]\nbackned = 'runner'\n[colours]\nwhite = 1\n");
    site.variables.push(("CELLIST_PYTHON_HEARTBEAT".into(), "0".into()));
    site.variables.push(("CELLIST_PYTHON_MAX_SESION".into(), "2".into()));
    site.variables.push(("CELLIST_ELSEWHERE".into(), "2".into()));
    site.flags = vec!["notebook.timing=maybe".into(), "notebook.timing".into(), "timing=true".into()];
    assert_eq!(
        site.faults(),
        [
            "/user/.cellist/config.toml:2: python.max_sessions cannot be 0 | \
             python.max_sessions takes a whole number from 1 to 1000",
            "/user/.cellist/config.toml:3: python.backend cannot be \"ruby\" | \
             python.backend takes auto, runner, jupyter or gateway",
            "/user/.cellist/config.toml:5: output.max_bytes cannot be \"lots\" | \
             output.max_bytes takes bytes, or with a unit: 50KiB, 10MiB, 8GiB; from 1KiB to 64MiB",
            "/repo/.cellist/config.toml:2: there is no setting python.backned | \
             did you mean python.backend? `cellist settings` lists all there are",
            "/repo/.cellist/config.toml:4: there is no setting colours.white | \
             `cellist settings` lists all there are",
            "CELLIST_PYTHON_HEARTBEAT: python.heartbeat cannot be \"0\" | python.heartbeat takes seconds, or with \
             a unit: 250ms, 30s, 5m, 2h, 30d; at least 1s",
            "CELLIST_PYTHON_MAX_SESION: there is no such setting | \
             did you mean CELLIST_PYTHON_MAX_SESSIONS? `cellist settings` lists all there are",
            "--set: notebook.timing cannot be \"maybe\" | notebook.timing takes true or false",
            "--set: \"notebook.timing\" is not NAME=VALUE | for instance --set python.backend=runner",
            "--set: there is no setting timing | \
             did you mean notebook.timing? `cellist settings` lists all there are",
        ]
    );
}

#[test]
fn a_file_that_cannot_be_used_is_a_fault_and_never_hangs() {
    let site = Site::new();
    let file = "user/.cellist/config.toml";
    let fault = |site: &Site| site.faults().concat();
    site.write(file, "[python\n");
    assert!(
        fault(&site).starts_with("/user/.cellist/config.toml:1:8: this is not TOML: "),
        "{}",
        fault(&site)
    );
    fs::write(site.path(file), [b'#', 0xff]).unwrap();
    assert_eq!(fault(&site), "/user/.cellist/config.toml: this is not UTF-8 | save it as UTF-8");
    fs::write(site.path(file), "#".repeat((1 << 20) + 1)).unwrap();
    assert!(fault(&site).contains("larger than 1 MiB"), "{}", fault(&site));
    fs::remove_file(site.path(file)).unwrap();
    fs::create_dir(site.path(file)).unwrap();
    assert!(fault(&site).contains("it is not a file"), "{}", fault(&site));
    fs::remove_dir(site.path(file)).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        site.path(file),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    assert!(fault(&site).contains("it is not a file"), "{}", fault(&site));
}

#[test]
fn a_strangers_file_cannot_write_on_the_terminal() {
    let site = Site::new();
    site.write("repo/.cellist/config.toml", "\"\\u001b[2J\" = 1\n");
    let fault = site.faults().concat();
    assert!(fault.contains("there is no setting \\u{1b}[2J"), "{fault}");
}

#[test]
fn a_project_says_nothing_about_models_and_their_keys() {
    let site = Site::new();
    let config = "[chat]\nbase_url = \"https://elsewhere.example\"\napi_key = \"theirs\"\n";
    site.write("repo/.cellist/config.toml", config);
    let resolved = site.resolve().unwrap();
    assert_eq!((resolved.settings.chat.base_url, resolved.settings.chat.api_key), (None, None));
    assert_eq!(resolved.notices.len(), 2, "{:?}", resolved.notices);
    assert!(resolved.notices[0].contains("config.toml:2: chat.base_url has no effect in a project's file"));
}

#[test]
fn a_key_is_taken_from_the_users_own_places_and_shown_to_nobody() {
    let site = Site::new();
    site.write("user/.cellist/config.toml", "[chat]\napi_key = \"hush\"\n");
    let resolved = site.resolve().unwrap();
    assert_eq!(resolved.settings.chat.api_key.as_ref().unwrap().reveal(), "hush");
    assert!(!format!("{resolved:?}").contains("hush"));
    let shown: String = TABLE.iter().map(|row| row.text_of(&resolved.settings)).collect();
    assert!(shown.contains("(hidden)") && !shown.contains("hush"), "{shown}");
    site.write("user/.cellist/config.toml", "[chat]\napi_key = [\"hush\"]\n");
    let fault = site.faults().concat();
    assert!(fault.contains("chat.api_key cannot be the value it has") && !fault.contains("hush"), "{fault}");
}

#[test]
fn the_page_about_settings_has_a_row_for_each_of_them() {
    let page = fs::read_to_string(testkit::repo_root().join("docs/settings.md")).unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let defaults = Settings::default();
    let expected: Vec<String> = TABLE
        .iter()
        .map(|row| {
            let mark = match row.access {
                Access::Open => "",
                Access::Trusted => " ✓",
                Access::User | Access::Secret => " –",
            };
            format!(
                "| `{}` | `{}` | {} | {} |{mark} |",
                row.name,
                row.text_of(&defaults),
                row.valid(),
                row.meaning()
            )
        })
        .collect();
    assert_eq!(rows, expected, "the table should be:\n{}", expected.join("\n"));
}
