//! `cellist exec --session`: code in a session that is there for the next command too.

use std::path::Path;

use cellist_host::{Call, Event, HostClient, Named, Reply, Request};
use cellist_kernel::order::Order;
use cellist_platform::Variables;
use cellist_session::execution::{Limit, OnStuck};
use cellist_session::orders::Job;
use cellist_session::run::{Cancel, KernelReport, Observer};
use cellist_session::sessions::{CallReport, CallView, Code, Kind, Stage};
use cellist_settings::Settings;
use serde_json::json;

use super::{Arguments, View, answer, real, working_folder};
use crate::answer::{Answer, Format, print_aside};
use crate::error::{CliError, Exit, FailureKind};
use crate::host::{self, Reach};
use crate::interrupts;
use crate::progress::Progress;
use crate::startup::Stages;

/// Runs code in the session of this name.
pub(super) fn run(arguments: &Arguments, id: &str, code: String, format: Format) -> Result<Answer, CliError> {
    let named = match &arguments.cwd {
        Some(_) => Some(real(&working_folder(arguments.cwd.as_deref())?)),
        None => None,
    };
    let here = match &named {
        Some(named) => named.clone(),
        None => working_folder(None)?,
    };
    let settings = arguments.flags.settings(&here)?.settings;
    let view = View::new(&settings, format);
    let call = Call {
        session: Named { id: id.to_owned(), cwd: named },
        here,
        order: None,
        is_particular: arguments.particular.is_given() || arguments.flags.are_given(),
        kind: Kind::Tool,
        is_owned: false,
        cells: vec![Code { code, ..Code::default() }],
        limit: match arguments.timeout {
            Some(_) => Limit::Given(arguments.timeout()),
            None => Limit::Usual(arguments.timeout()),
        },
        grace: settings.python.interrupt_grace,
        on_stuck: on_stuck(arguments.standalone, &settings),
        soft_wait: settings.run.soft_wait,
        reset: arguments.reset,
        retry: settings.python.retry_on_crash,
        mode: settings.python.kernel_mode,
        reading: view.reading,
        rights: None,
        is_watched: view.is_live,
    };
    let report = host::wait(async {
        let (canceller, mut cancel) = Cancel::channel();
        interrupts::hand_on_stops(&canceller);
        let reach = tokio::select! {
            reach = Reach::open(arguments.standalone, &settings) => reach?,
            () = cancel.asked() => return Err(CliError::interrupted()),
        };
        let report = carry_out(reach.client(), arguments, call, &mut cancel, &view).await;
        reach.close().await;
        report
    })?;
    told(report, format)
}

/// A session that ends with the command has no state to lose.
fn on_stuck(is_standalone: bool, settings: &Settings) -> Option<OnStuck> {
    settings.python.on_stuck.or(is_standalone.then_some(OnStuck::Kill))
}

/// Asks; where the host says that it needs to know how to start a kernel, finds that out and asks again.
async fn carry_out(
    client: &HostClient,
    arguments: &Arguments,
    mut call: Call,
    cancel: &mut Cancel,
    view: &View,
) -> Result<CallReport, CliError> {
    let mut progress = view.progress(&call.cells[0].code);
    let _waiting = view.waiting(&call.cells[0].code);
    let report = loop {
        let reply = ask(client, Request::Call(Box::new(call.clone())), cancel, &mut progress).await;
        match reply {
            Ok(Reply::Called(report)) => break Ok(*report),
            Ok(Reply::Unordered { cwd }) if call.order.is_none() => {
                let ordered = tokio::select! {
                    ordered = order(arguments, &cwd) => ordered,
                    () = cancel.asked() => Err(CliError::interrupted()),
                };
                match ordered {
                    Ok(order) => call.order = Some(order),
                    Err(error) => break Err(error),
                }
            }
            Ok(other) => break Err(host::unexpected(&other)),
            Err(error) => break Err(error),
        }
    };
    progress.end();
    report
}

async fn ask(
    client: &HostClient,
    request: Request,
    cancel: &mut Cancel,
    progress: &mut Progress,
) -> Result<Reply, CliError> {
    let pending = client.begin(request);
    let (stop, mut events) = (pending.stop(), pending.events());
    let done = pending.done();
    tokio::pin!(done);
    let (mut is_heard, mut is_unwanted) = (true, false);
    loop {
        tokio::select! {
            biased;
            reply = &mut done => {
                return match reply? {
                    // What was asked to stop is not asked again.
                    Reply::Unordered { .. } if is_unwanted => Err(CliError::interrupted()),
                    reply => Ok(reply),
                };
            }
            () = cancel.asked() => {
                is_unwanted = true;
                stop.stop();
            }
            news = events.changed(), if is_heard => match news {
                Ok(()) => {
                    if let Some(Event::Call(view)) = &*events.borrow_and_update() {
                        show(progress, view);
                    }
                }
                Err(_) => is_heard = false,
            },
        }
    }
}

/// Finds out how to start the kernel of a session in this folder.
async fn order(arguments: &Arguments, cwd: &Path) -> Result<Order, CliError> {
    let mut stages = Stages::new(&Variables::of_process());
    let settings = arguments.flags.settings(cwd)?;
    let (cwd, kernel) = (cwd.to_owned(), arguments.particular.kernel.clone());
    let running = arguments.particular.running();
    let job = Job { folders: vec![cwd.clone()], cwd, kernel, running, ..Job::default() };
    arguments.flags.order(&settings, job, &mut stages).await
}

fn show(progress: &mut Progress, view: &CallView) {
    let text = match view.stage {
        Stage::Queued { before: 0, .. } | Stage::Ended => return,
        Stage::Queued { before: 1, .. } => "waits for another call in this session".into(),
        Stage::Queued { before, .. } => format!("waits for {before} other calls in this session"),
        Stage::Starting => "the kernel starts".into(),
        Stage::Running { .. } => view.text.clone(),
    };
    progress.shows(text, view.bar.as_ref());
}

fn told(mut report: CallReport, format: Format) -> Result<Answer, CliError> {
    if report.cells.is_empty() {
        let why = report.notices.pop().unwrap_or_else(|| "nothing ran".into());
        return Err(CliError::new(FailureKind::Interrupted, Exit::Interrupted, why));
    }
    let cell = report.cells.swap_remove(0).report;
    if format == Format::People {
        print_aside(&format!("[{} · session {}]", on_what(&cell.kernel), report.session.id));
    }
    let mut answer = answer(cell, report.notices);
    answer.json["session"] = json!({
        "id": report.session.id,
        "cwd": report.session.cwd.to_string_lossy(),
    });
    answer.json["execution"] = json!(report.execution);
    Ok(answer)
}

pub(crate) fn on_what(kernel: &KernelReport) -> String {
    match &kernel.python {
        Some(python) => format!("{} · {}", kernel.backend, python.display()),
        None => kernel.backend.to_string(),
    }
}
