//! Secrets in the user's environment that no code should see, on any backend.

use std::fs;
use std::process::Command;

use testkit::TOKEN;

use crate::bench::Backend;
use crate::desk::{Desk, Ran};
use crate::gateway::Shared;

const SECRETS: [&str; 30] = [
    "ANTHROPIC_API_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AZURE_CLIENT_SECRET",
    "CARGO_REGISTRY_TOKEN",
    "CI_JOB_TOKEN",
    "COHERE_API_KEY",
    "DATABASE_URL",
    "DEEPSEEK_API_KEY",
    "DOCKER_PASSWORD",
    "GEMINI_API_KEY",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GITLAB_TOKEN",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GROQ_API_KEY",
    "HF_TOKEN",
    "KUBECONFIG",
    "MISTRAL_API_KEY",
    "NPM_TOKEN",
    "OPENAI_API_KEY",
    "PGPASSWORD",
    "POSTGRES_PASSWORD",
    "PYPI_TOKEN",
    "SLACK_BOT_TOKEN",
    "STRIPE_SECRET_KEY",
    "TWINE_PASSWORD",
    "VAULT_TOKEN",
    "WANDB_API_KEY",
];

/// The names of variables whose value is a secret.
const LOOK: &str = "import os; sorted(name for name, value in os.environ.items() if 'hush' in value)";

fn with_secrets(command: &mut Command) -> &mut Command {
    command.envs(SECRETS.map(|name| (name, format!("hush-{name}"))))
}

#[test]
fn no_kernel_gets_any_of_them_here_or_behind_a_gateway() {
    let desk = Desk::new();
    for backend in [
        Backend::Runner,
        Backend::Ipykernel,
        Backend::KernelGateway,
        Backend::JupyterServer,
        Backend::EnterpriseGateway,
    ] {
        backend.tally();
        let (server, mut flags) = (backend.server(), backend.flags());
        if let Some(server) = &server {
            flags.extend(["--gateway".to_owned(), server.url()]);
        }
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let mut command = desk.command(&[&["exec", LOOK, "--json"], flags.as_slice()].concat());
        command.env("PI_PYTHON_GATEWAY_TOKEN", TOKEN).env("KERNEL_USERNAME", "ann");
        let report = desk.run_marked(with_secrets(&mut command)).json();
        assert_eq!(report["text"], "[]\n", "{backend:?}: {report}");
    }
}

#[test]
fn the_gateway_that_we_start_gets_none_of_them() {
    let shared = Shared::new();
    let mut command = shared.command(&["exec", LOOK, "--json", "--backend", "gateway"]);
    let report = Ran::of(with_secrets(&mut command)).json();
    assert_eq!(report["text"], "[]\n", "{report}");
    let pid = shared.gateways()[0]["pid"].as_u64().unwrap();
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap();
    let environment = String::from_utf8_lossy(&environment);
    assert!(environment.contains("PATH=") && !environment.contains("hush"), "{environment:?}");
}
