//! One call, carried out: its pieces in order, on a kernel that may die meanwhile.

use std::sync::Arc;
use std::time::Duration;

use cellist_kernel::contained::{Panicked, contained};
use cellist_kernel::{Event, Request, fault};
use cellist_output::notices;

use super::call::{CallReport, Code, CodeReport, KernelMode, Kind};
use super::error::SessionError;
use super::gone::Gone;
use super::retry::{Crash, Remedy, remedy};
use super::task::{Live, NotReady, Task};
use super::ticket::{Outcome, Queued};
use super::view::{SessionState, Stage, StopView};
use crate::artifact::{Origin, first_line};
use crate::execution::{Cause, Ending, Moment, Pace, Reader, Record, Status, Told, Wish, Work, drive, now};

/// How often a kernel is replaced that dies between its start and the code.
const REPLACED: u32 = 2;

/// A piece of a call that is to be run.
struct Piece<'a> {
    index: usize,
    count: usize,
    code: &'a Code,
    /// How much of the call's time was used before.
    used: Duration,
    /// How much the pieces before it have shown.
    shown: usize,
}

/// What came of a piece.
enum Ran {
    /// It ran and took so long.
    Done(Box<CodeReport>, Duration),
    /// It never began.
    Not(NotReady),
}

impl Task {
    /// Carries a call out and tells its caller, also of a fault of ours, which ends the session.
    pub(super) async fn carry_out(&mut self, mut queued: Queued) -> Result<(), Panicked> {
        let id = queued.call.key.id.clone();
        let calling = async {
            fault::panic_point("session");
            self.write_file(&queued.call);
            match queued.call.mode {
                KernelMode::Session => self.call(&mut queued).await,
                KernelMode::PerCall => self.call_apart(&mut queued).await,
            }
        };
        let called = contained(calling).await;
        let (outcome, done) = match called {
            Ok(outcome) => (outcome, Ok(())),
            Err(panicked) => (Err(SessionError::failed(id, &panicked)), Err(panicked)),
        };
        // Whoever hears of the end finds the session idle, or gone.
        match &done {
            Ok(()) => self.rest(),
            Err(panicked) => self.inner.book().fail(self.seat, panicked),
        }
        queued.deliver(outcome);
        done
    }

    /// Carries a call out on a kernel of its own, which goes whatever comes of it.
    async fn call_apart(&mut self, queued: &mut Queued) -> Outcome {
        let aside = (self.live.take(), self.gone.take(), self.has_result, self.crashes);
        (self.has_result, self.crashes) = (false, 0);
        let outcome = self.call(queued).await;
        self.lose(Gone::Stopped).await;
        (self.live, self.gone, self.has_result, self.crashes) = aside;
        match &self.live {
            Some(Live { id, kernel, .. }) => {
                let kernel = (id.clone(), kernel.identity());
                self.show(|seat| seat.set_kernel(Some(kernel)));
            }
            // There is nothing to keep.
            None => self.show(|seat| seat.leaves |= seat.waiting() == 0),
        }
        outcome
    }

    async fn call(&mut self, queued: &mut Queued) -> Outcome {
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
        let (mut used, mut shown) = (Duration::ZERO, 0);
        for (index, code) in cells.iter().enumerate() {
            report.not_run = count - index;
            if code.reset || (index == 0 && queued.call.reset) {
                self.show(|seat| seat.set_resetting(true));
                self.lose(Gone::Reset).await;
            }
            if index == 0 {
                report.notices.extend(self.other_kernel(&queued.call.order));
            }
            let piece = Piece { index, count, code, used, shown };
            match self.piece(queued, &piece, &mut report).await {
                Ran::Done(piece, took) => {
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
                Ran::Not(NotReady::Failed(error)) if index == 0 => return Err(error),
                Ran::Not(NotReady::Failed(error)) => {
                    report.status = Status::Error;
                    report.failed = Some(index);
                    report.notices.push(error.to_string());
                    break;
                }
                Ran::Not(NotReady::Unwanted(wish)) => {
                    report.status = Status::Cancelled;
                    report.failed = Some(index);
                    report.notices.push(unwanted(wish));
                    break;
                }
            }
        }
        Ok(report)
    }

    /// Runs a piece, and once more where its kernel died and nothing stands against that.
    async fn piece(&mut self, queued: &mut Queued, piece: &Piece<'_>, report: &mut CallReport) -> Ran {
        // Why the kernel that the session's last result stood on is not the one that this runs on.
        let mut why = None;
        let mut was_retried = false;
        let mut replaced = 0;
        loop {
            queued.show(Stage::Starting);
            // Wishes that came between two pieces.
            if let Some(wish) = queued.cancel.stop() {
                return Ran::Not(NotReady::Unwanted(wish));
            }
            match self.ready(&queued.call.order, &mut queued.cancel).await {
                Ok(notices) => report.notices.extend(notices),
                Err(not) => {
                    self.gone = why.or(self.gone.take());
                    return Ran::Not(not);
                }
            }
            why = why.or(self.gone.take());
            self.show(|seat| {
                seat.set_resetting(false);
                seat.state = SessionState::Busy;
            });
            let Some(live) = &mut self.live else {
                return Ran::Not(NotReady::Failed(self.ended()));
            };
            let limit = match queued.cancel.is_handed_over() {
                true => queued.call.limit.handed_over(),
                false => queued.call.limit,
            };
            let reading = queued.call.reading.next(piece.shown, piece.index + 1 == piece.count);
            // What is reported is cut to the limits anyway; this much is enough to cut it from.
            let room = reading.limits.max_bytes.saturating_mul(4);
            let mut record = Record::new(reading, Some(room)).keep_in(
                &self.inner.means.artifacts,
                Origin {
                    what: piece.code.title.clone().unwrap_or_else(|| first_line(&piece.code.code)),
                    session: Some(queued.call.key.id.clone()),
                    notebook: queued.call.kind.notebook().cloned(),
                },
            );
            let started = now();
            let rule = queued.call.stuck_rule();
            let mut pace = Pace::new(started, limit.after(piece.used), queued.call.grace, rule);
            queued.show(Stage::Running { cell: piece.index, count: piece.count });
            let had_state = live.has_run;
            live.has_run |= !piece.code.hidden;
            let work = Work {
                kernel: &*live.kernel,
                request: Request {
                    hidden: piece.code.hidden,
                    tag: piece.code.tag.clone(),
                    ..Request::new(piece.code.code.as_str())
                },
                record: &mut record,
                pace: &mut pace,
                cancel: &mut queued.cancel,
                listener: queued.call.listener.as_ref(),
            };
            let (view, interim) = (&queued.view, &queued.interim);
            let (inner, seat, before) = (&self.inner, self.seat, &*report);
            let (identity, around) = (live.kernel.identity(), &live.around);
            let gone = why.as_ref().map(|why| notices::new_kernel(&why.words()));
            let kernel_id = &live.id;
            let driven = drive(work, |record, moment| match moment {
                Moment::Event(event) => record.kept.apply(event),
                Moment::Tick => {
                    let is_new = std::mem::take(&mut record.is_new);
                    view.send_modify(|view| {
                        view.elapsed_ms = milliseconds(now() - started);
                        if is_new {
                            (view.text, view.bar) = (record.text(), record.bar.clone());
                        }
                    });
                }
                Moment::Stopping(pace) => {
                    let (is_overdue, limit) = (pace.is_overdue(), limit.time());
                    let timeout_s = limit.filter(|_| pace.cause() == Some(Cause::Timeout));
                    let timeout_s = timeout_s.map(|limit| limit.as_secs());
                    view.send_modify(|view| {
                        (view.text, view.bar) = (record.text(), record.bar.clone());
                        view.stopping = Some(StopView { timeout_s, is_overdue });
                    });
                    if let Some(seat) = inner.book().seat(seat) {
                        seat.set_stuck(is_overdue);
                    }
                    let so_far = is_overdue.then(|| {
                        let mut told = Told::new(now() - started, &pace, limit, &identity, around);
                        told.restarted = gone.is_some();
                        told.before.extend(gone.clone());
                        let report = record.so_far(&told, before.execution.as_str());
                        let (title, kernel_id) = (piece.code.title.clone(), kernel_id.clone());
                        let report = CodeReport { title, kernel_id, language_info: None, report };
                        Arc::new(before.with_unfinished(piece.index, report))
                    });
                    interim.send_replace(so_far);
                }
            });
            if let Err(error) = driven.await {
                match error {
                    // It died just before: the next round starts another.
                    cellist_kernel::Error::Dead { death } if replaced < REPLACED => {
                        replaced += 1;
                        self.lose(Gone::Died(death)).await;
                        continue;
                    }
                    error => return Ran::Not(NotReady::Failed(SessionError::start(&error))),
                }
            }
            let (identity, kernel_id) = (live.kernel.identity(), live.id.clone());
            let around = live.around.clone();
            let mut told = Told::new(now() - started, &pace, limit.time(), &identity, &around);
            if let Some(death) = record.death().cloned() {
                let (gone, remedy) = match pace.cause() {
                    Some(Cause::Ending(Ending::Restart)) => (Gone::Restarted, Remedy::Fail),
                    Some(Cause::Ending(Ending::Stop)) => (Gone::Stopped, Remedy::Fail),
                    Some(Cause::Timeout | Cause::Cancel) => (Gone::Killed, Remedy::Fail),
                    None => {
                        let crash = Crash { had_state, is_first: piece.index == 0, before: self.crashes };
                        self.crashes += 1;
                        (Gone::Died(death), remedy(queued.call.retry, crash))
                    }
                };
                if remedy == Remedy::RunAgain {
                    self.lose(gone).await;
                    was_retried = true;
                    if let Some(listener) = &queued.call.listener {
                        // Who has gone away need not hear.
                        let _ = listener.send(Event::ClearOutput { wait: false }).await;
                    }
                    continue;
                }
                told.too_often = remedy == Remedy::GiveUp;
                self.has_result = true;
                self.lose(gone).await;
            } else {
                self.crashes = 0;
                self.has_result = true;
            }
            told.before.extend(why.as_ref().map(|why| notices::new_kernel(&why.words())));
            told.before.extend(was_retried.then(notices::retried));
            told.restarted = was_retried || why.is_some();
            let is_run = matches!(queued.call.kind, Kind::Run { .. });
            told.lasting = queued.call.mode == KernelMode::Session && !is_run;
            if told.lasting {
                self.tell();
            }
            let mut report = record.report(told).await;
            // Cells of a notebook come one by one, and their caller says which failed. A reply to a model ends with a summary.
            let is_one = queued.call.kind.notebook().is_some() || piece.code.title.is_none();
            let is_summed_up = queued.call.reading.reader == Reader::Model;
            if report.status != Status::Ok && (piece.count > 1 || !is_one) && !is_summed_up {
                let title = piece.code.title.as_deref();
                let how = match report.status {
                    Status::Cancelled => "was interrupted",
                    status => status.word(),
                };
                report.say(notices::cell_ended_call(piece.index + 1, piece.count, title, how));
            }
            let (title, language_info) = (piece.code.title.clone(), identity.language_info);
            let report = CodeReport { title, kernel_id, language_info, report };
            return Ran::Done(Box::new(report), now() - started);
        }
    }
}

/// What is said of a piece that nobody wanted any more before it began.
fn unwanted(wish: Wish) -> String {
    match wish {
        Wish::Stop | Wish::Force | Wish::Withdraw | Wish::HandOver => notices::cancelled(),
        Wish::End(Ending::Restart) => notices::restarted_meanwhile(),
        Wish::End(Ending::Stop) => notices::stopped_meanwhile(),
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
