//! `cellist doctor`: checks everything needed to run code and suggests a fix for each fault.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cellist_kernel::gateway::{self, Gateway, TOKEN_VARIABLE};
use cellist_output::{Ansi, Limits};
use cellist_platform::Variables;
use cellist_session::execution::{Limit, OnStuck, Reading, Status};
use cellist_session::orders::choice::BackendDecision;
use cellist_session::orders::{ClientEnvironment, FoundSoftware, KernelRequest};
use cellist_session::sessions::{Code, RetryOnCrash, RunRules, SessionCall, SessionKey, SessionKind};
use cellist_settings::{Exposure, Fault, Home, Resolved};
use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::clock::format_duration;
use crate::error::{CliError, Exit, FailureKind};
use crate::host::{self, VERSION};
use crate::kernel::KernelFlags;
use crate::output::CommandOutput;
use crate::paint::{ColourMode, Ink, Paint};
use crate::spinner::Spinner;

/// Check everything needed to run code, and suggest fixes
///
/// Unlike `cellist kernels`, this starts the runner and ipykernel to verify that they work.
///
/// Exit status: 0 no failures, 3 code cannot run, 1 other failures.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist doctor
  cellist doctor --python ./venv --json")]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    flags: KernelFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CheckVerdict {
    Ok,
    /// A fault in something that is not needed.
    Warning,
    Failed,
}

#[derive(Clone, Debug, Serialize)]
struct DoctorCheck {
    name: &'static str,
    status: CheckVerdict,
    message: String,
    hint: Option<String>,
}

impl DoctorCheck {
    fn new(name: &'static str, status: CheckVerdict, message: impl Into<String>) -> DoctorCheck {
        DoctorCheck { name, status, message: message.into(), hint: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> DoctorCheck {
        self.hint = Some(hint.into());
        self
    }
}

pub(crate) fn check_installation(arguments: DoctorArgs) -> Result<CommandOutput, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| CliError::new(FailureKind::System, Exit::NoKernel, error.to_string()))?;
    let checks = runtime.block_on(examine(&arguments.flags));
    let failed =
        |name: &str| checks.iter().any(|check| check.name == name && check.status == CheckVerdict::Failed);
    let any = checks.iter().any(|check| check.status == CheckVerdict::Failed);
    let exit = match (failed("python") || failed("runner"), any) {
        (true, _) => Exit::NoKernel,
        (false, true) => Exit::CodeFailed,
        (false, false) => Exit::Done,
    };
    let json = json!({ "ok": !any, "checks": checks });
    let text = checks_text(&checks, Paint::for_stdout(ColourMode::Auto));
    Ok(CommandOutput::new(text, json).with_exit(exit))
}

async fn examine(flags: &KernelFlags) -> Vec<DoctorCheck> {
    let cwd = std::env::current_dir();
    let environment = flags.environment();
    let waiting = Spinner::new("checking the settings");
    let found = FoundSoftware::look(&environment, &Home::from_env(), cwd.iter().cloned().collect());
    let mut checks = Vec::new();
    let folder = match cwd {
        Ok(folder) => {
            checks.push(DoctorCheck::new("folder", CheckVerdict::Ok, folder.display().to_string()));
            folder
        }
        Err(_) => {
            let gone =
                DoctorCheck::new("folder", CheckVerdict::Failed, "the current folder no longer exists");
            checks.push(gone.hint("change to an existing folder"));
            PathBuf::from("/")
        }
    };
    checks.push(state(found.home.path()));
    let settings = match flags.settings(&folder) {
        Ok(settings) => {
            checks.extend(settings_used(&settings));
            settings
        }
        // Continue with the defaults to find further faults.
        Err(faults) => {
            checks.extend(faults.iter().map(broken_setting));
            Resolved::default()
        }
    };
    checks.extend(pythons(&found));
    if let Some(interpreter) = found.interpreter() {
        waiting.now("trying the runner");
        checks.push(
            starts(
                "runner",
                &environment,
                &settings,
                &found,
                BackendDecision::Runner(interpreter.clone()),
                &folder,
            )
            .await,
        );
        checks.push(match found.has_module(&interpreter.path, "ipykernel") {
            true => {
                waiting.now("trying ipykernel");
                starts(
                    "ipykernel",
                    &environment,
                    &settings,
                    &found,
                    BackendDecision::Ipykernel(interpreter.clone()),
                    &folder,
                )
                .await
            }
            false => {
                let message = format!("not installed in {}; using the runner", interpreter.path.display());
                DoctorCheck::new("ipykernel", CheckVerdict::Ok, message)
            }
        });
    }
    checks.extend(kernels(&found));
    waiting.now("asking the gateway");
    checks.push(gateway(&environment, &found.variables).await);
    checks.push(terminal(&found.variables));
    waiting.now("asking the host");
    checks.push(host().await);
    checks
}

/// Checks that the state folder is writable.
fn state(home: &Path) -> DoctorCheck {
    let probe = home.join(format!("doctor-{}", std::process::id()));
    let tried =
        fs::create_dir_all(home).and_then(|()| fs::write(&probe, b"")).and_then(|()| fs::remove_file(&probe));
    match tried {
        Ok(()) => match Home::at(home).exposure() {
            None => DoctorCheck::new("state", CheckVerdict::Ok, home.display().to_string()),
            Some(exposure @ Exposure::Foreign { .. }) => {
                DoctorCheck::new("state", CheckVerdict::Failed, exposure.to_string()).hint(exposure.remedy())
            }
            Some(exposure) => {
                DoctorCheck::new("state", CheckVerdict::Warning, exposure.to_string()).hint(exposure.remedy())
            }
        },
        Err(error) => {
            let message = format!("cannot write to {}: {}", home.display(), crate::error::reason(&error));
            DoctorCheck::new("state", CheckVerdict::Failed, message)
                .hint("set CELLIST_HOME to a writable folder")
        }
    }
}

/// Lists the settings files and their settings without effect.
fn settings_used(settings: &Resolved) -> Vec<DoctorCheck> {
    let used: Vec<String> = settings
        .files
        .iter()
        .filter(|(_, there)| *there)
        .map(|(path, _)| path.display().to_string())
        .collect();
    let message = if used.is_empty() { "no files; using defaults".to_owned() } else { used.join(", ") };
    let mut checks = vec![DoctorCheck::new("settings", CheckVerdict::Ok, message)];
    checks.extend(
        settings.notices.iter().map(|notice| DoctorCheck::new("settings", CheckVerdict::Warning, notice)),
    );
    checks
}

fn broken_setting(fault: &Fault) -> DoctorCheck {
    let check = DoctorCheck::new("settings", CheckVerdict::Failed, fault.to_string());
    check.hint(fault.hint().unwrap_or("fix or remove it"))
}

/// Checks the selected Python, and broken ones that come before it.
fn pythons(found: &FoundSoftware) -> Vec<DoctorCheck> {
    let mut checks = Vec::new();
    for candidate in found.pythons.iter().take_while(|candidate| candidate.verdict.is_err()) {
        let Err(flaw) = &candidate.verdict else { continue };
        let message = format!("{} ({}): {flaw}", candidate.path.display(), candidate.origin);
        let check = DoctorCheck::new("environment", CheckVerdict::Failed, message);
        checks.push(match flaw.hint(&candidate.path) {
            Some(hint) => check.hint(hint),
            None => check.hint("remove it, or choose another Python with --python PATH"),
        });
    }
    checks.push(match found.interpreter() {
        Some(interpreter) => {
            let version = found.version(&interpreter.path).map_or_else(String::new, |it| format!(" ({it})"));
            DoctorCheck::new("python", CheckVerdict::Ok, format!("{}{version}", interpreter.path.display()))
        }
        None => DoctorCheck::new("python", CheckVerdict::Failed, "not found")
            .hint("install Python 3.8 or newer, or pass --python PATH"),
    });
    checks
}

/// Starts a kernel and runs a calculation on it.
async fn starts(
    name: &'static str,
    environment: &ClientEnvironment,
    settings: &Resolved,
    found: &FoundSoftware,
    decision: BackendDecision,
    folder: &Path,
) -> DoctorCheck {
    let begun = Instant::now();
    let python = match &decision {
        BackendDecision::Runner(it) | BackendDecision::Ipykernel(it) => it.path.display().to_string(),
        BackendDecision::SharedGateway(it) => it.path.display().to_string(),
        BackendDecision::Spec(name) | BackendDecision::Gateway(name) => name.clone(),
    };
    let request = KernelRequest::default();
    let order = match environment.order_of(found, settings, decision, folder, &request).await {
        Ok(order) => order,
        Err(error) => return broken(name, &python, error.to_string(), error.hint()),
    };
    let rules = RunRules {
        limit: Limit::Given(Duration::from_secs(30)),
        on_stuck: Some(OnStuck::Kill),
        retry: RetryOnCrash::Never,
        ..RunRules::new(&settings.settings, Reading::new(Limits::for_screen(), Ansi::Remove))
    };
    let key = SessionKey::new("doctor", folder);
    let mut call = SessionCall::new(key, SessionKind::Run { path: None }, order.into(), rules);
    call.cells = vec![Code { code: "print(6 * 7)".to_owned(), ..Code::default() }];
    let sessions = host::sessions_for_run(&settings.settings);
    let called = sessions.call(call).done().await;
    sessions.close().await;
    let report = match called {
        Ok(mut called) => called.cells.pop().map(|cell| cell.report),
        Err(error) => return broken(name, &python, error.to_string(), error.hint()),
    };
    match report {
        Some(report) if report.status == Status::Ok && report.text == "42\n" => DoctorCheck::new(
            name,
            CheckVerdict::Ok,
            format!("works with {python}; start and run took {}", format_duration(begun.elapsed())),
        ),
        report => {
            let text = report.map(|report| report.text).unwrap_or_default();
            DoctorCheck::new(name, CheckVerdict::Failed, format!("6 * 7 gave {text:?}"))
                .hint("choose another Python with --python PATH")
        }
    }
}

fn broken(name: &'static str, python: &str, message: String, hint: Option<String>) -> DoctorCheck {
    let install = format!("reinstall it: {python} -m pip install --force-reinstall ipykernel");
    let other = "choose another Python with --python PATH".to_owned();
    let fallback = if name == "ipykernel" { install } else { other };
    DoctorCheck::new(name, CheckVerdict::Failed, message).hint(hint.unwrap_or(fallback))
}

fn kernels(found: &FoundSoftware) -> Vec<DoctorCheck> {
    let broken = found.specs.iter().filter_map(|spec| Some((spec, found.missing_program(spec)?)));
    let mut checks: Vec<DoctorCheck> = broken
        .map(|(spec, program)| {
            let message = format!("{}: its program `{program}` does not exist", spec.name);
            DoctorCheck::new("kernel", CheckVerdict::Failed, message).hint(format!(
                "install {}, or remove {}",
                spec.language,
                spec.folder.display()
            ))
        })
        .collect();
    checks.extend(found.broken_specs.iter().map(|(file, why)| {
        DoctorCheck::new(
            "kernel",
            CheckVerdict::Failed,
            format!("{} is not a kernelspec: {why}", file.display()),
        )
        .hint(format!("reinstall the kernel, or remove {}", file.parent().unwrap_or(file).display()))
    }));
    let names: Vec<&str> = found
        .specs
        .iter()
        .filter(|spec| found.missing_program(spec).is_none())
        .map(|spec| spec.name.as_str())
        .collect();
    let message = if names.is_empty() { "no kernelspecs".to_owned() } else { names.join(", ") };
    checks.push(DoctorCheck::new("kernels", CheckVerdict::Ok, message));
    checks
}

/// Checks that the given gateway is reachable and accepts the token.
async fn gateway(environment: &ClientEnvironment, variables: &Variables) -> DoctorCheck {
    let Some(url) = environment.gateway.clone().or_else(|| variables.text("PI_PYTHON_GATEWAY_URL")) else {
        return DoctorCheck::new("gateway", CheckVerdict::Ok, "none is set");
    };
    let gateway = match Gateway::new(&url, variables.text(TOKEN_VARIABLE)) {
        Ok(gateway) => gateway.trusting(|name| variables.text(name)),
        Err(error) => {
            return DoctorCheck::new("gateway", CheckVerdict::Failed, error.to_string())
                .hint("use a URL like http://127.0.0.1:8888, or unset PI_PYTHON_GATEWAY_URL");
        }
    };
    match gateway::specs(&gateway).await {
        Ok(specs) => {
            let names: Vec<&str> = specs.list().map(|(name, _, _)| name).collect();
            DoctorCheck::new(
                "gateway",
                CheckVerdict::Ok,
                format!("{} has {}", gateway.url(), names.join(", ")),
            )
        }
        Err(error) => {
            let hint = error.hint().map(|hint| format!("{hint}; or ")).unwrap_or_default();
            DoctorCheck::new("gateway", CheckVerdict::Failed, error.to_string())
                .hint(format!("{hint}remove --gateway and unset PI_PYTHON_GATEWAY_URL"))
        }
    }
}

fn terminal(variables: &Variables) -> DoctorCheck {
    if !io::stdout().is_terminal() {
        return DoctorCheck::new("terminal", CheckVerdict::Ok, "none: plain text");
    }
    let name = variables.text("TERM").unwrap_or_default();
    match name.as_str() {
        "" | "dumb" => {
            DoctorCheck::new("terminal", CheckVerdict::Warning, format!("TERM is {name:?}: plain text"))
                .hint("set TERM to the type of your terminal, such as xterm-256color")
        }
        _ => DoctorCheck::new("terminal", CheckVerdict::Ok, name),
    }
}

/// Checks that a running host responds and has a compatible version.
async fn host() -> DoctorCheck {
    match host::user_host().state().await {
        Ok(None) => DoctorCheck::new("host", CheckVerdict::Ok, "not running; starts on demand"),
        Ok(Some(state)) if state.version == VERSION => {
            DoctorCheck::new("host", CheckVerdict::Ok, format!("running as process {}", state.pid))
        }
        Ok(Some(state)) => {
            let message = format!("runs cellist {}, but this is cellist {VERSION}", state.version);
            DoctorCheck::new("host", CheckVerdict::Warning, message)
                .hint("run `cellist stop` to end it and its sessions")
        }
        Err(error) => {
            let hint = error.hint();
            let check = DoctorCheck::new("host", CheckVerdict::Failed, error.to_string());
            check.hint(hint.unwrap_or_else(|| "run `cellist stop` to end it".into()))
        }
    }
}

fn checks_text(checks: &[DoctorCheck], paint: Paint) -> String {
    let mut lines = Vec::new();
    for check in checks {
        let (mark, ink) = match check.status {
            CheckVerdict::Ok => ("✓", Ink::Added),
            CheckVerdict::Warning => ("!", Ink::Position),
            CheckVerdict::Failed => ("✗", Ink::Removed),
        };
        lines.push(format!("{} {:<12} {}", paint.line(ink, mark), check.name, check.message));
        if let Some(hint) = &check.hint {
            lines.push(format!("  {:<12} {}", "", paint.line(Ink::Title, hint)));
        }
    }
    lines.join("\n") + "\n"
}
