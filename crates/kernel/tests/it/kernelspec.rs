//! Kernelspecs on disk, as Jupyter lays them out.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use cellist_kernel::kernelspec::{discover, folders, search};
use cellist_kernel::zmq::InterruptMode;
use cellist_platform::Variables;
use testkit::Scratch;

fn variables(given: &[(&str, String)]) -> Variables {
    given.iter().map(|(name, value)| (*name, value.clone())).collect()
}

fn spec(language: &str) -> String {
    format!(
        r#"{{"argv": ["{language}-kernel", "{{connection_file}}"], "display_name": "{language}", "language": "{language}"}}"#
    )
}

#[test]
fn folders_are_looked_through_in_jupyter_s_order() {
    let scratch = Scratch::new();
    let home = scratch.path().join("home");
    let at = |path: &str| home.join(path);
    scratch.write("env/pyvenv.cfg", "");
    let python = scratch.write("env/bin/python", "");
    let base = [("HOME", home.display().to_string()), ("JUPYTER_PATH", "/a:/b:relative".to_owned())];
    let environment = scratch.path().join("env/share/jupyter/kernels");
    let user = if cfg!(target_os = "macos") {
        at("Library/Jupyter/kernels")
    } else {
        at(".local/share/jupyter/kernels")
    };
    let system: Vec<PathBuf> =
        ["/usr/local/share/jupyter/kernels", "/usr/share/jupyter/kernels"].map(PathBuf::from).into();

    let found = folders(&variables(&base), Some(&python));
    assert_eq!(found[..2], [PathBuf::from("/a/kernels"), PathBuf::from("/b/kernels")]);
    assert_eq!(found[2..4], [environment.clone(), user.clone()]);
    assert_eq!(found[found.len() - 3..found.len() - 1], system[..]);
    assert_eq!(found[found.len() - 1], at(".ipython/kernels"));

    let mut no_preference = base.to_vec();
    no_preference.push(("JUPYTER_PREFER_ENV_PATH", "0".into()));
    let found = folders(&variables(&no_preference), Some(&python));
    assert!(
        found.iter().position(|folder| *folder == user)
            < found.iter().position(|folder| *folder == environment)
    );

    let given = [("HOME", home.display().to_string()), ("JUPYTER_DATA_DIR", "/data".to_owned())];
    assert_eq!(folders(&variables(&given), None)[0], PathBuf::from("/data/kernels"));
    assert_eq!(folders(&variables(&[]), None), system);
}

#[test]
fn a_link_to_python_leads_to_the_kernels_of_what_it_links_to() {
    let scratch = Scratch::new();
    let real = scratch.write("opt/python/bin/python3.12", "");
    let link = scratch.path().join("python3");
    symlink(&real, &link).unwrap();
    let expected = scratch.path().canonicalize().unwrap().join("opt/python/share/jupyter/kernels");
    assert!(folders(&variables(&[]), Some(&link)).contains(&expected));
}

#[test]
fn the_first_of_a_name_counts_and_broken_ones_are_named() {
    let scratch = Scratch::new();
    scratch.write("a/kernels/Julia-1.11/kernel.json", spec("julia"));
    scratch.write("a/kernels/empty/kernel.json", r#"{"argv": []}"#);
    scratch.write("a/kernels/torn/kernel.json", r#"{"argv": ["#);
    scratch.write("a/kernels/odd/kernel.json", r#"{"argv": ["x"], "interrupt_mode": "shout"}"#);
    scratch.write("a/kernels/not a name/kernel.json", spec("x"));
    scratch.write("a/kernels/no-file/logo.png", "");
    scratch.write("b/kernels/julia-1.11/kernel.json", spec("other"));
    scratch.write("b/kernels/ir/kernel.json", spec("R"));
    let path = format!("{0}/a:{0}/b", scratch.path().display());
    let found = search(&variables(&[("JUPYTER_PATH", path)]), None);
    let names: Vec<&str> = found.specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names[..2], ["julia-1.11", "ir"]);
    assert_eq!(found.named("JULIA-1.11").unwrap().language, "julia");
    assert_eq!(found.of_language("r").unwrap().name, "ir");
    assert_eq!(found.of_language("cobol"), None);
    let broken: Vec<String> = found
        .broken
        .iter()
        .map(|(file, why)| format!("{}: {why}", file.strip_prefix(scratch.path()).unwrap().display()))
        .collect();
    assert_eq!(broken[0], "a/kernels/empty/kernel.json: argv is empty");
    assert_eq!(
        broken[1],
        "a/kernels/odd/kernel.json: interrupt_mode is shout, which is neither signal nor message"
    );
    assert!(broken[2].starts_with("a/kernels/torn/kernel.json: EOF while parsing"));
}

#[test]
fn a_spec_says_how_its_kernel_is_started() {
    let scratch = Scratch::new();
    scratch.write(
        "kernels/deno/kernel.json",
        r#"{"argv": ["python3", "{resource_dir}/start.py", "-f={connection_file}", "{unknown}"],
            "display_name": "Deno", "language": "typescript", "interrupt_mode": "message",
            "env": {"LIB": "${HOME}/lib", "N": 3}, "metadata": {"debugger": true}}"#,
    );
    let variables = variables(&[("JUPYTER_PATH", scratch.path().display().to_string())]);
    let specs = discover(&variables, Some("/opt/py/bin/python".as_ref()));
    let spec = specs.iter().find(|spec| spec.name == "deno").unwrap();
    let folder = scratch.path().join("kernels/deno");
    let start = format!("{}/start.py", folder.display());
    assert_eq!(spec.argv, ["/opt/py/bin/python", start.as_str(), "-f={connection_file}", "{unknown}"]);
    assert_eq!(spec.env, [("LIB".to_owned(), "${HOME}/lib".to_owned()), ("N".to_owned(), "3".to_owned())]);
    assert_eq!(spec.metadata["debugger"], true);
    let command = spec.command();
    assert_eq!(command.interrupt_mode, InterruptMode::Message);
    assert_eq!(command.python.as_deref(), Some("/opt/py/bin/python".as_ref()));
}

#[test]
fn the_kernels_of_a_real_environment_are_found() {
    let python = testkit::python("kernels");
    let found = search(&variables(&[]), Some(&python));
    let spec = found.named("python3").unwrap();
    assert!(spec.speaks("Python"));
    assert_eq!(spec.argv[0], python.display().to_string());
    assert!(spec.argv.iter().any(|argument| argument == "ipykernel_launcher"));
}
