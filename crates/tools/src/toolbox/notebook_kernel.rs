//! `notebook_kernel`: what a kernel does now, stopping what it runs, and giving its session a new one.

use std::time::Duration;

use cellist_session::sessions::{SessionError, SessionKey, SessionState, SessionView};

use super::runs::{failure, goes_on};
use super::{Call, Toolbox};
use crate::answer::Answer;
use crate::executions::{Execution, Waited};
use crate::result::Budget;

/// How long to wait until what was interrupted has stopped, beyond which that is said.
const STOPPING: Duration = Duration::from_secs(10);
/// How often a kernel is looked at that is to stop.
const LOOK: Duration = Duration::from_millis(20);

/// Whose kernel is meant.
struct Meant {
    key: SessionKey,
    /// What to call it.
    name: String,
}

impl Toolbox {
    pub(super) async fn notebook_kernel(&self, call: Call<'_>) -> Result<Answer, Answer> {
        let action = call.arguments.text("action").unwrap_or("status");
        if let Some(name) = call.arguments.text("execution") {
            let execution = self.execution(name)?;
            return match action {
                "interrupt" => Ok(self.interrupt_execution(&call, &execution).await),
                "restart" => {
                    let key = execution.session().clone();
                    self.restart(Meant { name: format!("session {}", key.id), key }).await
                }
                _ if execution.is_done() => Ok(Answer::text(format!(
                    "Execution {} has ended; `wait` with it tells how.",
                    execution.id()
                ))),
                _ => Ok(goes_on(&execution, Budget::of(call.arguments))),
            };
        }
        let meant = self.meant(&call)?;
        match action {
            "interrupt" => self.interrupt(&call, meant).await,
            "restart" => self.restart(meant).await,
            _ => Ok(Answer::text(self.status(&meant))),
        }
    }

    /// The session that a call means: one that it names, or that of a notebook.
    fn meant(&self, call: &Call<'_>) -> Result<Meant, Answer> {
        let named = call.arguments.text("session").map(str::trim).filter(|name| !name.is_empty());
        if let Some(named) = named {
            let key = match self.sessions.find(named, None) {
                Ok(key) => key,
                Err(SessionError::NoSuchSession { .. }) => {
                    SessionKey::new(named, call.caller().cwd.as_path())
                }
                Err(error) => return Err(failure(&error, None)),
            };
            return Ok(Meant { key, name: format!("session {named}") });
        }
        let editor = self.editor();
        let place = self.sight(call, &editor).notebook(call.arguments.text("notebook"))?;
        Ok(Meant { key: SessionKey::of_notebook(&place.real), name: place.name })
    }

    fn view(&self, key: &SessionKey) -> Option<SessionView> {
        self.sessions.list().into_iter().find(|view| view.id == key.id && view.cwd == key.cwd)
    }

    fn status(&self, meant: &Meant) -> String {
        let Some(view) = self.view(&meant.key) else {
            return format!("{}: no kernel yet; the next run starts one.", meant.name);
        };
        let state = match view.state {
            SessionState::Starting => "starting",
            SessionState::Idle => "idle",
            SessionState::Busy => "busy",
            SessionState::Silent => "alive, but does not answer",
            SessionState::Dead => "gone; the next run starts another",
        };
        let mut told = format!("{}: kernel {state} · {}", meant.name, view.backend);
        if let Some(python) = &view.python {
            told.push_str(&format!(" {}", python.display()));
        }
        if view.restarts > 0 {
            told.push_str(&format!(" · {} restarts", view.restarts));
        }
        if view.queued > 0 {
            told.push_str(&format!(" · {} waiting", view.queued));
        }
        for execution in self.executions.running(&meant.key) {
            let message = execution.standing().progress.message;
            told.push_str(&format!(
                "\nexecution {} · {} s · {}: {message}",
                execution.id(),
                execution.age().as_secs(),
                execution.what()
            ));
        }
        told
    }

    async fn interrupt_execution(&self, call: &Call<'_>, execution: &Execution) -> Answer {
        if execution.is_done() {
            return Answer::text(format!("Execution {} has ended already.", execution.id()));
        }
        execution.canceller().cancel();
        match execution.wait(STOPPING, call.news, None).await {
            Waited::Ended(answer) => {
                // That it was stopped is what was wanted, and no failure of this call.
                let text = answer.all_text();
                let text = text.strip_prefix("Error: ").unwrap_or(&text);
                Answer::text(format!("Execution {} was interrupted.\n{text}", execution.id()))
            }
            Waited::Running => Answer::failure(format_args!(
                "execution {} was interrupted and has not stopped yet; interrupt it again to end its kernel, which loses its \
                 variables",
                execution.id()
            )),
        }
    }

    async fn interrupt(&self, call: &Call<'_>, meant: Meant) -> Result<Answer, Answer> {
        let Meant { key, name } = meant;
        let was = self.view(&key).and_then(|view| view.kernel_id);
        let interrupted = self.sessions.interrupt(&key);
        if !matches!(interrupted, Ok(true))
            && let Some(next) = self.executions.running(&key).first()
        {
            // It has its name, and its code does not run yet, or is between two cells.
            return Ok(self.interrupt_execution(call, next).await);
        }
        match interrupted {
            Ok(true) => {}
            Ok(false) => return Ok(Answer::text(format!("{name}: nothing runs."))),
            Err(SessionError::NoSuchSession { .. }) => {
                return Ok(Answer::text(format!("{name}: nothing runs; there is no kernel.")));
            }
            Err(error) => return Err(failure(&format_args!("{name}: {error}"), error.hint())),
        }
        let has_stopped = async {
            loop {
                match self.view(&key) {
                    Some(view) if view.state == SessionState::Busy => tokio::time::sleep(LOOK).await,
                    other => return other,
                }
            }
        };
        match tokio::time::timeout(STOPPING, has_stopped).await {
            Ok(Some(view)) if view.kernel_id == was => {
                Ok(Answer::text(format!("{name}: interrupted; the kernel's state was kept.")))
            }
            Ok(_) => Ok(Answer::text(format!(
                "{name}: stopped; the kernel had to be ended, and its state was lost."
            ))),
            Err(_) => Err(Answer::failure(format_args!(
                "{name}: was interrupted and has not stopped yet; interrupt again to end the kernel, which loses its variables"
            ))),
        }
    }

    async fn restart(&self, meant: Meant) -> Result<Answer, Answer> {
        let Meant { key, name } = meant;
        Ok(Answer::text(match self.restart_kernel(&key, &name).await? {
            true => format!("{name}: the kernel was restarted; its variables and imports are gone."),
            false => format!("{name}: no kernel yet; the next run starts one."),
        }))
    }

    /// Gives a session a new kernel. `false` where it had none; `name` is what an error calls it.
    pub(super) async fn restart_kernel(&self, key: &SessionKey, name: &str) -> Result<bool, Answer> {
        let notebook = self.view(key).and_then(|view| view.notebook);
        match self.sessions.restart(key).await {
            Ok(()) => {}
            Err(SessionError::NoSuchSession { .. }) => return Ok(false),
            Err(error) => return Err(failure(&format_args!("{name}: {error}"), error.hint())),
        }
        let open = self.documents.list().into_iter().find(|open| notebook.as_deref() == Some(open.path()));
        if let Some(document) = open {
            // One that was closed meanwhile learns it when it is opened.
            let _ = document.lose_kernel().await;
        }
        Ok(true)
    }
}
