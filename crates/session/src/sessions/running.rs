//! Executes one call: its pieces in order, on a kernel that may die meanwhile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cellist_kernel::{Identity, Order, Request};
use cellist_output::notices;
use cellist_platform::clock::in_milliseconds;
use cellist_platform::contained::{Panicked, contained};
use cellist_platform::fault;
use cellist_settings::{KernelMode, RetryOnCrash};
use cellist_store::artifact::{ArtifactOrigin, first_line};
use tokio::sync::watch;

use super::SharedSessions;
use super::call::{CallReport, Code, CodeReport, SessionCall, SessionKind};
use super::error::SessionError;
use super::loss::LossReason;
use super::retry::{Crash, Remedy, remedy};
use super::task::{LiveKernel, NotReady, SessionTask};
use super::ticket::{Outcome, QueuedCall};
use super::view::{CallView, SessionState, Stage, StopView};
use crate::execution::{
    CancelRequest, Cause, DriveEvent, DriveInput, KernelEnding, Pace, Reader, Record, Report, RunFacts,
    RunOutputs, Status, Surroundings, drive, now, send_captured_outputs,
};

/// How often to replace a kernel that dies between its start and the code.
const REPLACED: u32 = 2;

/// A piece of a call to run.
struct CallPiece<'a> {
    index: usize,
    count: usize,
    code: &'a Code,
    /// Time used by earlier pieces.
    used: Duration,
    /// Bytes shown by earlier pieces.
    shown: usize,
}

/// Earlier attempts to run a piece.
#[derive(Default)]
struct Attempts {
    /// Why the kernel of the session's last result was replaced.
    why: Option<LossReason>,
    was_retried: bool,
    /// Number of kernels that died between their start and the code.
    replaced: u32,
}

/// The result of one attempt to run a piece.
enum Attempt {
    /// The piece ran, for this long.
    Done(Box<CodeReport>, Duration),
    /// Its kernel died; a new one runs the piece.
    Retry,
    /// The piece never began.
    Failed(NotReady),
}

impl SessionTask {
    /// Executes a call and delivers its report. A panic is reported too, and ends the session.
    pub(super) async fn carry_out(&mut self, mut queued: QueuedCall) -> Result<(), Panicked> {
        let id = queued.call.key.id.clone();
        let calling = async {
            fault::panic_point("session");
            self.write_file(&queued.call);
            match queued.call.rules.mode {
                KernelMode::Session => self.call(&mut queued).await,
                KernelMode::PerCall => self.call_apart(&mut queued).await,
            }
        };
        let called = contained(calling).await;
        let (outcome, done) = match called {
            Ok(outcome) => (outcome, Ok(())),
            Err(panicked) => (Err(SessionError::failed(id, &panicked)), Err(panicked)),
        };
        // The session must be idle or gone before the caller gets the report.
        match &done {
            Ok(()) => self.rest(),
            Err(panicked) => self.inner.table().fail(self.slot, panicked),
        }
        queued.deliver(outcome);
        done
    }

    /// Executes a call on a separate kernel, which ends with the call.
    async fn call_apart(&mut self, queued: &mut QueuedCall) -> Outcome {
        let aside = (self.live.take(), self.gone.take(), self.has_result, self.crashes);
        (self.has_result, self.crashes) = (false, 0);
        let outcome = self.call(queued).await;
        self.lose(LossReason::Stopped).await;
        (self.live, self.gone, self.has_result, self.crashes) = aside;
        match &self.live {
            Some(LiveKernel { id, kernel, .. }) => {
                let kernel = (id.clone(), kernel.identity());
                self.show(|slot| slot.set_kernel(Some(kernel)));
            }
            // Without a kernel, the session has no state to keep.
            None => self.show(|slot| slot.leaves |= slot.waiting() == 0),
        }
        outcome
    }

    async fn call(&mut self, queued: &mut QueuedCall) -> Outcome {
        let count = queued.call.cells.len();
        let cells = std::mem::take(&mut queued.call.cells);
        let mut report = CallReport {
            execution: queued.id.clone(),
            session: queued.call.key.clone(),
            status: Status::Ok,
            cells: Vec::new(),
            failed: None,
            not_run: 0,
            notices: Vec::new(),
        };
        if cells.is_empty() {
            return self.start_only(queued, report).await;
        }
        let (mut used, mut shown) = (Duration::ZERO, 0);
        for (index, code) in cells.iter().enumerate() {
            report.not_run = count - index;
            if code.reset || (index == 0 && queued.call.reset) {
                self.show(|slot| slot.set_resetting(true));
                self.lose(LossReason::Reset).await;
            }
            if index == 0 {
                report.notices.extend(self.other_kernel(&queued.call.order));
            }
            let piece = CallPiece { index, count, code, used, shown };
            match self.piece(queued, &piece, &mut report).await {
                Ok((piece, took)) => {
                    used += took;
                    shown += piece.report.text.len();
                    report.status = piece.report.status;
                    report.not_run -= 1;
                    let failed = piece.report.status != Status::Ok;
                    report.cells.push(*piece);
                    if failed {
                        report.failed = Some(index);
                        break;
                    }
                }
                Err(NotReady::Failed(error)) if index == 0 => return Err(error),
                Err(NotReady::Failed(error)) => {
                    report.status = Status::Error;
                    report.failed = Some(index);
                    report.notices.push(error.to_string());
                    break;
                }
                Err(NotReady::Unwanted(request)) => {
                    report.status = Status::Cancelled;
                    report.failed = Some(index);
                    report.notices.push(unwanted(request));
                    break;
                }
            }
        }
        Ok(report)
    }

    /// Starts the kernel for a call without code.
    async fn start_only(&mut self, queued: &mut QueuedCall, mut report: CallReport) -> Outcome {
        let mut attempts = Attempts::default();
        match self.prepare(queued, &mut attempts, &mut report).await {
            Ok(()) => {
                // The first result of the new kernel explains the loss of the last one.
                self.gone = attempts.why;
                Ok(report)
            }
            Err(NotReady::Failed(error)) => Err(error),
            Err(NotReady::Unwanted(request)) => {
                report.status = Status::Cancelled;
                report.notices.push(unwanted(request));
                Ok(report)
            }
        }
    }

    /// Runs a piece. Runs it again if its kernel died and the rules allow that.
    async fn piece(
        &mut self,
        queued: &mut QueuedCall,
        piece: &CallPiece<'_>,
        report: &mut CallReport,
    ) -> Result<(Box<CodeReport>, Duration), NotReady> {
        let mut attempts = Attempts::default();
        loop {
            self.prepare(queued, &mut attempts, report).await?;
            match self.attempt(queued, piece, &mut attempts, report).await {
                Attempt::Done(report, took) => return Ok((report, took)),
                Attempt::Retry => {}
                Attempt::Failed(not_ready) => return Err(not_ready),
            }
        }
    }

    /// Ensures that a kernel is ready for the next attempt.
    async fn prepare(
        &mut self,
        queued: &mut QueuedCall,
        attempts: &mut Attempts,
        report: &mut CallReport,
    ) -> Result<(), NotReady> {
        queued.show(Stage::Starting);
        // Requests that came between two pieces.
        if let Some(request) = queued.cancel.stop() {
            return Err(NotReady::Unwanted(request));
        }
        match self.ready(&queued.call.order, &mut queued.cancel).await {
            Ok(notices) => report.notices.extend(notices),
            Err(not_ready) => {
                self.gone = attempts.why.take().or(self.gone.take());
                return Err(not_ready);
            }
        }
        attempts.why = attempts.why.take().or(self.gone.take());
        self.show(|slot| {
            slot.set_resetting(false);
            slot.state = SessionState::Busy;
        });
        Ok(())
    }

    /// Runs a piece on the current kernel.
    async fn attempt(
        &mut self,
        queued: &mut QueuedCall,
        piece: &CallPiece<'_>,
        attempts: &mut Attempts,
        report: &CallReport,
    ) -> Attempt {
        let mut record = self.record(queued, piece);
        let Some(live) = &mut self.live else { return Attempt::Failed(NotReady::Failed(self.ended())) };
        let limit = match queued.cancel.is_handed_over() {
            true => queued.call.rules.limit.handed_over(),
            false => queued.call.rules.limit,
        };
        let (started, rule) = (now(), queued.call.stuck_rule());
        let mut pace = Pace::new(started, limit.after(piece.used), queued.call.rules.grace, rule);
        queued.show(Stage::Running { cell: piece.index, count: piece.count });
        let had_state = live.has_run;
        live.has_run |= !piece.code.hidden;
        let (identity, around, kernel_id) = (live.kernel.identity(), live.around.clone(), live.id.clone());
        let watching = AttemptObserver {
            started,
            limit: limit.time(),
            view: &queued.view,
            interim: &queued.interim,
            outputs: queued.call.outputs.as_ref(),
            inner: &self.inner,
            slot: self.slot,
            kernel: (&identity, &around, &kernel_id),
            piece,
            before: report,
            gone: attempts.new_kernel(),
        };
        let request = Request {
            hidden: piece.code.hidden,
            tag: piece.code.tag.clone(),
            ..Request::new(piece.code.code.as_str())
        };
        let work = DriveInput {
            kernel: &*live.kernel,
            request,
            record: &mut record,
            pace: &mut pace,
            cancel: &mut queued.cancel,
        };
        if let Err(error) = drive(work, |record, moment| watching.meet(record, moment)).await {
            return self.not_begun(error, &queued.call.order, attempts).await;
        }
        if let Some(outputs) = queued.call.outputs.as_ref().filter(|_| record.death().is_none()) {
            send_captured_outputs(&*live.kernel, outputs).await;
        }
        let identity = live.kernel.identity();
        let mut facts = RunFacts::new(now() - started, &pace, limit.time(), &identity, &around);
        let crash = Crash { had_state, is_first: piece.index == 0, before: self.crashes };
        match self.settle(&record, &pace, queued.call.rules.retry, crash).await {
            Remedy::RunAgain => {
                attempts.was_retried = true;
                return Attempt::Retry;
            }
            remedy => facts.too_often = remedy == Remedy::GiveUp,
        }
        facts.before.extend(attempts.new_kernel());
        facts.before.extend(attempts.was_retried.then(notices::retried));
        facts.restarted = attempts.was_retried || attempts.why.is_some();
        let is_run = matches!(queued.call.kind, SessionKind::Run { .. });
        facts.lasting = queued.call.rules.mode == KernelMode::Session && !is_run;
        if facts.lasting {
            self.note_result();
        }
        let mut report = record.report(facts).await;
        say_where_it_ended(&mut report, &queued.call, piece);
        let (title, language_info) = (piece.code.title.clone(), identity.language_info);
        let report = CodeReport { title, kernel_id, language_info, report };
        Attempt::Done(Box::new(report), now() - started)
    }

    /// Creates the record of an attempt. The full output is kept as an artifact.
    fn record(&self, queued: &QueuedCall, piece: &CallPiece<'_>) -> Record {
        let reading = queued.call.rules.reading.next(piece.shown, piece.index + 1 == piece.count);
        let origin = ArtifactOrigin {
            what: piece.code.title.clone().unwrap_or_else(|| first_line(&piece.code.code)),
            session: Some(queued.call.key.id.clone()),
            notebook: queued.call.kind.notebook().cloned(),
        };
        let record = match &queued.call.outputs {
            Some(outputs) => Record::into_buffer(reading, outputs.begin()),
            None => Record::new(reading),
        };
        record.keep_in(&self.inner.means.artifacts, origin)
    }

    /// Handles code that the kernel did not accept. Replaces a kernel that died just before.
    async fn not_begun(
        &mut self,
        error: cellist_kernel::Error,
        order: &Order,
        attempts: &mut Attempts,
    ) -> Attempt {
        match error {
            cellist_kernel::Error::Dead { death } if attempts.replaced < REPLACED => {
                attempts.replaced += 1;
                self.lose(LossReason::Died(death)).await;
                Attempt::Retry
            }
            error => Attempt::Failed(NotReady::Failed(SessionError::start(&error, order))),
        }
    }

    /// Notes the end of an attempt. Drops a kernel that died in it.
    async fn settle(&mut self, record: &Record, pace: &Pace, retry: RetryOnCrash, crash: Crash) -> Remedy {
        let Some(death) = record.death().cloned() else {
            (self.crashes, self.has_result) = (0, true);
            return Remedy::Fail;
        };
        let (gone, remedy) = match pace.cause() {
            Some(Cause::Ending(KernelEnding::Restart)) => (LossReason::Restarted, Remedy::Fail),
            Some(Cause::Ending(KernelEnding::Stop)) => (LossReason::Stopped, Remedy::Fail),
            Some(Cause::Timeout | Cause::Cancel) => (LossReason::Killed, Remedy::Fail),
            None => {
                self.crashes += 1;
                (LossReason::Died(death), remedy(retry, crash))
            }
        };
        self.has_result |= remedy != Remedy::RunAgain;
        self.lose(gone).await;
        remedy
    }
}

impl Attempts {
    /// Returns the notice about a kernel started since the session's last result.
    fn new_kernel(&self) -> Option<String> {
        self.why.as_ref().map(|why| notices::new_kernel(&why.words()))
    }
}

/// Publishes the progress of an attempt to the observers of its call.
struct AttemptObserver<'a> {
    started: Instant,
    limit: Option<Duration>,
    view: &'a watch::Sender<CallView>,
    interim: &'a watch::Sender<Option<Arc<CallReport>>>,
    outputs: Option<&'a RunOutputs>,
    inner: &'a SharedSessions,
    slot: u64,
    kernel: (&'a Identity, &'a Surroundings, &'a str),
    piece: &'a CallPiece<'a>,
    /// The report of the call before this piece.
    before: &'a CallReport,
    gone: Option<String>,
}

impl AttemptObserver<'_> {
    fn meet(&self, record: &mut Record, moment: DriveEvent) {
        match moment {
            DriveEvent::Event(event) => match self.outputs {
                Some(outputs) => outputs.hear(event),
                None => record.buffer.lock().apply(event),
            },
            DriveEvent::Tick => {
                let is_new = std::mem::take(&mut record.is_new);
                self.view.send_modify(|view| {
                    view.elapsed_ms = in_milliseconds(now() - self.started);
                    if is_new {
                        (view.text, view.bar) = (record.text(), record.bar.clone());
                    }
                });
            }
            DriveEvent::Stopping(pace) => self.stops(record, &pace),
        }
    }

    /// Reports that the code was interrupted, or did not stop within the grace period.
    fn stops(&self, record: &mut Record, pace: &Pace) {
        let is_overdue = pace.is_overdue();
        let timeout = self.limit.filter(|_| pace.cause() == Some(Cause::Timeout));
        let timeout_s = timeout.map(|limit| limit.as_secs());
        self.view.send_modify(|view| {
            (view.text, view.bar) = (record.text(), record.bar.clone());
            view.stopping = Some(StopView { timeout_s, is_overdue });
        });
        if let Some(slot) = self.inner.table().slot(self.slot) {
            slot.set_stuck(is_overdue);
        }
        self.interim.send_replace(is_overdue.then(|| {
            let (identity, around, kernel_id) = self.kernel;
            let mut facts = RunFacts::new(now() - self.started, pace, self.limit, identity, around);
            facts.restarted = self.gone.is_some();
            facts.before.extend(self.gone.clone());
            let report = record.so_far(&facts, self.before.execution.as_str());
            let (title, kernel_id) = (self.piece.code.title.clone(), kernel_id.to_owned());
            let report = CodeReport { title, kernel_id, language_info: None, report };
            Arc::new(self.before.with_unfinished(self.piece.index, report))
        }));
    }
}

/// Names the piece that ended a call of several. Notebook cells are called one by one, and their caller names the
/// failed cell. A report for a model ends with a summary instead.
fn say_where_it_ended(report: &mut Report, call: &SessionCall, piece: &CallPiece<'_>) {
    let is_one = call.kind.notebook().is_some() || piece.code.title.is_none();
    let is_summed_up = call.rules.reading.reader == Reader::Model;
    if report.status == Status::Ok || (piece.count == 1 && is_one) || is_summed_up {
        return;
    }
    let how = match report.status {
        Status::Cancelled => "was interrupted",
        status => status.word(),
    };
    report.say(notices::cell_ended_call(piece.index + 1, piece.count, piece.code.title.as_deref(), how));
}

/// Returns the notice about a piece that was cancelled before it began.
fn unwanted(request: CancelRequest) -> String {
    match request {
        CancelRequest::Stop | CancelRequest::Force | CancelRequest::Withdraw | CancelRequest::HandOver => {
            notices::cancelled()
        }
        CancelRequest::End(KernelEnding::Restart) => notices::restarted_meanwhile(),
        CancelRequest::End(KernelEnding::Stop) => notices::stopped_meanwhile(),
    }
}
