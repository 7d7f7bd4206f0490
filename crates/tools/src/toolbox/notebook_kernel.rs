//! `notebook_kernel`: what a kernel does now, stopping what it runs, and giving its session a new one.

use std::time::{Duration, UNIX_EPOCH};

use cellist_output::notices;
use cellist_session::sessions::{Interruption, SessionError, SessionKey, SessionState, SessionView};

use super::ongoing::{goes_on, in_words};
use super::runs::failure;
use super::{Call, Toolbox};
use crate::answer::Answer;
use crate::executions::{Execution, Waited};
use crate::result::Budget;

/// The time beyond the grace that a kernel may take to report its end, also when it is killed.
const MARGIN: Duration = Duration::from_secs(3);

/// Whose kernel is meant.
struct Meant {
    key: SessionKey,
    /// What to call it.
    name: String,
}

impl Toolbox {
    pub(super) async fn notebook_kernel(&self, call: Call<'_>) -> Result<Answer, Answer> {
        let action = call.arguments.text("action").unwrap_or("status");
        let force = call.arguments.flag("force");
        if force && action != "interrupt" {
            return Err(Answer::failure("`force` belongs to action interrupt: leave it out, or interrupt"));
        }
        if let Some(name) = call.arguments.text("execution") {
            let execution = self.execution(name)?;
            return match action {
                "interrupt" => self.interrupt_execution(&call, &execution, force).await,
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
            "interrupt" => self.interrupt(&call, meant, force).await,
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
            return match self.sessions.gone(&meant.key) {
                Some(why) => format!("{}: no kernel: {why}. The next run starts one.", meant.name),
                None => format!("{}: no kernel yet; the next run starts one.", meant.name),
            };
        };
        let state = match view.state {
            SessionState::Starting => "starting",
            SessionState::Idle => "idle",
            SessionState::Busy if view.is_stuck => "busy: it was interrupted and has not stopped",
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
        if let Some(left) = left(&view) {
            told.push_str(&format!(" · ends in {left} if nobody uses it"));
        }
        for execution in self.executions.running(&meant.key) {
            let standing = execution.standing();
            let message = in_words(&standing).unwrap_or(standing.progress.message);
            told.push_str(&format!(
                "\nexecution {} · {} s · {}: {message}",
                execution.id(),
                execution.age().as_secs(),
                execution.title()
            ));
        }
        told
    }

    /// How long interrupted code may take in a session before it is told as not stopped.
    async fn grace(&self, call: &Call<'_>, key: &SessionKey) -> Result<Duration, Answer> {
        Ok(self.settings(call.caller(), &key.cwd).await?.python.interrupt_grace)
    }

    async fn interrupt_execution(
        &self,
        call: &Call<'_>,
        execution: &Execution,
        force: bool,
    ) -> Result<Answer, Answer> {
        let id = execution.id();
        if execution.is_done() {
            return Ok(Answer::text(format!("Execution {id} has ended already.")));
        }
        let patience = self.grace(call, execution.session()).await? + MARGIN;
        match force {
            true => execution.canceller().force(),
            false => execution.canceller().cancel(),
        }
        match execution.wait(patience, call.news, None).await {
            Waited::Ended(reply) => {
                // That it was stopped is what was wanted, and no failure of this call.
                let text = reply.answer(Budget::of(call.arguments), call.agent).await.all_text();
                let text = text.strip_prefix("Error: ").unwrap_or(&text);
                Ok(Answer::text(format!("Execution {id} was interrupted.\n{text}")))
            }
            Waited::Running => Err(not_stopped(&format!("execution {id}"), Some(id.as_str()))),
        }
    }

    async fn interrupt(&self, call: &Call<'_>, meant: Meant, force: bool) -> Result<Answer, Answer> {
        let Meant { key, name } = meant;
        let running = match self.sessions.running(&key) {
            Ok(running) => running,
            Err(SessionError::NoSuchSession { .. }) => {
                return Ok(Answer::text(format!("{name}: nothing runs; there is no kernel.")));
            }
            Err(error) => return Err(failure(&format_args!("{name}: {error}"), error.hint())),
        };
        // Executions of tools have names of their own, which `wait` knows.
        let named = self.executions.running(&key).first().cloned();
        let interruption = match (&running, &named) {
            (Some(ticket), _) => ticket.interrupt(force).await,
            // It has its name, and its code does not run yet, or is between two cells.
            (None, Some(next)) => return self.interrupt_execution(call, next, force).await,
            (None, None) => Interruption::NothingRan,
        };
        match interruption {
            Interruption::NothingRan => Ok(Answer::text(format!("{name}: nothing runs."))),
            Interruption::Kept => {
                Ok(Answer::text(format!("{name}: interrupted; the kernel's state was kept.")))
            }
            Interruption::Lost => Ok(Answer::text(format!(
                "{name}: stopped; the kernel had to be ended, and its state was lost."
            ))),
            Interruption::NotStopped(_) => {
                Err(not_stopped(&name, named.as_ref().map(|run| run.id().as_str())))
            }
        }
    }

    async fn restart(&self, meant: Meant) -> Result<Answer, Answer> {
        let Meant { key, name } = meant;
        Ok(Answer::text(match self.restart_kernel(&key, &name).await? {
            true => format!("{name}: the kernel was restarted; its variables and imports are gone."),
            false => format!("{name}: no kernel yet; the next run starts one."),
        }))
    }

    /// Gives a session a new kernel. `false` where it had none; `name` is its name in errors.
    pub(super) async fn restart_kernel(&self, key: &SessionKey, name: &str) -> Result<bool, Answer> {
        match self.sessions.restart(key).await {
            Ok(()) => Ok(true),
            Err(SessionError::NoSuchSession { .. }) => Ok(false),
            Err(error) => Err(failure(&format_args!("{name}: {error}"), error.hint())),
        }
    }
}

/// How long an idle session stays if nobody uses it.
fn left(view: &SessionView) -> Option<String> {
    let now = UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
    let left = u128::from(view.ends_ms?).saturating_sub(now).div_ceil(1000);
    Some(match left {
        0..120 => format!("{left} s"),
        _ => format!("{} min", left / 60),
    })
}

/// An interrupt that the code has not followed within the grace.
fn not_stopped(name: &str, execution: Option<&str>) -> Answer {
    let running = match execution {
        Some(execution) => notices::not_stopped(execution),
        None => "Not stopped yet: still running.".to_owned(),
    };
    let state = notices::state_unknown();
    Answer::failure(format_args!(
        "{name} was interrupted. {running} {state}\nInterrupt again to ask once more; `force: true` or action restart kills \
         the kernel, which loses its variables."
    ))
}
