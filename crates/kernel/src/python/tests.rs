//! The search over file systems that exist only here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cellist_platform::Variables;

use super::*;

/// The file at a path of a made-up file system.
#[derive(Clone)]
enum Entry {
    Program,
    Text(&'static str),
    Link(&'static str),
}

#[derive(Clone, Default)]
struct Made(BTreeMap<PathBuf, Entry>);

impl Made {
    fn new(entries: &[(&str, Entry)]) -> Made {
        Made(entries.iter().map(|(path, entry)| (PathBuf::from(path), entry.clone())).collect())
    }
}

impl Files for Made {
    fn kind(&self, path: &Path) -> Kind {
        match self.0.get(path) {
            Some(Entry::Program) => Kind::File { executable: true },
            Some(Entry::Text(text)) => Kind::File { executable: text.starts_with("#!") },
            Some(Entry::Link(_)) if self.real(path) == path => Kind::Missing,
            Some(Entry::Link(_)) => self.kind(&self.real(path)),
            None if self.0.keys().any(|known| known.starts_with(path)) => Kind::Folder,
            None => Kind::Missing,
        }
    }

    fn link(&self, path: &Path) -> Option<PathBuf> {
        match self.0.get(path) {
            Some(Entry::Link(target)) => Some(target.into()),
            _ => None,
        }
    }

    fn real(&self, path: &Path) -> PathBuf {
        match self.link(path) {
            Some(target) => {
                let target = path.parent().unwrap_or(path).join(target);
                if self.kind(&target) == Kind::Missing { path.to_owned() } else { self.real(&target) }
            }
            None => path.to_owned(),
        }
    }

    fn text(&self, path: &Path) -> Option<String> {
        match self.0.get(path) {
            Some(Entry::Text(text)) => Some((*text).to_owned()),
            _ => None,
        }
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        let below = self.0.keys().filter_map(|path| path.strip_prefix(folder).ok());
        let mut names: Vec<String> = below
            .filter_map(|rest| rest.components().next())
            .map(|name| name.as_os_str().to_string_lossy().into_owned())
            .collect();
        names.dedup();
        names
    }
}

const PYENV: &str = "#!/usr/bin/env bash\nexec \"/p/libexec/pyenv\" exec \"$program\" \"$@\"\n";
const ASDF: &str = "#!/usr/bin/env bash\n# asdf-plugin: python 3.12.1\nexec asdf exec \"python\" \"$@\"\n";

fn search(files: &Made, variables: &[(&str, &str)], folder: &str) -> Vec<Candidate> {
    let variables: Variables = variables.iter().copied().collect();
    let folders = [PathBuf::from(folder)];
    candidates(&Surroundings {
        files,
        variables: &variables,
        folders: &folders,
        home: Path::new("/h/.cellist"),
    })
}

/// The interpreter found, and the ones passed over before it.
fn found(candidates: &[Candidate]) -> (String, Vec<String>) {
    let at = candidates.iter().position(|candidate| candidate.verdict.is_ok()).unwrap_or(candidates.len());
    let passed = candidates[..at].iter();
    let passed =
        passed.map(|it| format!("{}: {}", it.path.display(), it.verdict.as_ref().unwrap_err())).collect();
    let path = candidates.get(at).and_then(|it| it.verdict.as_ref().ok());
    (path.map_or_else(String::new, |it| it.path.display().to_string()), passed)
}

#[track_caller]
fn check(files: &[(&str, Entry)], variables: &[(&str, &str)], folder: &str, expected: &str) {
    let candidates = search(&Made::new(files), variables, folder);
    let (path, passed) = found(&candidates);
    assert_eq!(path, expected, "passed over: {passed:?}");
    assert_eq!(passed, Vec::<String>::new());
}

#[test]
fn the_order_is_active_conda_located_managed_and_path() {
    use Entry::Program;
    let all = [
        ("/active/bin/python", Program),
        ("/conda/bin/python", Program),
        ("/w/r/.git/HEAD", Program),
        ("/w/r/a/venv/bin/python", Program),
        ("/w/r/a/venv/pyvenv.cfg", Entry::Text("home = /usr/bin\n")),
        ("/w/r/.venv/bin/python", Program),
        ("/h/.cellist/python-env/bin/python", Program),
        ("/usr/bin/python3", Program),
        ("/opt/bin/python", Program),
    ];
    let path = ("PATH", "/usr/bin:/opt/bin");
    let (active, conda) = (("VIRTUAL_ENV", "/active"), ("CONDA_PREFIX", "/conda"));
    check(&all, &[path, active, conda], "/w/r/a/b", "/active/bin/python");
    check(&all, &[path, conda], "/w/r/a/b", "/conda/bin/python");
    check(&all, &[path], "/w/r/a/b", "/w/r/a/venv/bin/python");
    check(&all, &[path], "/w/r/c", "/w/r/.venv/bin/python");
    check(&all, &[path], "/elsewhere", "/h/.cellist/python-env/bin/python");
    check(&all[7..], &[path], "/elsewhere", "/opt/bin/python");
    check(&all[7..8], &[path], "/elsewhere", "/usr/bin/python3");
    assert_eq!(found(&search(&Made::default(), &[path], "/elsewhere")).0, "");
}

#[test]
fn an_environment_above_the_repository_or_the_users_folder_is_not_taken() {
    let files = [
        ("/w/.venv/bin/python", Entry::Program),
        ("/w/r/.git/HEAD", Entry::Program),
        ("/usr/bin/python3", Entry::Program),
    ];
    check(&files, &[("PATH", "/usr/bin")], "/w/r/a", "/usr/bin/python3");
    check(&files[..1], &[("HOME", "/w/me"), ("PATH", "")], "/w/me/a", "");
    check(&files[..1], &[("HOME", "/w")], "/w/me/a", "/w/.venv/bin/python");
    check(&files[..1], &[], "/w/me", "");
}

#[test]
fn what_is_broken_is_passed_over_and_named() {
    let files = Made::new(&[
        ("/v/pyvenv.cfg", Entry::Text("home = /gone/bin\nversion = 3.11.7\n")),
        ("/v/bin/python", Entry::Program),
        ("/c/bin/python", Entry::Link("/gone/python3")),
        ("/w/.venv/bin/activate", Entry::Program),
        ("/a/python", Entry::Text("not executable")),
        ("/b/python", Entry::Link("python2.7")),
        ("/b/python2.7", Entry::Program),
        ("/b/python3", Entry::Program),
    ]);
    let variables = [("VIRTUAL_ENV", "/v"), ("CONDA_PREFIX", "/c"), ("PATH", "/a:/b")];
    let (path, passed) = found(&search(&files, &variables, "/w"));
    assert_eq!(path, "/b/python3");
    assert_eq!(
        passed,
        [
            "/v/bin/python: pyvenv.cfg says that the environment was made from /gone/bin, which does not exist",
            "/c/bin/python: it is a link to /gone/python3, which does not exist",
            "/w/.venv: it is a folder without bin/python in it",
            "/a/python: it is not executable",
            "/b/python: it is Python 2",
        ]
    );
}

#[test]
fn a_pyenv_shim_is_seen_through_by_the_files_that_pyenv_reads() {
    let files = [
        ("/p/shims/python", Entry::Text(PYENV)),
        ("/p/version", Entry::Text("3.12.1\n")),
        ("/p/versions/3.12.1/bin/python", Entry::Program),
        ("/p/versions/3.11.7/bin/python", Entry::Program),
        ("/p/versions/3.11.10/bin/python", Entry::Program),
        ("/w/a/.python-version", Entry::Text("# ours\n3.11\n")),
        ("/usr/bin/python", Entry::Program),
    ];
    let path = ("PATH", "/p/shims:/usr/bin");
    check(&files, &[path], "/", "/p/versions/3.12.1/bin/python");
    check(&files, &[path], "/w/a/b", "/p/versions/3.11.10/bin/python");
    check(&files, &[path, ("PYENV_VERSION", "3.11.7")], "/w/a", "/p/versions/3.11.7/bin/python");
    check(&files, &[path, ("PYENV_VERSION", "system")], "/w/a", "/usr/bin/python");
    check(&files, &[path, ("PYENV_VERSION", "9.9:3.11.7")], "/w/a", "/p/versions/3.11.7/bin/python");
    let (next, passed) = found(&search(&Made::new(&files), &[path, ("PYENV_VERSION", "9.9")], "/"));
    assert_eq!(next, "/usr/bin/python");
    assert_eq!(passed, ["/p/shims/python: it is a shim of pyenv for python 9.9, which is not installed"]);
}

#[test]
fn an_asdf_shim_is_seen_through_and_one_of_an_unknown_tool_has_to_be_asked() {
    let files = [
        ("/d/shims/python", Entry::Text(ASDF)),
        ("/d/installs/python/3.12.1/bin/python", Entry::Program),
        ("/w/.tool-versions", Entry::Text("nodejs 22.0.0\npython 3.12.1 # ours\n")),
    ];
    check(&files, &[("PATH", "/d/shims")], "/w/a", "/d/installs/python/3.12.1/bin/python");

    let unknown = [
        ("/m/shims/python", Entry::Link("/m/bin/mise")),
        ("/m/bin/mise", Entry::Program),
        ("/w/mise.toml", Entry::Text("")),
    ];
    let candidates = search(&Made::new(&unknown), &[("PATH", "/m/shims")], "/w/a");
    let interpreter = candidates[0].verdict.as_ref().unwrap();
    let shim = interpreter.shim.as_ref().unwrap();
    assert_eq!((shim.tool, shim.depends_on.as_slice()), ("mise", [PathBuf::from("/w/mise.toml")].as_slice()));
}

#[test]
fn a_named_interpreter_may_be_a_program_an_environment_or_a_name_on_the_path() {
    let files = Made::new(&[
        ("/v/bin/python", Entry::Program),
        ("/v/pyvenv.cfg", Entry::Text("home = /usr/bin\n")),
        ("/usr/bin/python3.12", Entry::Program),
    ]);
    let variables: Variables = [("PATH", "/usr/bin")].into_iter().collect();
    let around = Surroundings { files: &files, variables: &variables, folders: &[], home: Path::new("/h") };
    for (asked, path, environment) in [
        ("/v", "/v/bin/python", Some("/v")),
        ("/v/bin/python", "/v/bin/python", Some("/v")),
        ("python3.12", "/usr/bin/python3.12", None),
    ] {
        let interpreter = named(&around, Path::new(asked)).verdict.unwrap();
        assert_eq!(interpreter.path, Path::new(path));
        assert_eq!(interpreter.environment.as_deref(), environment.map(Path::new));
    }
    assert_eq!(named(&around, Path::new("/nowhere/python")).verdict, Err(Flaw::Missing));
}

#[test]
fn only_what_is_an_environment_for_sure_is_to_be_made_anew() {
    let files = Made::new(&[
        ("/hollow/pyvenv.cfg", Entry::Text("home = /usr/bin\n")),
        ("/torn/pyvenv.cfg", Entry::Text("home = /usr/bin\n")),
        ("/torn/bin/python", Entry::Link("/gone")),
        ("/old/pyvenv.cfg", Entry::Text("home = /gone\n")),
        ("/old/bin/python", Entry::Program),
        ("/usr/bin/python3", Entry::Link("/gone")),
        ("/etc/passwd", Entry::Text("root")),
        ("/opt/python3.12", Entry::Text("")),
    ]);
    let variables = Variables::default();
    let around = Surroundings { files: &files, variables: &variables, folders: &[], home: Path::new("/h") };
    let check = |asked: &str, expected: Option<&str>| {
        let candidate = named(&around, Path::new(asked));
        let hint = candidate.verdict.unwrap_err().hint(&candidate.path);
        assert_eq!(hint.as_deref(), expected, "{asked}");
    };
    check("/hollow", Some("make the environment anew: python3 -m venv --clear /hollow"));
    check("/torn", Some("make the environment anew: python3 -m venv --clear /torn"));
    check("/torn/bin/python", Some("make the environment anew: python3 -m venv --clear /torn"));
    check("/old", Some("make the environment anew: python3 -m venv --clear /old"));
    check("/etc", Some("name a Python, or the folder of an environment, with --python PATH"));
    check("/usr/bin/python3", None);
    check("/etc/passwd", None);
    check("/opt/python3.12", Some("make it executable: chmod +x /opt/python3.12"));
}

#[test]
fn a_module_is_found_where_the_interpreter_would_import_it_from() {
    let module = |folder: &str| format!("{folder}/ipykernel/__init__.py");
    let check = |extra: &[(&str, Entry)], interpreter: &str, variables: &[(&str, &str)], expected: bool| {
        let files = Made::new(extra);
        let variables: Variables = variables.iter().copied().collect();
        let around =
            Surroundings { files: &files, variables: &variables, folders: &[], home: Path::new("/h") };
        assert_eq!(has_module(&around, Path::new(interpreter), "ipykernel"), expected, "{interpreter}");
    };
    let venv = |global: &'static str| {
        [
            ("/v/bin/python", Entry::Program),
            ("/v/lib/python3.11/site-packages/x.py", Entry::Text("")),
            ("/v/pyvenv.cfg", Entry::Text(global)),
            ("/usr/bin/python3.11", Entry::Program),
            ("/usr/lib/python3/dist-packages/ipykernel/__init__.py", Entry::Text("")),
        ]
    };
    check(&venv("home = /usr/bin\nversion = 3.11.7\n"), "/v/bin/python", &[], false);
    let shared = "home = /usr/bin\nversion = 3.11.7\ninclude-system-site-packages = true\n";
    check(&venv(shared), "/v/bin/python", &[], true);
    check(&venv(""), "/usr/bin/python3.11", &[], true);

    let own = module("/v/lib/python3.11/site-packages");
    let in_venv = [
        ("/v/bin/python", Entry::Program),
        ("/v/pyvenv.cfg", Entry::Text("")),
        (own.as_str(), Entry::Text("")),
    ];
    check(&in_venv, "/v/bin/python", &[], true);

    let user = module("/h/.local/lib/python3.12/site-packages");
    let by_user = [("/opt/bin/python3.12", Entry::Program), (user.as_str(), Entry::Text(""))];
    check(&by_user, "/opt/bin/python3.12", &[("HOME", "/h")], true);
    check(&by_user, "/opt/bin/python3.12", &[("HOME", "/h"), ("PYTHONNOUSERSITE", "1")], false);

    let source = module("/src");
    for link in ["x.pth", "ipykernel.egg-link"] {
        let link = format!("/opt/lib/python3.12/site-packages/{link}");
        let linked = [
            ("/opt/bin/python3.12", Entry::Program),
            (link.as_str(), Entry::Text("/src\n.\n")),
            (source.as_str(), Entry::Text("")),
        ];
        check(&linked, "/opt/bin/python3.12", &[], true);
    }
    check(
        &[("/opt/bin/python3.12", Entry::Program), (source.as_str(), Entry::Text(""))],
        "/opt/bin/python3.12",
        &[("PYTHONPATH", "/src")],
        true,
    );
}
