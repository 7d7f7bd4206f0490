//! `cellist gateway`: the shared gateways, one for each interpreter.

use cellist_kernel::gateway::{Announcement, SharedGateways, Standing};
use cellist_kernel::order::Way;
use cellist_session::orders::choice::BackendDecision;
use cellist_session::orders::{ClientEnvironment, FoundSoftware, KernelRequest};
use cellist_settings::{BackendWish, Home};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::command::exec::working_folder;
use crate::error::CliError;
use crate::host;
use crate::kernel::KernelFlags;
use crate::listing::table;
use crate::output::CommandOutput;
use crate::spinner::Spinner;

/// Show, start or stop the shared Jupyter gateway
///
/// `--backend gateway` without a URL uses this gateway and starts it on demand. It is a Jupyter Kernel Gateway of
/// the selected Python, on this machine only, protected by a token, with no limits that discard output. It stops
/// after 15 minutes without a kernel. Gateways given by --gateway or PI_PYTHON_GATEWAY_URL are never started or
/// stopped.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist gateway
  cellist gateway start --python ./venv
  cellist gateway stop")]
pub(crate) struct GatewayArgs {
    /// The action [default: status]
    #[arg(value_enum, value_name = "ACTION", default_value = "status", hide_default_value = true)]
    action: GatewayAction,
    #[command(flatten)]
    flags: KernelFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GatewayAction {
    /// Show the running gateways and their kernels
    Status,
    /// Start the gateway of the selected Python, unless it is running
    Start,
    /// Stop all shared gateways and their kernels
    Stop,
}

pub(crate) fn run_gateway_command(arguments: GatewayArgs) -> Result<CommandOutput, CliError> {
    let home = Home::from_env();
    let gateways = SharedGateways::of(home.path());
    let _waiting = Spinner::new(match arguments.action {
        GatewayAction::Status => "asking the gateways",
        GatewayAction::Start => "starting the gateway",
        GatewayAction::Stop => "the gateways end",
    });
    host::block_on(async {
        match arguments.action {
            GatewayAction::Status => Ok(status(&gateways, &gateways.list().await)),
            GatewayAction::Start => start(&arguments.flags, &home, &gateways).await,
            GatewayAction::Stop => Ok(stopped(&gateways.stop().await)),
        }
    })
}

fn status(gateways: &SharedGateways, running: &[Standing]) -> CommandOutput {
    let idle = gateways.idle().as_secs();
    let row = |standing: &Standing| {
        let known = &standing.announcement;
        let kernels = standing.kernels.map_or_else(|| "not responding".into(), |count| count.to_string());
        let python = known.python.to_string_lossy().into_owned();
        vec![known.gateway().url().to_owned(), known.pid.to_string(), kernels, python]
    };
    let text = match running {
        [] => "No shared gateway is running.\n".to_owned(),
        some => format!(
            "{}A gateway stops after {} minutes without a kernel.\n",
            table(&["gateway", "process", "kernels", "python"], some.iter().map(row)),
            idle / 60
        ),
    };
    let json = |standing: &Standing| {
        let mut json = to_json(&standing.announcement);
        json["kernels"] = standing.kernels.into();
        json["healthy"] = standing.kernels.is_some().into();
        json["idle_timeout"] = idle.into();
        json
    };
    CommandOutput::new(text, json!({ "gateways": running.iter().map(json).collect::<Vec<_>>() }))
}

async fn start(
    flags: &KernelFlags,
    home: &Home,
    gateways: &SharedGateways,
) -> Result<CommandOutput, CliError> {
    let cwd = working_folder(None)?;
    let settings = flags.settings(&cwd)?;
    // Another wish, or an address, would be another gateway.
    let environment =
        ClientEnvironment { backend: Some(BackendWish::Gateway), gateway: None, ..flags.environment() };
    let mut found = FoundSoftware::look(&environment, home, vec![cwd.clone()]);
    found.variables.remove("PI_PYTHON_GATEWAY_URL");
    let request = KernelRequest::default();
    let (decision, _) = environment.decide(&found, &settings.settings, &request)?;
    let BackendDecision::SharedGateway(_) = &decision else {
        return Ok(status(gateways, &gateways.list().await));
    };
    let order = environment.order_of(&found, &settings, decision, &cwd, &request).await?;
    if let Way::SharedGateway { python, .. } = &order.way {
        let obtained = gateways.obtain(python, &order.environment).await;
        obtained.map_err(|error| CliError::kernel(&error))?;
    }
    Ok(status(gateways, &gateways.list().await))
}

fn stopped(ended: &[Announcement]) -> CommandOutput {
    let line = |known: &Announcement| {
        format!("Stopped the shared gateway of {} (process {}).\n", known.python.display(), known.pid)
    };
    let text = match ended {
        [] => "No shared gateway is running.\n".to_owned(),
        some => some.iter().map(line).collect(),
    };
    CommandOutput::new(text, json!({ "stopped": ended.iter().map(to_json).collect::<Vec<_>>() }))
}

fn to_json(known: &Announcement) -> Value {
    json!({ "url": known.gateway().url(), "pid": known.pid, "python": known.python.to_string_lossy() })
}
