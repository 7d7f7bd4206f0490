//! `cellist kernels`: lists usable Pythons and kernels, and the faults of the others.

use std::path::Path;

use cellist_kernel::gateway::{self, Gateway, TOKEN_VARIABLE};
use cellist_kernel::python::Candidate;
use cellist_session::orders::FoundSoftware;
use cellist_settings::Home;
use clap::Args;
use serde_json::{Value, json};

use crate::error::{CliError, FailureKind};
use crate::host;
use crate::kernel::KernelFlags;
use crate::listing::table;
use crate::output::CommandOutput;
use crate::paint::{ColourMode, Ink, Paint};
use crate::spinner::Spinner;

/// List the Pythons and Jupyter kernels that can run code
///
/// Starts none of them. Pythons are listed in order of preference; the first usable one is used. It runs code
/// with ipykernel if installed, otherwise with the embedded runner.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist kernels
  cellist kernels --json")]
pub(crate) struct KernelsArgs {
    /// Also list the kernels of this gateway; default: PI_PYTHON_GATEWAY_URL
    #[arg(long, value_name = "URL")]
    gateway: Option<String>,
}

pub(crate) fn list_kernels(arguments: KernelsArgs) -> Result<CommandOutput, CliError> {
    let waiting = Spinner::new("looking for Pythons and kernels");
    let folders = std::env::current_dir().into_iter().collect();
    let found = FoundSoftware::look(&KernelFlags::default().environment(), &Home::from_env(), folders);
    let url = arguments.gateway.or_else(|| found.variables.text("PI_PYTHON_GATEWAY_URL"));
    let gateway = match url {
        Some(url) => {
            waiting.now("asking the gateway");
            Some(gateway_json(&url, found.variables.text(TOKEN_VARIABLE))?)
        }
        None => None,
    };
    let used = found.interpreter().map(|interpreter| interpreter.path.clone());
    let pythons: Vec<Value> =
        found.pythons.iter().map(|candidate| python_json(&found, candidate, used.as_deref())).collect();
    let mut kernels: Vec<Value> = found
        .specs
        .iter()
        .map(|spec| {
            let missing = found.missing_program(spec);
            let reason = missing.as_ref().map(|program| format!("its program `{program}` does not exist"));
            let hint = missing.as_ref().map(|program| {
                format!(
                    "install {} so that `{program}` exists, or remove {}",
                    spec.language,
                    spec.folder.display()
                )
            });
            json!({
                "name": spec.name,
                "display_name": spec.display_name,
                "language": spec.language,
                "path": spec.folder.to_string_lossy(),
                "usable": missing.is_none(),
                "reason": reason,
                "hint": hint,
            })
        })
        .collect();
    kernels.extend(found.broken_specs.iter().map(|(file, why)| broken_json(file, why)));
    let mut text = kernels_text(&pythons, &kernels, Paint::for_stdout(ColourMode::Auto));
    text.extend(gateway.as_ref().map(|gateway| gateway_text(gateway, Paint::for_stdout(ColourMode::Auto))));
    Ok(CommandOutput::new(text, json!({ "pythons": pythons, "kernels": kernels, "gateway": gateway })))
}

/// The kernelspecs of a gateway, and its running kernels if it lists them.
fn gateway_json(url: &str, token: Option<String>) -> Result<Value, CliError> {
    let gateway = Gateway::new(url, token).map_err(|error| {
        CliError::input(FailureKind::NoGateway, error.to_string())
            .with_hint("use a URL like http://127.0.0.1:8888")
    })?;
    let gateway = gateway.trusting(|name| std::env::var(name).ok());
    host::block_on(async {
        let specs = gateway::specs(&gateway).await.map_err(|error| CliError::kernel(&error))?;
        let spec = |(name, display_name, language): (&str, &str, &str)| json!({ "name": name, "display_name": display_name, "language": language });
        // Not every gateway lists its running kernels.
        let running = gateway::running(&gateway).await.ok();
        let running = running.map(|list| {
            let list = list.into_iter().map(|(id, name)| json!({ "id": id, "name": name }));
            list.collect::<Vec<Value>>()
        });
        let kernels: Vec<Value> = specs.list().map(spec).collect();
        Ok(json!({ "url": gateway.url(), "kernels": kernels, "running": running }))
    })
}

fn gateway_text(gateway: &Value, paint: Paint) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let listed = |key: &str| gateway[key].as_array().cloned().unwrap_or_default();
    let mut said = format!("\n{}\n", paint.line(Ink::Title, &format!("Gateway {}", text(&gateway["url"]))));
    let can = listed("kernels").into_iter().map(|kernel| {
        let named = ["display_name", "language"].map(|key| text(&kernel[key]));
        [vec![format!("  {}", text(&kernel["name"]))], named.into()].concat()
    });
    said += &table(&[], can);
    let runs = listed("running")
        .into_iter()
        .map(|kernel| vec![format!("  {}", text(&kernel["id"])), format!("runs {}", text(&kernel["name"]))]);
    said + &table(&[], runs)
}

fn python_json(found: &FoundSoftware, candidate: &Candidate, used: Option<&Path>) -> Value {
    let interpreter = candidate.verdict.as_ref().ok();
    let flaw = candidate.verdict.as_ref().err();
    let path = interpreter.map_or(&candidate.path, |interpreter| &interpreter.path);
    json!({
        "path": path.to_string_lossy(),
        "found_at": candidate.path.to_string_lossy(),
        "origin": candidate.origin,
        "environment": interpreter.and_then(|it| it.environment.as_ref()).map(|it| it.to_string_lossy()),
        "version": interpreter.and_then(|_| found.version(path)),
        "ipykernel": interpreter.is_some_and(|_| found.has_module(path, "ipykernel")),
        "usable": interpreter.is_some(),
        "used": interpreter.is_some_and(|it| Some(it.path.as_path()) == used),
        "reason": flaw.map(ToString::to_string),
        "hint": flaw.and_then(|flaw| flaw.hint(&candidate.path)),
    })
}

/// A kernelspec file that cannot be parsed.
fn broken_json(file: &Path, why: &str) -> Value {
    let folder = file.parent().unwrap_or(file);
    json!({
        "name": folder.file_name().unwrap_or_default().to_string_lossy(),
        "display_name": null,
        "language": null,
        "path": folder.to_string_lossy(),
        "usable": false,
        "reason": format!("{} is not a kernelspec: {why}", file.display()),
        "hint": format!("reinstall the kernel, or remove {}", folder.display()),
    })
}

fn kernels_text(pythons: &[Value], kernels: &[Value], paint: Paint) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut said = paint.line(Ink::Title, "Python") + "\n";
    if pythons.is_empty() {
        said.push_str("  none: install Python 3.8 or newer, or pass --python PATH\n");
    }
    let (usable, flawed) = split_usable(pythons);
    said += &table(
        &[],
        usable.iter().map(|python| {
            let mark = if python["used"] == true { "→" } else { " " };
            let ways = if python["ipykernel"] == true { "runner, ipykernel" } else { "runner" };
            let origin = format!("from {}", origin(&text(&python["origin"])));
            vec![format!("{mark} {}", text(&python["path"])), text(&python["version"]), ways.into(), origin]
        }),
    );
    said += &describe_unusable(&flawed, |python| text(&python["path"]), paint);
    said += &format!("\n{}\n", paint.line(Ink::Title, "Jupyter kernels"));
    if kernels.is_empty() {
        said.push_str("  none\n");
    }
    let (usable, flawed) = split_usable(kernels);
    said += &table(
        &[],
        usable.iter().map(|kernel| {
            let named = ["display_name", "language", "path"].map(|key| text(&kernel[key]));
            [vec![format!("  {}", text(&kernel["name"]))], named.into()].concat()
        }),
    );
    said + &describe_unusable(&flawed, |kernel| text(&kernel["name"]), paint)
}

/// Splits entries into usable and unusable ones.
fn split_usable(all: &[Value]) -> (Vec<&Value>, Vec<&Value>) {
    all.iter().partition(|one| one["usable"] == true)
}

/// Describes unusable entries: name, reason and hint.
fn describe_unusable(flawed: &[&Value], name: impl Fn(&Value) -> String, paint: Paint) -> String {
    let mut said = String::new();
    for one in flawed {
        let reason = paint.line(Ink::Aside, one["reason"].as_str().unwrap_or_default());
        said += &format!("{} {}  {reason}\n", paint.line(Ink::Removed, "✗"), name(one));
        if let Some(hint) = one["hint"].as_str() {
            said += &format!("    {}\n", paint.line(Ink::Aside, hint));
        }
    }
    said
}

fn origin(word: &str) -> &'static str {
    match word {
        "active" => "VIRTUAL_ENV",
        "conda" => "CONDA_PREFIX",
        "located" => "a project folder",
        "managed" => "the state folder",
        "path" => "PATH",
        _ => "the command line",
    }
}
