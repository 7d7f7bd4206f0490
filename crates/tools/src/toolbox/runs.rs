//! The common part of all tools that run code: in which session and by which order, and how long their caller waits.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cellist_kernel::order::Order;
use cellist_platform::aside::aside;
use cellist_session::execution::{KernelReport, Limit, Status};
use cellist_session::orders::{self, CannotOrder, KernelRequest, Stages, Wanted};
use cellist_session::sessions::{
    CallReport, Code, ExecutionId, Kind, OwnerId, Principal, RunRules, SessionCall, SessionError, SessionKey,
    SessionView, Stage, Ticket,
};
use cellist_settings::Settings;

use super::ongoing::{handed_over, standing};
use super::{Call, Toolbox};
use crate::agent::Agent;
use crate::answer::{Answer, Refusal};
use crate::caller::Caller;
use crate::executions::{Execution, Inside};
use crate::input::Seconds;
use crate::result::{self, Budget, Composed, Reply};

/// How many kernels are remembered as told of.
const KERNELS: usize = 1000;
/// The longest that a call waits before it hands a run over, whatever it asks for.
const LONGEST_WAIT: f64 = 3600.0;
/// How long a call that is refused as busy may take to leave its queue.
const GIVING_UP: Duration = Duration::from_secs(2);

/// What was told already, the newest last: kernels by their ids.
#[derive(Debug, Default)]
pub(crate) struct Introduced(Mutex<VecDeque<String>>);

impl Introduced {
    /// The interpreter of a kernel, where nothing was told of it yet.
    pub(crate) fn line(&self, kernel_id: &str, kernel: &KernelReport) -> Option<String> {
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
    pub(crate) fn once(&self, owner: &OwnerId, what: &str) -> Option<String> {
        self.is_new(&format!("{owner} {what}")).then(|| what.to_owned())
    }
}

/// A run that is about to begin.
pub(crate) struct Plan {
    /// The running code, in a few words.
    pub(crate) title: String,
    pub(crate) session: SessionKey,
    pub(crate) settings: Arc<Settings>,
    pub(crate) budget: Budget,
    /// How long the call waits before it hands the run over, where it says so.
    pub(crate) soft_wait: Option<Seconds>,
    /// Changes made before the run, for a caller that does not wait until its end.
    pub(crate) said: Vec<String>,
}

impl Plan {
    /// A run that nothing was changed for.
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

/// The place of a call among the pieces of code of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Part {
    /// How many pieces ran in calls before it.
    pub(crate) before: usize,
    /// How many pieces the run has.
    pub(crate) count: usize,
}

impl Toolbox {
    /// The settings that hold in a folder for an agent. Calls in quick succession share one reading.
    pub(crate) async fn settings(&self, agent: &Agent, folder: &Path) -> Result<Arc<Settings>, Refusal> {
        if let Some(known) = agent.known_settings(folder) {
            return Ok(known);
        }
        let (environment, home) = (agent.caller().environment.clone(), self.documents.store().home().clone());
        let place = folder.to_owned();
        let resolved = aside(move || environment.settings(&home, &place)).await;
        match resolved {
            Ok(Ok(resolved)) => Ok(agent.keep_settings(folder, resolved.settings)),
            Ok(Err(faults)) => Err(Refusal::new(faults)),
            Err(_) => Err(Refusal::new("the settings could not be read")),
        }
    }

    /// The order for the kernel of a session: the one that it has, or a new one.
    pub(crate) async fn order(
        &self,
        caller: &Caller,
        key: &SessionKey,
        wanted: Wanted,
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

    /// The session that a call of `python` or `eval` is about: the named one, else the caller's own.
    pub(crate) fn session_of(
        &self,
        call: &Call<'_>,
        session: Option<&str>,
        cwd: Option<&str>,
    ) -> Result<SessionKey, Refusal> {
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
                return Err(Refusal::advised(error, Some("name its folder too, with `cwd`".to_owned())));
            }
        };
        not_within(call, key)
    }

    /// The state of a session.
    pub(crate) fn session_view(&self, key: &SessionKey) -> Option<SessionView> {
        self.sessions.list().into_iter().find(|view| view.id == key.id && view.cwd == key.cwd)
    }

    /// A session by its name, in the caller's folder where there is none yet.
    pub(crate) fn session_named(&self, call: &Call<'_>, named: &str) -> Result<SessionKey, Refusal> {
        match self.sessions.find(named, None) {
            Ok(key) => Ok(key),
            Err(SessionError::NoSuchSession { .. }) => {
                Ok(SessionKey::new(named, call.caller().cwd.as_path()))
            }
            Err(error) => Err(Refusal::new(error)),
        }
    }

    /// Begins a run and waits for it as long as the call wants; then it goes on under its name.
    pub(crate) async fn begin<F>(
        &self,
        mut call: Call<'_>,
        plan: Plan,
        run: impl FnOnce(Inside) -> F,
    ) -> Result<Answer, Refusal>
    where
        F: Future<Output = Reply> + Send + 'static,
    {
        let Plan { title, session, settings, budget, soft_wait, said } = plan;
        let patience = soft_wait.map_or(settings.run.soft_wait, wait_time);
        let turn = call.agent.turn_name();
        let execution = self.executions.begin(ExecutionId::random(), title, session, turn, run);
        let mut reply = execution.wait(patience, call.news, Some(&mut call.cancel)).await;
        if reply.is_none() && execution.standing().behind.is_some() {
            // Refused as busy, unless its turn has come at this moment.
            execution.canceller.withdraw();
            reply = execution.wait(GIVING_UP, call.news, None).await;
        }
        match reply {
            Some(reply) => Ok(reply.answer(budget, call.agent).await),
            None => handed_over(&execution, &said, budget),
        }
    }

    /// Runs code in a session, for a run that has a name.
    pub(crate) async fn run_code(
        &self,
        call: SessionCall,
        inside: &mut Inside,
        label: Option<&str>,
        part: Part,
    ) -> Result<CallReport, Refusal> {
        let (key, owner) = (call.key.clone(), call.owner.clone());
        // Kept until it was idle for long, and as long as whoever calls is there.
        let ticket = self.sessions.call(SessionCall { owner: None, ..call });
        if let Some(owner) = &owner {
            // A session that ended meanwhile needs nobody.
            let _ = self.sessions.attach(owner, &key);
        }
        follow(&ticket, inside, label, part).await.map_err(|error| self.as_told(error).into())
    }

    /// An error with the name under which agents know the execution that it is about.
    pub(crate) fn as_told(&self, error: SessionError) -> SessionError {
        match error {
            SessionError::Busy { id, execution } => {
                let known = self.executions.find(&execution.to_string());
                SessionError::Busy { id, execution: known.map_or(execution, |known| known.id) }
            }
            error => error,
        }
    }

    /// A run by its name. One that a page or a command began in a session is known by the name that the session has for it.
    pub(crate) fn execution(&self, name: &str) -> Result<Execution, Refusal> {
        if let Some(execution) = self.executions.find(name) {
            return Ok(execution);
        }
        let Some(ticket) = self.sessions.execution(&ExecutionId::named(name)) else {
            return Err(Refusal::new(format_args!(
                "there is no execution {}: only those that run and the last that ended are known",
                result::short(name, 60)
            )));
        };
        let (id, session) = (ticket.id().clone(), ticket.session().clone());
        let title = format!("code in session {}", session.id);
        let run = |mut inside| async move {
            match follow(&ticket, &mut inside, None, Part::default()).await {
                Ok(report) => ended(report),
                Err(error) => Refusal::from(error).into(),
            }
        };
        Ok(self.executions.begin(id, title, session, String::new(), run))
    }
}

/// Follows a call of a session to its end, passes wishes on and tells how far it is.
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
            wish = inside.cancel.wish() => ticket.canceller().pass_on(wish),
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

/// The reply about a call that another front end made.
fn ended(report: CallReport) -> Reply {
    let texts = report.cells.iter().map(|cell| cell.report.text.as_str());
    let text = texts.chain(report.notices.iter().map(String::as_str)).collect::<Vec<_>>().join("\n");
    match report.status {
        Status::Ok => Composed::text(text, false).into(),
        Status::Error | Status::Timeout | Status::Cancelled => Refusal::new(text).into(),
    }
}

/// A session to run code in, unless it is the one whose code asks for that: it would wait for itself.
pub(crate) fn not_within(call: &Call<'_>, key: SessionKey) -> Result<SessionKey, Refusal> {
    match call.agent.within() {
        Some(within) if *within == key => Err(busy(within)),
        Some(_) | None => Ok(key),
    }
}

fn busy(session: &SessionKey) -> Refusal {
    let what = format_args!("session {} is busy: it runs the code that makes this call", session.id);
    Refusal::advised(what, Some("run the code right here, or name another `session`".to_owned()))
}

/// A call that runs code in a session of tools, with all that is usual.
pub(crate) fn session_call(
    call: &Call<'_>,
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
        ..SessionCall::new(key, Kind::Tool, order, RunRules::new(settings, budget.reading()))
    }
}

/// How long the code of a call may take: from 1 to 600 seconds, and 30 while its caller waits.
pub(crate) fn call_limit(timeout: Option<Seconds>) -> Limit {
    match timeout {
        Some(Seconds(timeout)) => Limit::Given(Duration::from_secs_f64(timeout.clamp(1.0, 600.0))),
        None => Limit::Usual(Duration::from_secs(30)),
    }
}

/// A folder to run in.
pub(crate) fn folder_at(cwd: &Path, named: &str) -> Result<PathBuf, Refusal> {
    let folder = cwd.join(named.trim());
    match folder.canonicalize() {
        Ok(real) if real.is_dir() => Ok(real),
        Ok(_) => Err(Refusal::new(format_args!("{}: is not a folder", folder.display()))),
        Err(_) => Err(Refusal::new(format_args!("{}: there is no such folder", folder.display()))),
    }
}

/// A name that a call gives, where it is not blank.
pub(crate) fn given(name: Option<&str>) -> Option<&str> {
    name.map(str::trim).filter(|name| !name.is_empty())
}

/// How long a call waits that says so.
pub(crate) fn wait_time(seconds: Seconds) -> Duration {
    Duration::from_secs_f64(seconds.0.clamp(0.0, LONGEST_WAIT))
}
