use std::path::Path;

use cellist_kernel::python::{Flaw, Origin};

use super::*;

fn python() -> Candidate {
    let interpreter = Interpreter { path: "/py".into(), origin: Origin::Path, environment: None, shim: None };
    Candidate { path: "/py".into(), origin: Origin::Path, verdict: Ok(interpreter) }
}

fn offer(name: &str, language: &str, missing: Option<&str>) -> KernelOffer {
    KernelOffer { name: name.into(), language: language.into(), missing_program: missing.map(str::to_owned) }
}

fn wanted(kernel: &str, language: &str) -> WantedKernel {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    WantedKernel { kernel: text(kernel), language: text(language) }
}

/// Returns the decision in one word, or the refusal with its hint.
fn decide(
    asked: &BackendRequest,
    wanted: &WantedKernel,
    has_ipykernel: bool,
    pythons: &[Candidate],
) -> String {
    let offers = [offer("python3", "python", None), offer("bash", "bash", None), offer("ir", "R", Some("R"))];
    let unreadable = [(PathBuf::from("/k/torn/kernel.json"), "no argv".to_owned())];
    let available = InstalledSoftware {
        pythons,
        has_ipykernel,
        has_kernel_gateway: has_ipykernel,
        offers: &offers,
        unreadable: &unreadable,
    };
    match choose(asked, wanted, &available) {
        Ok(BackendDecision::Runner(it)) => format!("runner {}", it.path.display()),
        Ok(BackendDecision::Ipykernel(it)) => format!("ipykernel {}", it.path.display()),
        Ok(BackendDecision::Spec(name)) => format!("spec {name}"),
        Ok(BackendDecision::Gateway(url)) => format!("gateway {url}"),
        Ok(BackendDecision::SharedGateway(it)) => format!("shared gateway {}", it.path.display()),
        Err(refusal) => format!("{}: {refusal} | {}", refusal.kind(), refusal.hint().unwrap_or_default()),
    }
}

#[test]
fn the_request_overrides_the_notebook_and_the_notebook_overrides_the_installation() {
    use BackendWish::{Auto, Gateway, Jupyter, Runner};
    let (py, bash) = (wanted("python3", "python"), wanted("bash", "bash"));
    let table = [
        (Auto, "", &py, true, "ipykernel /py"),
        (Auto, "", &py, false, "runner /py"),
        (Auto, "", &WantedKernel::nothing(), true, "runner /py"),
        (Runner, "", &py, true, "runner /py"),
        (Jupyter, "", &WantedKernel::nothing(), true, "ipykernel /py"),
        (Auto, "", &bash, false, "spec bash"),
        (Jupyter, "", &bash, false, "spec bash"),
        (Auto, "", &wanted("bash-5", "bash"), false, "spec bash"),
        (Auto, "", &wanted("bash", ""), false, "spec bash"),
        (Auto, "", &wanted("myenv", ""), false, "runner /py"),
        (Auto, "", &wanted("", "IPython"), false, "runner /py"),
        (Auto, "python3", &bash, false, "spec python3"),
        (Jupyter, "BASH", &py, false, "spec bash"),
        (
            Jupyter,
            "",
            &py,
            false,
            "no_kernel: ipykernel is not installed in /py | install it: /py -m pip install ipykernel, or use \
                 --backend runner, which needs nothing installed",
        ),
        (
            Runner,
            "",
            &bash,
            true,
            "no_kernel: the runner runs Python only; the notebook is in bash | leave --backend out, or give \
                 --backend jupyter",
        ),
        (
            Auto,
            "nope",
            &py,
            true,
            "no_kernel: there is no kernel named `nope`; there are python3, bash | `cellist kernels` lists \
                 the installed ones",
        ),
        (
            Auto,
            "",
            &wanted("ir", "R"),
            true,
            "no_kernel: the kernel `ir` starts with `R`, which is not there | install R, so that `R` is on PATH, \
                 or remove the kernel",
        ),
        (
            Auto,
            "",
            &wanted("julia-1.11", "julia"),
            true,
            "no_kernel: the notebook wants the kernel `julia-1.11` (julia), which is not installed | install it: \
                 julia -e 'using Pkg; Pkg.add(\"IJulia\")'",
        ),
        (
            Auto,
            "",
            &wanted("wolfram", "Wolfram"),
            true,
            "no_kernel: the notebook wants the kernel `wolfram` (Wolfram), which is not installed | install a \
                 Jupyter kernel for Wolfram; `cellist kernels` lists the installed ones",
        ),
        (Gateway, "", &py, true, "shared gateway /py"),
        (
            Gateway,
            "",
            &py,
            false,
            "no_gateway: the shared gateway needs jupyter_kernel_gateway and ipykernel, which /py does not \
                 have | install them: /py -m pip install jupyter_kernel_gateway ipykernel",
        ),
        (
            Gateway,
            "",
            &bash,
            true,
            "no_kernel: the shared gateway runs Python only; the notebook is in bash | give --backend jupyter, \
                 or name a gateway that has the language with --gateway URL",
        ),
    ];
    for (backend, kernel, wanted, has_ipykernel, expected) in table {
        let kernel = (!kernel.is_empty()).then(|| kernel.to_owned());
        let asked = BackendRequest { backend, kernel, ..BackendRequest::default() };
        assert_eq!(decide(&asked, wanted, has_ipykernel, &[python()]), expected, "{asked:?} {wanted:?}");
    }
}

#[test]
fn a_gateway_is_meant_by_its_address_unless_another_way_is_asked_for() {
    let asked =
        |backend| BackendRequest { backend, gateway: Some("http://x".into()), ..BackendRequest::default() };
    let python_notebook = wanted("python3", "python");
    for wish in [BackendWish::Auto, BackendWish::Gateway] {
        assert_eq!(decide(&asked(wish), &python_notebook, true, &[]), "gateway http://x");
    }
    let none = BackendRequest {
        backend: BackendWish::Gateway,
        no_shared_gateway: true,
        ..BackendRequest::default()
    };
    let refused = decide(&none, &python_notebook, true, &[python()]);
    let sentence = "no_gateway: Shared Python gateway required; local gateways are disabled | ";
    assert!(refused.starts_with(sentence), "{refused}");
    assert_eq!(decide(&asked(BackendWish::Runner), &python_notebook, true, &[python()]), "runner /py");
}

#[test]
fn a_kernelspec_that_cannot_be_read_is_not_denied_and_only_usable_ones_are_offered() {
    let asked = |name: &str| BackendRequest { kernel: Some(name.to_owned()), ..BackendRequest::default() };
    let decide = |asked: &BackendRequest, wanted: &WantedKernel| decide(asked, wanted, false, &[python()]);
    let torn = "no_kernel: the kernel `torn` cannot be used: /k/torn/kernel.json cannot be read: no argv | fix \
                    the file, or reinstall the kernel `torn`";
    assert_eq!(decide(&asked("torn"), &WantedKernel::nothing()), torn);
    assert_eq!(decide(&BackendRequest::default(), &wanted("torn", "Torn")), torn);
    let unknown = decide(&asked("none"), &WantedKernel::nothing());
    assert!(unknown.contains("there is no kernel named `none`; there are python3, bash |"), "{unknown}");
}

#[test]
fn a_python_notebook_with_a_missing_kernel_names_its_substitute() {
    let offers = [offer("mine", "python", None), offer("bash", "bash", None)];
    let pythons = [python()];
    let available = InstalledSoftware {
        pythons: &pythons,
        has_ipykernel: false,
        has_kernel_gateway: false,
        offers: &offers,
        unreadable: &[],
    };
    let said = |kernel: &str, language: &str| stand_in(&wanted(kernel, language), &available);
    let expected = "the notebook's kernel `myenv` is not installed; it runs on /py";
    assert_eq!(said("myenv", "python").as_deref(), Some(expected));
    assert_eq!(said("myenv", "").as_deref(), Some(expected));
    for (kernel, language) in
        [("mine", "python"), ("python3", ""), ("", "python"), ("bash", "bash"), ("ir", "")]
    {
        assert_eq!(said(kernel, language), None, "{kernel}");
    }
}

#[test]
fn the_check_can_be_skipped() {
    let asked =
        BackendRequest { backend: BackendWish::Jupyter, skip_check: true, ..BackendRequest::default() };
    assert_eq!(decide(&asked, &WantedKernel::nothing(), false, &[python()]), "ipykernel /py");
}

#[test]
fn without_a_usable_python_the_error_lists_each_candidate() {
    let broken = |origin| Candidate {
        path: "/v/bin/python".into(),
        origin,
        verdict: Err(Flaw::Dangling { target: "/gone".into(), environment: Some("/v".into()) }),
    };
    let nothing = decide(&BackendRequest::default(), &WantedKernel::nothing(), false, &[]);
    assert!(nothing.starts_with("no_python: no Python was found | install Python 3.8"), "{nothing}");
    let passed =
        decide(&BackendRequest::default(), &WantedKernel::nothing(), false, &[broken(Origin::Active)]);
    assert!(passed.contains("/v/bin/python: it is a link to /gone, which does not exist"), "{passed}");
    let named = decide(&BackendRequest::default(), &WantedKernel::nothing(), false, &[broken(Origin::Named)]);
    assert_eq!(
        named,
        "no_python: /v/bin/python cannot be used: it is a link to /gone, which does not exist | make the \
             environment anew: python3 -m venv --clear /v"
    );
}

#[test]
fn a_notebook_that_says_nothing_is_in_python() {
    let nothing = WantedKernel::of_metadata(&serde_json::json!({}));
    assert_eq!(nothing, wanted("python3", ""));
    let said = serde_json::json!({ "kernelspec": { "name": "ir" }, "language_info": { "name": "R" } });
    assert_eq!(WantedKernel::of_metadata(&said), wanted("ir", "R"));
    assert_eq!(Path::new("/py"), python().path);
}
