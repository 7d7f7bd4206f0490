//! `cellist serve`: runs the host, in the foreground or in the background.

use cellist_host::{Host, OpeningFile, PageLinkRequest, StartupReport};
use cellist_platform::aside::{check_threads, prepare};
use cellist_serve::{CannotServe, HostServer, IdlePolicy, ServeOptions, note_panics, report_startup};
use cellist_settings::{Home, Settings};
use clap::Args;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::command::open::environment;
use crate::command::status::to_json;
use crate::error::{CliError, Exit, FailureKind, reason};
use crate::host::{self, VERSION};
use crate::kernel::KernelFlags;
use crate::notebook_access::require_person;
use crate::output::{CommandOutput, print_to_stderr};
use crate::settings::host_settings;

/// Run the host, which keeps sessions for all terminals and programs
///
/// Commands that need a host start one in the background; it exits when it is no longer needed. A host started
/// with `cellist serve` runs until `cellist stop` or Ctrl-C, and logs to standard error.
///
/// Exit status: 0 success, 2 a host is already running, 3 the host cannot start, 4 the state folder is unusable.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist serve --background
  cellist serve --port 8080
  cellist serve")]
pub(crate) struct ServeArgs {
    /// Start a host in the background, unless one is running; return when it is ready
    #[arg(long, conflicts_with = "detached")]
    background: bool,
    /// Serve the page at this local port from the start; on a terminal, print its link
    #[arg(long, value_name = "PORT", conflicts_with_all = ["background", "detached"])]
    port: Option<u16>,
    /// Run as a background host
    #[arg(long, hide = true)]
    detached: bool,
}

pub(crate) fn serve_host(arguments: ServeArgs) -> Result<CommandOutput, CliError> {
    if arguments.port.is_some() {
        require_person("the page")?;
    }
    if arguments.background {
        let starter = host::starter()?;
        let state = host::block_on(async { Ok(host::user_host().start_in_background(&starter).await?) })?;
        let text = format!("The host is running as process {}.\n", state.pid);
        return Ok(CommandOutput::new(text, to_json(&state)));
    }
    let home = Home::from_env();
    let settings = settings(arguments.detached)?;
    let serving = ServeOptions {
        home: home.clone(),
        version: VERSION.into(),
        staying: if arguments.detached {
            IdlePolicy::WhileNeeded(settings.host.idle)
        } else {
            IdlePolicy::UntilStopped
        },
        log: arguments.detached.then(|| Host::log(&home)),
        page: arguments.port.map(page).transpose()?,
    };
    cellist_platform::keep_memory_small();
    let runtime = runtime().inspect_err(|error| {
        if arguments.detached {
            let (message, hint) = (error.message.clone(), error.hint.clone());
            let _ = report_startup(&StartupReport::Failed { message, hint });
        }
    })?;
    note_panics();
    let served = runtime.block_on(async {
        let opened = HostServer::open(serving, &host::host_guard());
        if arguments.detached {
            // If this fails, the starter sees that no message arrived.
            let _ = report_startup(&first_words(&opened));
        }
        match opened {
            Ok(host) => {
                let served = host.run(host::service(&home, &settings, true)).await;
                served.map_err(|failure| {
                    CliError::new(FailureKind::NoPage, Exit::NoKernel, failure.message)
                        .with_hint("stop the program that uses it, or pass another port")
                })
            }
            Err(error) => Err(refused(&error)),
        }
    });
    runtime.shutdown_background();
    served.map(|()| CommandOutput::new("", Value::Object(Default::default())))
}

/// The runtime of the host. Building it panics or hangs if a thread cannot start, so that is checked first.
fn runtime() -> Result<Runtime, CliError> {
    let begun = prepare().and_then(|()| {
        check_threads(WORKERS)?;
        Builder::new_multi_thread().enable_all().worker_threads(WORKERS).build()
    });
    begun.map_err(|error| {
        let message = format!("cannot start the {} threads of the host: {}", WORKERS + 1, reason(&error));
        CliError::new(FailureKind::System, Exit::NoKernel, message)
            .with_hint("end other programs, or raise the process limit (`ulimit -u`)")
    })
}

/// The page, with the environment of this terminal.
fn page(port: u16) -> Result<PageLinkRequest, CliError> {
    let folder = std::env::current_dir().unwrap_or_else(|_| "/".into());
    let (environment, redaction, keys) = environment(&KernelFlags::default(), &folder)?;
    Ok(PageLinkRequest {
        path: None,
        folder,
        environment,
        redaction,
        keys,
        port: Some(port),
        file: OpeningFile::None,
    })
}

/// The settings of the host, which belongs to no project. A background host falls back to the defaults: its
/// starter has just checked the same file.
fn settings(detached: bool) -> Result<Settings, CliError> {
    match host_settings() {
        Ok(resolved) => Ok(resolved.settings),
        Err(faults) if detached => {
            print_to_stderr(&format!("invalid settings, using defaults: {faults}"));
            Ok(Settings::default())
        }
        Err(faults) => Err(faults.into()),
    }
}

/// One worker may be busy with a large notebook while the other responds. More workers would cost wake-ups
/// with every call; kernel sessions have their own threads.
const WORKERS: usize = 2;

fn first_words(opened: &Result<HostServer, CannotServe>) -> StartupReport {
    match opened {
        Ok(_) => StartupReport::Ready,
        Err(CannotServe::Taken) => StartupReport::Taken,
        Err(CannotServe::NoState { error, .. }) => StartupReport::NoState(error.raw_os_error()),
    }
}

fn refused(error: &CannotServe) -> CliError {
    match error {
        CannotServe::Taken => CliError::input(FailureKind::AlreadyRunning, error.to_string())
            .with_hint("run `cellist status` to show it, `cellist stop` to stop it"),
        CannotServe::NoState { folder, error } => {
            let message = format!("{}: the state folder cannot be used: {}", folder.display(), reason(error));
            CliError::new(FailureKind::NoState, Exit::NotSaved, message)
                .with_hint("set CELLIST_HOME to a writable folder")
        }
    }
}
