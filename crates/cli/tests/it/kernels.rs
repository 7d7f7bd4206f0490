//! `cellist kernels`: usable kernels, and the faults of the others.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::bench::bare_python;
use crate::desk::Desk;

#[test]
fn pythons_and_kernels_are_listed_with_the_reason_why_one_cannot_be_used() {
    let desk = Desk::new();
    fs::create_dir_all(desk.path().join(".venv/bin")).unwrap();
    symlink("/gone/python3", desk.path().join(".venv/bin/python")).unwrap();
    desk.write(".venv/pyvenv.cfg", "home = /gone\n");
    fs::create_dir_all(desk.path().join("bin")).unwrap();
    symlink(bare_python(), desk.path().join("bin/python3")).unwrap();
    let spec = |program: &str| json!({ "argv": [program, "{connection_file}"], "display_name": "X", "language": "x" });
    desk.write("jupyter/kernels/good/kernel.json", spec("python3").to_string());
    desk.write("jupyter/kernels/lost/kernel.json", spec("no-such-program").to_string());
    desk.write("jupyter/kernels/torn/kernel.json", "{");
    let list = |arguments: &[&str]| {
        let mut command = desk.command(arguments);
        command.env("PATH", desk.path().join("bin")).env("JUPYTER_PATH", desk.path().join("jupyter"));
        command.env_remove("VIRTUAL_ENV").env_remove("CONDA_PREFIX");
        crate::desk::Ran::of(&mut command)
    };
    let json: Value = list(&["kernels", "--json"]).json();
    let pythons = json["pythons"].as_array().unwrap();
    assert_eq!(pythons.len(), 2, "{json}");
    assert_eq!((&pythons[0]["usable"], &pythons[0]["origin"]), (&json!(false), &json!("located")));
    assert!(pythons[0]["reason"].as_str().unwrap().contains("/gone/python3"));
    assert!(pythons[0]["hint"].as_str().unwrap().contains("python3 -m venv --clear"));
    assert_eq!((&pythons[1]["used"], &pythons[1]["origin"]), (&json!(true), &json!("path")));
    let kernel = |name: &str| {
        let kernels = json["kernels"].as_array().unwrap();
        kernels.iter().find(|kernel| kernel["name"] == name).unwrap().clone()
    };
    assert_eq!(kernel("good")["usable"], true);
    assert!(kernel("lost")["reason"].as_str().unwrap().contains("`no-such-program` does not exist"));
    assert!(kernel("torn")["reason"].as_str().unwrap().contains("is not a kernelspec"));
    assert!(kernel("torn")["hint"].as_str().unwrap().contains("remove"));

    let text = list(&["kernels"]).ok();
    assert!(text.contains("✗ lost") && text.contains("→ ") && text.contains("Jupyter kernels"), "{text}");
}

#[test]
fn an_environment_with_ipykernel_says_so() {
    let desk = Desk::new();
    let python = testkit::python("kernels");
    let environment = python.parent().unwrap().parent().unwrap();
    let mut command = desk.command(&["kernels", "--json"]);
    let json = crate::desk::Ran::of(command.env("VIRTUAL_ENV", environment)).json();
    let first = &json["pythons"][0];
    assert_eq!((&first["path"], &first["origin"]), (&json!(python), &json!("active")));
    assert_eq!((&first["ipykernel"], &first["used"]), (&json!(true), &json!(true)));
    assert!(first["version"].as_str().unwrap().starts_with("3."), "{first}");
    let names: Vec<&str> =
        json["kernels"].as_array().unwrap().iter().map(|kernel| kernel["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"python3"), "{names:?}");
}
