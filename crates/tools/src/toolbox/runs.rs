//! What all tools that run code have in common: in which session and by which order, how long their caller waits, and what
//! is told of a run that goes on.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cellist_output::notices;
use cellist_session::aside::aside;
use cellist_session::execution::{KernelReport, Limit, Status};
use cellist_session::order::Order;
use cellist_session::orders::{self, CannotOrder, Job, Wanted};
use cellist_session::sessions::{
    Call as SessionCall, CallReport, CallView, Code, ExecutionId, Kind, OwnerId, Principal, SessionError,
    SessionKey, Stage, StopView, Ticket,
};
use cellist_session::settings::Settings;

use super::{Call, Toolbox};
use crate::answer::{Answer, Progress};
use crate::caller::Caller;
use crate::executions::{Execution, Inside, Standing, Waited};
use crate::result::{self, Budget, Reply};

/// How many kernels are remembered as told of.
const KERNELS: usize = 1000;
/// The longest that a call waits before it hands a run over, whatever it asks for.
const LONGEST_WAIT: f64 = 3600.0;
/// How long a call that is refused as busy may take to leave its queue.
const GIVING_UP: Duration = Duration::from_secs(2);

/// What was told already, the newest last: kernels by their ids.
#[derive(Debug, Default)]
pub(super) struct Introduced(Mutex<VecDeque<String>>);

impl Introduced {
    /// The interpreter of a kernel, where nothing was told of it yet.
    pub(super) fn line(&self, kernel_id: &str, kernel: &KernelReport) -> Option<String> {
        if self.is_new(kernel_id) { result::introduced(kernel) } else { None }
    }

    fn is_new(&self, name: &str) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.iter().any(|known| known == name) {
            return false;
        }
        if known.len() >= KERNELS {
            known.pop_front();
        }
        known.push_back(name.to_owned());
        true
    }

    /// What is told to an agent once.
    pub(super) fn once(&self, owner: &OwnerId, what: &str) -> Option<String> {
        self.is_new(&format!("{owner} {what}")).then(|| what.to_owned())
    }
}

/// A run that is about to begin.
pub(super) struct Plan {
    /// The running code, in a few words.
    pub(super) title: String,
    pub(super) session: SessionKey,
    pub(super) settings: Settings,
    pub(super) budget: Budget,
    /// Changes made before the run, for a caller that does not wait until its end.
    pub(super) said: Vec<String>,
}

impl Toolbox {
    /// The settings that hold in a folder for whoever calls.
    pub(super) async fn settings(&self, caller: &Caller, folder: &Path) -> Result<Settings, Answer> {
        let (asker, home) = (caller.asker.clone(), self.documents.store().home().clone());
        let folder = folder.to_owned();
        let resolved = aside(move || asker.settings(&home, &folder)).await;
        match resolved {
            Ok(Ok(resolved)) => Ok(resolved.settings),
            Ok(Err(faults)) => Err(Answer::failure(faults)),
            Err(_) => Err(Answer::failure("the settings could not be read")),
        }
    }

    /// The order for the kernel of a session: the one that it has, or a new one.
    pub(super) async fn order(
        &self,
        caller: &Caller,
        key: &SessionKey,
        wanted: Wanted,
        is_fresh: bool,
    ) -> Result<Order, CannotOrder> {
        if let Some(order) = self.sessions.order(key).filter(|_| !is_fresh) {
            return Ok(order);
        }
        let folders = vec![key.cwd.clone(), caller.cwd.clone()];
        let job = Job { cwd: key.cwd.clone(), folders, kernel: None, wanted, running: None };
        Ok(orders::write(&caller.asker, self.documents.store().home(), job).await?.order)
    }

    /// The session that a call of `python` or `eval` is about: the one that it names, else the caller's own.
    pub(super) fn session_of(&self, call: &Call<'_>) -> Result<SessionKey, Answer> {
        let caller = call.caller();
        let cwd = call.arguments.text("cwd").map(|folder| folder_at(&caller.cwd, folder)).transpose()?;
        let named = call.arguments.text("session").map(str::trim).filter(|name| !name.is_empty());
        let Some(named) = named else {
            let own = SessionKey::new(caller.session.as_str(), cwd.unwrap_or_else(|| caller.cwd.clone()));
            return match call.agent.within() {
                Some(within) if within.id == own.id => Err(busy(within)),
                Some(_) | None => Ok(own),
            };
        };
        let key = match self.sessions.find(named, cwd.as_deref()) {
            Ok(key) => key,
            Err(SessionError::NoSuchSession { .. }) => {
                SessionKey::new(named, cwd.unwrap_or_else(|| caller.cwd.clone()))
            }
            Err(error) => {
                return Err(failure(&error, Some("name its folder too, with `cwd`".to_owned())));
            }
        };
        not_within(call, key)
    }

    /// Begins a run and waits for it as long as the call wants; then it goes on under its name.
    pub(super) async fn begin<F>(
        &self,
        mut call: Call<'_>,
        plan: Plan,
        run: impl FnOnce(Inside) -> F,
    ) -> Answer
    where
        F: Future<Output = Reply> + Send + 'static,
    {
        let Plan { title, session, settings, budget, said } = plan;
        let asked = call.arguments.seconds("soft_wait");
        let patience = asked.map_or(settings.run.soft_wait, seconds);
        let execution = self.executions.begin(title, session, call.agent.turn_name(), run);
        match execution.wait(patience, call.news, Some(&mut call.cancel)).await {
            Waited::Ended(reply) => reply.answer(budget, call.agent).await,
            Waited::Running if execution.standing().behind.is_some() => {
                // Refused as busy, unless its turn has come at this moment.
                execution.canceller().withdraw();
                match execution.wait(GIVING_UP, call.news, None).await {
                    Waited::Ended(reply) => reply.answer(budget, call.agent).await,
                    Waited::Running => handed_over(&execution, &said, budget),
                }
            }
            Waited::Running => handed_over(&execution, &said, budget),
        }
    }

    /// Runs code in a session, for a run that has a name.
    pub(super) async fn run_code(
        &self,
        call: SessionCall,
        inside: &mut Inside,
        label: Option<&str>,
    ) -> Result<CallReport, Answer> {
        let (key, owner) = (call.key.clone(), call.owner.clone());
        // Kept until it was idle for long, and as long as whoever calls is there.
        let ticket = self.sessions.call(SessionCall { owner: None, ..call });
        if let Some(owner) = &owner {
            // A session that ended meanwhile needs nobody.
            let _ = self.sessions.attach(owner, &key);
        }
        follow(&ticket, inside, label).await.map_err(|error| {
            let error = self.as_told(error);
            failure(&error, error.hint())
        })
    }

    /// An error with the name under which agents know the execution that it is about.
    fn as_told(&self, error: SessionError) -> SessionError {
        match error {
            SessionError::Busy { id, execution } => {
                let known = self.executions.find(&execution.to_string());
                SessionError::Busy { id, execution: known.map_or(execution, |known| known.id().clone()) }
            }
            error => error,
        }
    }

    /// A run by its name. One that a page or a command began in a session is known by the name that the session has for it.
    pub(super) fn execution(&self, name: &str) -> Result<Execution, Answer> {
        if let Some(execution) = self.executions.find(name) {
            return Ok(execution);
        }
        let Some(ticket) = self.sessions.execution(&ExecutionId::named(name)) else {
            return Err(Answer::failure(format_args!(
                "there is no execution {}: only those that run and the last that ended are known",
                result::short(name, 60)
            )));
        };
        let (id, session) = (ticket.id().clone(), ticket.session().clone());
        let title = format!("code in session {}", session.id);
        let run = |mut inside| async move {
            match follow(&ticket, &mut inside, None).await {
                Ok(report) => ended(report).into(),
                Err(error) => failure(&error, error.hint()).into(),
            }
        };
        Ok(self.executions.begin_as(id, title, session, String::new(), run))
    }
}

/// Follows a call of a session to its end, passes wishes on and tells how far it is.
async fn follow(
    ticket: &Ticket,
    inside: &mut Inside,
    label: Option<&str>,
) -> Result<CallReport, SessionError> {
    let (mut view, done) = (ticket.watch(), ticket.done());
    tokio::pin!(done);
    let mut is_open = true;
    let mut is_awaited = true;
    loop {
        tokio::select! {
            biased;
            outcome = &mut done => return outcome,
            wish = inside.cancel.wish() => ticket.canceller().pass_on(wish),
            handed = inside.handed_over.wait_for(|handed| *handed), if is_awaited => {
                is_awaited = false;
                if handed.is_ok() {
                    ticket.canceller().hand_over();
                }
            }
            changed = view.changed(), if is_open => {
                is_open = changed.is_ok();
                let standing = standing(&view.borrow_and_update(), label);
                inside.standing.send_replace(standing);
            }
        }
    }
}

/// The answer about a call that another front end made.
fn ended(report: CallReport) -> Answer {
    let texts = report.cells.iter().map(|cell| cell.report.text.as_str());
    let text = texts.chain(report.notices.iter().map(String::as_str)).collect::<Vec<_>>().join("\n");
    match report.status {
        Status::Ok => Answer::text(text),
        Status::Error | Status::Timeout | Status::Cancelled => Answer::failure(text),
    }
}

/// A session to run code in, unless it is the one whose code asks for that: it would wait for itself.
pub(super) fn not_within(call: &Call<'_>, key: SessionKey) -> Result<SessionKey, Answer> {
    match call.agent.within() {
        Some(within) if *within == key => Err(busy(within)),
        Some(_) | None => Ok(key),
    }
}

fn busy(session: &SessionKey) -> Answer {
    let what = format_args!("session {} is busy: it runs the code that makes this call", session.id);
    failure(&what, Some("run the code right here, or name another `session`".to_owned()))
}

/// A call that runs code in a session of tools, with all that is usual.
pub(super) fn session_call(
    call: &Call<'_>,
    key: SessionKey,
    order: Order,
    cells: Vec<Code>,
    settings: &Settings,
) -> SessionCall {
    SessionCall {
        key,
        kind: Kind::Tool,
        owner: Some(call.agent.owner().clone()),
        order,
        cells,
        limit: Limit::None,
        grace: settings.python.interrupt_grace,
        on_stuck: settings.python.on_stuck,
        reset: false,
        retry: settings.python.retry_on_crash,
        mode: settings.python.kernel_mode,
        reading: Budget::of(call.arguments).reading(),
        rights: Some(call.caller().mode.as_str().to_owned()),
        caller: Some(Arc::clone(call.agent) as Principal),
        listener: None,
    }
}

/// How long the code of a call may take: from 1 to 600 seconds, and 30 while its caller waits.
pub(super) fn call_limit(call: &Call<'_>) -> Limit {
    match call.arguments.seconds("timeout") {
        Some(timeout) => Limit::Given(Duration::from_secs_f64(timeout.clamp(1.0, 600.0))),
        None => Limit::Usual(Duration::from_secs(30)),
    }
}

/// Lets a run go on without its caller. The answer says so, and lists the changes made before the run. A run that was
/// to stop and did not is a failure of the call.
fn handed_over(execution: &Execution, said: &[String], budget: Budget) -> Answer {
    execution.hand_over();
    let told = goes_on(execution, budget).all_text();
    let lines = |lines: &[&[String]]| lines.concat().join("\n");
    match execution.standing().is_overdue() {
        true => Answer::failure(lines(&[&[told], said])),
        false => Answer::text(lines(&[said, &[told]])),
    }
}

/// What is told of a run that goes on.
pub(super) fn goes_on(execution: &Execution, budget: Budget) -> Answer {
    let standing = execution.standing();
    let (id, age, title) = (execution.id(), execution.age().as_secs(), execution.title());
    let mut told = match standing.stopping {
        Some(StopView { is_overdue: true, timeout_s }) => {
            let why = match timeout_s {
                Some(seconds) => notices::timed_out(seconds),
                None => "Execution was interrupted".to_owned(),
            };
            let (not_stopped, state) = (notices::not_stopped(id.as_str()), notices::state_unknown());
            format!("{why}\n{not_stopped} {state}\n{title}, {age} s.")
        }
        _ => format!("Still running as execution {id} after {age} s: {title}."),
    };
    if let Some(progress) = in_words(&standing) {
        told.push_str(&format!(" {progress}."));
    }
    let Standing { text, .. } = &standing;
    let how = match standing.is_overdue() {
        true => format!(
            "`wait` with execution {id} waits for its end; `notebook_kernel` with it and action interrupt asks again, and with \
             `force` kills the kernel if it does not stop, which loses its variables."
        ),
        false => format!(
            "`wait` with execution {id} waits for its end; `notebook_kernel` with it and action interrupt stops it."
        ),
    };
    let room = budget.bytes().saturating_sub(told.len() + how.len() + 2 * notices::GAP.len());
    let text = result::fit(text.trim_end(), room);
    if !text.is_empty() {
        told.push_str(&format!("\n{text}"));
    }
    Answer::text(format!("{told}\n{how}"))
}

/// The progress of a run, unless its output shows it.
pub(super) fn in_words(standing: &Standing) -> Option<String> {
    let Progress { message, done, total } = &standing.progress;
    match (done, total) {
        (Some(done), Some(total)) => Some(format!("{message} {done}/{total}")),
        (Some(done), None) => Some(format!("{message} {done}")),
        (None, _) if standing.text.trim().is_empty() => Some(message.clone()),
        (None, _) => None,
    }
}

/// How a call in a session stands, for whoever waits for it.
pub(super) fn standing(view: &CallView, label: Option<&str>) -> Standing {
    const LONGEST: usize = 160;
    let last =
        || view.text.lines().rev().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('['));
    let bar = view.bar.as_ref();
    let message = match &view.stage {
        Stage::Queued { behind: Some(execution), .. } => {
            format!("waiting for execution {execution}, which was interrupted and has not stopped")
        }
        Stage::Queued { before: 0, .. } | Stage::Starting => "starting the kernel".to_owned(),
        Stage::Queued { before, .. } => format!("waiting for {before} before it in the session"),
        Stage::Running { cell, count } => {
            let said = bar.map(|bar| bar.label.as_str()).filter(|label| !label.is_empty());
            let said = result::short(said.or_else(last).unwrap_or("running"), LONGEST);
            match count {
                0 | 1 => said,
                _ => format!("cell {} of {count}: {said}", cell + 1),
            }
        }
        Stage::Ended => "ended".to_owned(),
    };
    let message = match label {
        Some(label) => format!("{label}: {message}"),
        None => message,
    };
    let (done, total) = (bar.map(|bar| bar.done), bar.and_then(|bar| bar.total));
    Standing {
        progress: Progress { message, done, total },
        text: view.text.clone(),
        stopping: view.stopping,
        behind: view.behind().cloned(),
        call: Some(view.execution.clone()),
    }
}

/// A folder to run in.
pub(super) fn folder_at(cwd: &Path, named: &str) -> Result<PathBuf, Answer> {
    let folder = cwd.join(named.trim());
    match folder.canonicalize() {
        Ok(real) if real.is_dir() => Ok(real),
        Ok(_) => Err(Answer::failure(format_args!("{}: is not a folder", folder.display()))),
        Err(_) => Err(Answer::failure(format_args!("{}: there is no such folder", folder.display()))),
    }
}

/// A failure with advice.
pub(super) fn failure(what: &dyn std::fmt::Display, hint: Option<String>) -> Answer {
    match hint {
        Some(hint) => Answer::failure(format_args!("{what}\n{hint}")),
        None => Answer::failure(what),
    }
}

pub(super) fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.clamp(0.0, LONGEST_WAIT))
}
