//! The common part of all tools that run code: session, kernel order, and the caller's waiting
//! time.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cellist_kernel::order::Order;
use cellist_platform::aside::aside;
use cellist_session::execution::{KernelReport, Limit, Status};
use cellist_session::orders::{self, CannotOrder, KernelRequest, Stages, WantedKernel};
use cellist_session::sessions::{
    CallReport, Code, ExecutionId, OwnerId, Principal, RunRules, SessionCall, SessionError, SessionKey,
    SessionKind, SessionView, Stage, Ticket,
};
use cellist_settings::Settings;

use super::run_status::{handed_over, standing};
use super::{CallContext, Toolbox};
use crate::agent::Agent;
use crate::answer::{ToolAnswer, ToolRefusal};
use crate::caller::Caller;
use crate::executions::{Execution, Inside};
use crate::input::Seconds;
use crate::result::{self, Budget, ReplyDraft, ToolReply};

/// Kernels remembered as introduced.
const KERNELS: usize = 1000;
/// The maximum time that a call waits before it hands a run over.
const LONGEST_WAIT: f64 = 3600.0;
/// Time for a call that is refused as busy to leave its queue.
const GIVING_UP: Duration = Duration::from_secs(2);

/// Introductions already made, newest last, by kernel id.
#[derive(Debug, Default)]
pub(crate) struct Introduced(Mutex<VecDeque<String>>);

impl Introduced {
    /// Introduces the interpreter of a kernel, once.
    pub(crate) fn line(&self, kernel_id: &str, kernel: &KernelReport) -> Option<String> {
        if self.is_new(kernel_id) { result::introduction(kernel) } else { None }
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

    /// Returns a notice once for each agent.
    pub(crate) fn once(&self, owner: &OwnerId, what: &str) -> Option<String> {
        self.is_new(&format!("{owner} {what}")).then(|| what.to_owned())
    }
}

/// A run to start.
pub(crate) struct Plan {
    /// A short description of the code.
    pub(crate) title: String,
    pub(crate) session: SessionKey,
    pub(crate) settings: Arc<Settings>,
    pub(crate) budget: Budget,
    /// The time before the run is handed over, if the call sets it.
    pub(crate) soft_wait: Option<Seconds>,
    /// Changes made before the run, for a caller that does not wait until its end.
    pub(crate) said: Vec<String>,
}

impl Plan {
    /// Plans a run without changes before it.
    pub(crate) fn new(
        title: String,
        session: SessionKey,
        settings: Arc<Settings>,
        budget: Budget,
        soft_wait: Option<Seconds>,
    ) -> Plan {
        Plan { title, session, settings, budget, soft_wait, said: Vec::new() }
    }
}

/// The position of a session call among the pieces of code of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Part {
    /// Pieces that ran in earlier calls.
    pub(crate) before: usize,
    /// Pieces of the whole run.
    pub(crate) count: usize,
}

impl Toolbox {
    /// Resolves the settings of a folder. Calls in quick succession share one reading.
    pub(crate) async fn settings(&self, agent: &Agent, folder: &Path) -> Result<Arc<Settings>, ToolRefusal> {
        if let Some(known) = agent.known_settings(folder) {
            return Ok(known);
        }
        let (environment, home) = (agent.caller().environment.clone(), self.documents.store().home().clone());
        let place = folder.to_owned();
        let resolved = aside(move || environment.settings(&home, &place)).await;
        match resolved {
            Ok(Ok(resolved)) => Ok(agent.keep_settings(folder, resolved.settings)),
            Ok(Err(faults)) => Err(ToolRefusal::new(faults)),
            Err(_) => Err(ToolRefusal::new("the settings could not be read")),
        }
    }

    /// Returns the kernel order of a session: the current one, or a new one.
    pub(crate) async fn order(
        &self,
        caller: &Caller,
        key: &SessionKey,
        wanted: WantedKernel,
        is_fresh: bool,
    ) -> Result<Arc<Order>, CannotOrder> {
        if let Some(order) = self.sessions.order(key).filter(|_| !is_fresh) {
            return Ok(order);
        }
        let request = KernelRequest { folders: vec![caller.cwd.clone()], wanted, ..KernelRequest::default() };
        let home = self.documents.store().home();
        let written = orders::write(&caller.environment, home, &key.cwd, request, Stages::silent()).await?;
        Ok(written.order.into())
    }

    /// Resolves the session of `python` or `eval`: the named one, or the caller's own.
    pub(crate) fn session_of(
        &self,
        call: &CallContext<'_>,
        session: Option<&str>,
        cwd: Option<&str>,
    ) -> Result<SessionKey, ToolRefusal> {
        let caller = call.caller();
        let cwd = cwd.map(|folder| folder_at(&caller.cwd, folder)).transpose()?;
        let Some(named) = given(session) else {
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
                return Err(ToolRefusal::advised(error, Some("name its folder too, with `cwd`".to_owned())));
            }
        };
        not_within(call, key)
    }

    /// Returns the state of a session.
    pub(crate) fn session_view(&self, key: &SessionKey) -> Option<SessionView> {
        self.sessions.list().into_iter().find(|view| view.id == key.id && view.cwd == key.cwd)
    }

    /// Finds a session by name. A new one is in the caller's folder.
    pub(crate) fn session_named(
        &self,
        call: &CallContext<'_>,
        named: &str,
    ) -> Result<SessionKey, ToolRefusal> {
        match self.sessions.find(named, None) {
            Ok(key) => Ok(key),
            Err(SessionError::NoSuchSession { .. }) => {
                Ok(SessionKey::new(named, call.caller().cwd.as_path()))
            }
            Err(error) => Err(ToolRefusal::new(error)),
        }
    }

    /// Starts a run and waits as long as the call wants. Then the run goes on under its name.
    pub(crate) async fn begin<F>(
        &self,
        mut call: CallContext<'_>,
        plan: Plan,
        run: impl FnOnce(Inside) -> F,
    ) -> Result<ToolAnswer, ToolRefusal>
    where
        F: Future<Output = ToolReply> + Send + 'static,
    {
        let Plan { title, session, settings, budget, soft_wait, said } = plan;
        let patience = soft_wait.map_or(settings.run.soft_wait, wait_time);
        let turn = call.agent.turn_name();
        let execution = self.executions.begin(ExecutionId::random(), title, session, turn, run);
        let mut reply = execution.wait(patience, call.news, Some(&mut call.cancel)).await;
        if reply.is_none() && execution.standing().behind.is_some() {
            // Refused as busy, unless its turn has just come.
            execution.canceller.withdraw();
            reply = execution.wait(GIVING_UP, call.news, None).await;
        }
        match reply {
            Some(reply) => Ok(reply.answer(budget, call.agent).await),
            None => handed_over(&execution, &said, budget),
        }
    }

    /// Runs code in a session, as part of a named run.
    pub(crate) async fn run_code(
        &self,
        call: SessionCall,
        inside: &mut Inside,
        label: Option<&str>,
        part: Part,
    ) -> Result<CallReport, ToolRefusal> {
        let (key, owner) = (call.key.clone(), call.owner.clone());
        // The session lasts as long as the agent is attached, and until it was idle for long.
        let ticket = self.sessions.call(SessionCall { owner: None, ..call });
        if let Some(owner) = &owner {
            // A session that has ended needs no owner.
            let _ = self.sessions.attach(owner, &key);
        }
        follow(&ticket, inside, label, part).await.map_err(|error| self.as_told(error).into())
    }

    /// Replaces the execution in an error with the name that agents know.
    pub(crate) fn as_told(&self, error: SessionError) -> SessionError {
        match error {
            SessionError::Busy { id, execution } => {
                let known = self.executions.find(&execution.to_string());
                SessionError::Busy { id, execution: known.map_or(execution, |known| known.id) }
            }
            error => error,
        }
    }

    /// Finds a run by name. A run that another front end started has the session's name.
    pub(crate) fn execution(&self, name: &str) -> Result<Execution, ToolRefusal> {
        if let Some(execution) = self.executions.find(name) {
            return Ok(execution);
        }
        let Some(ticket) = self.sessions.execution(&ExecutionId::named(name)) else {
            return Err(ToolRefusal::new(format_args!(
                "unknown execution {}: only running ones and the last that ended are known",
                result::short(name, 60)
            )));
        };
        let (id, session) = (ticket.id().clone(), ticket.session().clone());
        let title = format!("code in session {}", session.id);
        let run = |mut inside| async move {
            match follow(&ticket, &mut inside, None, Part::default()).await {
                Ok(report) => ended(report),
                Err(error) => ToolRefusal::from(error).into(),
            }
        };
        Ok(self.executions.begin(id, title, session, String::new(), run))
    }
}

/// Follows a session call to its end: passes requests on and reports progress.
async fn follow(
    ticket: &Ticket,
    inside: &mut Inside,
    label: Option<&str>,
    part: Part,
) -> Result<CallReport, SessionError> {
    let (mut view, done) = (ticket.watch(), ticket.done());
    tokio::pin!(done);
    let mut is_open = true;
    let mut is_awaited = true;
    loop {
        tokio::select! {
            biased;
            outcome = &mut done => return outcome,
            request = inside.cancel.next_request() => ticket.canceller().pass_on(request),
            handed = inside.handed_over.wait_for(|handed| *handed), if is_awaited => {
                is_awaited = false;
                if handed.is_ok() {
                    ticket.canceller().hand_over();
                }
            }
            changed = view.changed(), if is_open => {
                is_open = changed.is_ok();
                let view = view.borrow_and_update();
                match view.stage {
                    Stage::Queued { .. } | Stage::Starting => inside.ledger.pieces(part.before, false, part.count),
                    Stage::Running { cell, .. } => inside.ledger.pieces(part.before + cell, true, part.count),
                    Stage::Ended => {}
                }
                inside.standing.send_replace(standing(&view, label));
            }
        }
    }
}

/// Composes the reply about a call that another front end made.
fn ended(report: CallReport) -> ToolReply {
    let texts = report.cells.iter().map(|cell| cell.report.text.as_str());
    let text = texts.chain(report.notices.iter().map(String::as_str)).collect::<Vec<_>>().join("\n");
    match report.status {
        Status::Ok => ReplyDraft::text(text, false).into(),
        Status::Error | Status::Timeout | Status::Cancelled => ToolRefusal::new(text).into(),
    }
}

/// Returns a session to run code in. Refuses the session of the calling code, which would wait for
/// itself.
pub(crate) fn not_within(call: &CallContext<'_>, key: SessionKey) -> Result<SessionKey, ToolRefusal> {
    match call.agent.within() {
        Some(within) if *within == key => Err(busy(within)),
        Some(_) | None => Ok(key),
    }
}

fn busy(session: &SessionKey) -> ToolRefusal {
    let what = format_args!("session {} is busy: it runs the code that makes this call", session.id);
    ToolRefusal::advised(what, Some("run the code directly, or use another `session`".to_owned()))
}

/// Builds a session call with the defaults of tools.
pub(crate) fn session_call(
    call: &CallContext<'_>,
    key: SessionKey,
    order: Arc<Order>,
    cells: Vec<Code>,
    settings: &Settings,
    budget: Budget,
) -> SessionCall {
    SessionCall {
        owner: Some(call.agent.owner().clone()),
        cells,
        rights: Some(call.caller().mode.as_str().to_owned()),
        caller: Some(Arc::clone(call.agent) as Principal),
        ..SessionCall::new(key, SessionKind::Tool, order, RunRules::new(settings, budget.reading()))
    }
}

/// Returns the time limit of a call: 1 to 600 seconds, or 30 while its caller waits.
pub(crate) fn call_limit(timeout: Option<Seconds>) -> Limit {
    match timeout {
        Some(Seconds(timeout)) => Limit::Given(Duration::from_secs_f64(timeout.clamp(1.0, 600.0))),
        None => Limit::Usual(Duration::from_secs(30)),
    }
}

/// Resolves a folder to run in.
pub(crate) fn folder_at(cwd: &Path, named: &str) -> Result<PathBuf, ToolRefusal> {
    let folder = cwd.join(named.trim());
    match folder.canonicalize() {
        Ok(real) if real.is_dir() => Ok(real),
        Ok(_) => Err(ToolRefusal::new(format_args!("{}: is not a folder", folder.display()))),
        Err(_) => Err(ToolRefusal::new(format_args!("{}: no such folder", folder.display()))),
    }
}

/// Returns a name, unless it is blank.
pub(crate) fn given(name: Option<&str>) -> Option<&str> {
    name.map(str::trim).filter(|name| !name.is_empty())
}

/// Converts the waiting time of a call.
pub(crate) fn wait_time(seconds: Seconds) -> Duration {
    Duration::from_secs_f64(seconds.0.clamp(0.0, LONGEST_WAIT))
}
