//! `notebook_kernel`: returns the state of a kernel, interrupts it or restarts it.

use std::time::Duration;

use cellist_output::notices;
use cellist_platform::clock::now_ms;
use cellist_session::sessions::{Interruption, SessionError, SessionKey, SessionState, SessionView};

use super::{
    CallAccess, CallContext, Field, FieldKind, Input, ReadOnlyForm, Tool, ToolAnswer, ToolFacts, ToolRefusal,
    Toolbox, choice, input,
};
use crate::executions::Execution;
use crate::toolbox::run_status::{in_words, still_running};
use crate::toolbox::runs::given;

/// Time beyond the grace period for the report of the end, also after a kill.
const MARGIN: Duration = Duration::from_secs(3);

/// The kernel that a call names.
struct TargetKernel {
    key: SessionKey,
    /// The display name.
    name: String,
}

input! {
    /// State of a kernel; interrupts (variables stay) or restarts it (variables are lost).
    struct NotebookKernelInput {
        notebook | path: Option<String>,
        session | kernelId: Option<String> = "Instead of a notebook",
        execution: Option<String> = "Only this execution",
        action: KernelAction,
        force: bool = "Kill it if needed",
    }
}

/// An action on a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KernelAction {
    Status,
    Interrupt,
    Restart,
}

choice!(KernelAction: "status" => Status, "interrupt" => Interrupt, "restart" => Restart);

impl Tool for NotebookKernelInput {
    const FACTS: ToolFacts = ToolFacts {
        looking: Some(ReadOnlyForm {
            description: "State of a kernel: running code and its progress.",
            fields: &[
                Self::FIELDS[0],
                Self::FIELDS[1],
                Self::FIELDS[2],
                Field { kind: FieldKind::Choice(&["status"]), ..Self::FIELDS[3] },
            ],
            prompt: "shows the state of the kernel",
        }),
        ..ToolFacts::of_notebooks(
            CallAccess::Look,
            "shows the state of the kernel, interrupts or restarts it",
        )
    };

    fn access(&self) -> CallAccess {
        match self.action {
            KernelAction::Status => CallAccess::Look,
            KernelAction::Interrupt | KernelAction::Restart => CallAccess::Run,
        }
    }

    async fn run(self, toolbox: &Toolbox, call: CallContext<'_>) -> Result<ToolAnswer, ToolRefusal> {
        let NotebookKernelInput { action, force, .. } = self;
        if force && action != KernelAction::Interrupt {
            return Err(ToolRefusal::new("`force` is only for action interrupt"));
        }
        if let Some(name) = &self.execution {
            let execution = toolbox.execution(name)?;
            return match action {
                KernelAction::Interrupt => toolbox.interrupt_execution(&call, &execution, force).await,
                KernelAction::Restart => {
                    let key = execution.session.clone();
                    toolbox.restart(TargetKernel { name: format!("session {}", key.id), key }).await
                }
                KernelAction::Status if execution.is_done() => Ok(ToolAnswer::text(format!(
                    "Execution {} has ended; `wait` returns its result.",
                    execution.id
                ))),
                KernelAction::Status => Ok(still_running(&execution, call.budget(None, None))),
            };
        }
        let target = self.target(toolbox, &call)?;
        match action {
            KernelAction::Interrupt => toolbox.interrupt(&call, target, force).await,
            KernelAction::Restart => toolbox.restart(target).await,
            KernelAction::Status => Ok(ToolAnswer::text(toolbox.status(&target))),
        }
    }
}

impl NotebookKernelInput {
    /// Returns the session of the call: the named one, or that of a notebook.
    fn target(&self, toolbox: &Toolbox, call: &CallContext<'_>) -> Result<TargetKernel, ToolRefusal> {
        if let Some(named) = given(self.session.as_deref()) {
            let key = toolbox.session_named(call, named)?;
            return Ok(TargetKernel { key, name: format!("session {named}") });
        }
        let editor = toolbox.editor();
        let place = toolbox.resolver(call, &editor).notebook(self.notebook.as_deref())?;
        Ok(TargetKernel { key: SessionKey::of_notebook(&place.real), name: place.name })
    }
}

impl Toolbox {
    fn status(&self, target: &TargetKernel) -> String {
        let Some(view) = self.session_view(&target.key) else {
            return match self.sessions.gone(&target.key) {
                Some(why) => format!("{}: no kernel: {why}. The next run starts one.", target.name),
                None => format!("{}: no kernel yet; the next run starts one.", target.name),
            };
        };
        let state = match view.state {
            SessionState::Starting => "starting",
            SessionState::Idle => "idle",
            SessionState::Busy if view.is_stuck => "busy: interrupted, not stopped yet",
            SessionState::Busy => "busy",
            SessionState::Silent => "alive, but does not answer",
            SessionState::Dead => "gone; the next run starts another",
        };
        let mut told = format!("{}: kernel {state} · {}", target.name, view.backend);
        if let Some(python) = &view.python {
            told.push_str(&format!(" {}", python.display()));
        }
        if view.restarts > 0 {
            told.push_str(&format!(" · {} restarts", view.restarts));
        }
        if view.queued > 0 {
            told.push_str(&format!(" · {} queued", view.queued));
        }
        if let Some(left) = left(&view) {
            told.push_str(&format!(" · ends in {left} unless used"));
        }
        for execution in self.executions.running(&target.key) {
            let standing = execution.standing();
            let message = in_words(&standing).unwrap_or(standing.progress.message);
            told.push_str(&format!(
                "\nexecution {} · {} s · {}: {message}",
                execution.id,
                execution.age().as_secs(),
                execution.title
            ));
        }
        told
    }

    /// Returns the grace period for interrupted code in a session.
    async fn grace(&self, call: &CallContext<'_>, key: &SessionKey) -> Result<Duration, ToolRefusal> {
        Ok(self.settings(call.agent, &key.cwd).await?.python.interrupt_grace)
    }

    async fn interrupt_execution(
        &self,
        call: &CallContext<'_>,
        execution: &Execution,
        force: bool,
    ) -> Result<ToolAnswer, ToolRefusal> {
        let id = &execution.id;
        if execution.is_done() {
            return Ok(ToolAnswer::text(format!("Execution {id} has ended already.")));
        }
        let patience = self.grace(call, &execution.session).await? + MARGIN;
        match force {
            true => execution.canceller.force(),
            false => execution.canceller.cancel(),
        }
        match execution.wait(patience, call.news, None).await {
            Some(reply) => {
                // An interrupted run is a success of this call.
                let text = reply.answer(call.budget(None, None), call.agent).await.all_text();
                let text = text.strip_prefix("Error: ").unwrap_or(&text);
                Ok(ToolAnswer::text(format!("Execution {id} was interrupted.\n{text}")))
            }
            None => Err(not_stopped(&format!("execution {id}"), Some(id.as_str()))),
        }
    }

    async fn interrupt(
        &self,
        call: &CallContext<'_>,
        target: TargetKernel,
        force: bool,
    ) -> Result<ToolAnswer, ToolRefusal> {
        let TargetKernel { key, name } = target;
        let running = match self.sessions.running(&key) {
            Ok(running) => running,
            Err(SessionError::NoSuchSession { .. }) => {
                return Ok(ToolAnswer::text(format!("{name}: nothing is running; there is no kernel.")));
            }
            Err(error) => return Err(ToolRefusal::advised(format_args!("{name}: {error}"), error.hint())),
        };
        // Executions of tools have their own names, which `wait` knows.
        let named = self.executions.running(&key).first().cloned();
        let interruption = match (&running, &named) {
            (Some(ticket), _) => ticket.interrupt(force).await,
            // The run has begun, but its code is not running yet or is between two cells.
            (None, Some(next)) => return self.interrupt_execution(call, next, force).await,
            (None, None) => Interruption::NothingRan,
        };
        match interruption {
            Interruption::NothingRan => Ok(ToolAnswer::text(format!("{name}: nothing is running."))),
            Interruption::Kept => {
                Ok(ToolAnswer::text(format!("{name}: interrupted; the kernel's state was kept.")))
            }
            Interruption::Lost => Ok(ToolAnswer::text(format!(
                "{name}: stopped; the kernel was killed, and its state is lost."
            ))),
            Interruption::NotStopped(_) => Err(not_stopped(&name, named.as_ref().map(|run| run.id.as_str()))),
        }
    }

    async fn restart(&self, target: TargetKernel) -> Result<ToolAnswer, ToolRefusal> {
        let TargetKernel { key, name } = target;
        Ok(ToolAnswer::text(match self.restart_kernel(&key, &name).await? {
            true => format!("{name}: the kernel was restarted; its variables and imports are gone."),
            false => format!("{name}: no kernel yet; the next run starts one."),
        }))
    }

    /// Restarts the kernel of a session. Returns `false` if there was none. `name` is for errors.
    pub(crate) async fn restart_kernel(&self, key: &SessionKey, name: &str) -> Result<bool, ToolRefusal> {
        match self.sessions.restart(key).await {
            Ok(()) => Ok(true),
            Err(SessionError::NoSuchSession { .. }) => Ok(false),
            Err(error) => Err(ToolRefusal::advised(format_args!("{name}: {error}"), error.hint())),
        }
    }
}

/// Returns the time until an unused session ends.
fn left(view: &SessionView) -> Option<String> {
    let left = view.ends_ms?.saturating_sub(now_ms()).div_ceil(1000);
    Some(match left {
        0..120 => format!("{left} s"),
        _ => format!("{} min", left / 60),
    })
}

/// Refuses: the code did not stop within the grace period.
fn not_stopped(name: &str, execution: Option<&str>) -> ToolRefusal {
    let running = match execution {
        Some(execution) => notices::not_stopped(execution),
        None => "Not stopped yet: still running.".to_owned(),
    };
    let state = notices::state_unknown();
    ToolRefusal::new(format_args!(
        "{name} was interrupted. {running} {state}\nInterrupt again, or kill the kernel with `force: true` or action \
         restart, which loses its variables."
    ))
}
