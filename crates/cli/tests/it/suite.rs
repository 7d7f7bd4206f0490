//! One suite of notebooks with the outputs that they must have, on everything that runs code. The differences that
//! are allowed between two ways to run code are a closed list, in `testkit/src/same.rs`; any other one fails.

mod behaviour;

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::bench::Backend;
use crate::desk::Desk;

fn notebook(name: &str) -> PathBuf {
    testkit::repo_root().join("crates/cli/tests/suite").join(format!("{name}.ipynb"))
}

#[track_caller]
fn check(name: &str, backend: Backend) {
    let desk = Desk::new();
    let expected = fs::read(notebook(name)).unwrap();
    let mut blank: Value = serde_json::from_slice(&expected).unwrap();
    for cell in blank["cells"].as_array_mut().unwrap() {
        if cell["cell_type"] == "code" {
            cell["outputs"] = serde_json::json!([]);
            cell["execution_count"] = Value::Null;
        }
    }
    desk.write("nb.ipynb", blank.to_string());
    let ran = desk.run_on(backend, &["run", "nb.ipynb"]);
    assert_eq!(ran.exit, 0, "{}", ran.all());
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    let found: Value = serde_json::from_slice(&desk.read("nb.ipynb")).unwrap();
    let differences = testkit::differences_from_stored(&expected, &found);
    assert!(differences.is_empty(), "{name} on {backend:?}:\n{}", differences.join("\n"));
    let fails = |cell: &Value| {
        cell["outputs"]
            .as_array()
            .is_some_and(|all| all.iter().any(|output| output["output_type"] == "error"))
    };
    if matches!(backend, Backend::Runner | Backend::BareRunner)
        && expected["cells"].as_array().unwrap().iter().any(fails)
    {
        // Whole tracebacks name files of this machine, so ipykernel runs the same notebook here.
        desk.write("nb.ipynb", blank.to_string());
        let ran = desk.run_on(Backend::Ipykernel, &["run", "nb.ipynb"]);
        assert_eq!(ran.exit, 0, "{}", ran.all());
        let reference: Value = serde_json::from_slice(&desk.read("nb.ipynb")).unwrap();
        let differences = testkit::differences(&reference, &found);
        assert!(
            differences.is_empty(),
            "{name} on {backend:?}, not as ipykernel:\n{}",
            differences.join("\n")
        );
    }
}

macro_rules! suite {
    ($($name:ident: $($backend:ident)+;)+) => {$(
        mod $name {
            $(
                #[test]
                #[expect(non_snake_case, reason = "named after the way to run code")]
                fn $backend() {
                    super::check(stringify!($name).trim_start_matches("r#"), crate::bench::Backend::$backend);
                }
            )+
        }
    )+};
}

suite! {
    streams: Runner BareRunner Ipykernel KernelGateway JupyterServer EnterpriseGateway;
    results: Runner BareRunner Ipykernel KernelGateway JupyterServer EnterpriseGateway;
    displays: Runner BareRunner Ipykernel KernelGateway JupyterServer EnterpriseGateway;
    errors: Runner BareRunner Ipykernel KernelGateway JupyterServer EnterpriseGateway;
    r#async: Runner BareRunner Ipykernel KernelGateway JupyterServer EnterpriseGateway;
    processes: Runner BareRunner Ipykernel KernelGateway JupyterServer EnterpriseGateway;
    shell: Runner BareRunner Ipykernel KernelGateway JupyterServer EnterpriseGateway;
    state: Runner BareRunner Ipykernel KernelGateway JupyterServer EnterpriseGateway;
    history: Runner BareRunner Ipykernel KernelGateway JupyterServer EnterpriseGateway;
    magics: Runner BareRunner Ipykernel KernelGateway JupyterServer EnterpriseGateway;
    pandas: Runner Ipykernel KernelGateway JupyterServer EnterpriseGateway;
    matplotlib: Runner Ipykernel KernelGateway JupyterServer EnterpriseGateway;
    plotly: Runner Ipykernel KernelGateway JupyterServer EnterpriseGateway;
    widgets: Runner Ipykernel KernelGateway JupyterServer EnterpriseGateway;
}
