//! A kernel that replays recorded transcripts, for cases that a real kernel shows only
//! now and then.

mod transcript;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, watch};

use crate::Backend;
use crate::error::{Error, Result};
use crate::event::{Death, Event};
use crate::kernel::{Execution, ExecutionId, Future, Identity, Kernel, Request, State};

pub use transcript::{Recorded, Transcript, TranscriptStep};

/// Events that a reader may be behind before the replay waits.
const EVENTS: usize = 64;

/// A kernel that replays a transcript: each execution is the next one recorded.
pub struct Scripted {
    state: Arc<watch::Sender<State>>,
    script: Mutex<Script>,
    interrupts: watch::Sender<Option<ExecutionId>>,
}

struct Script {
    rest: VecDeque<Recorded>,
    ran: u64,
}

impl Scripted {
    /// A kernel that is ready to replay.
    pub fn new(transcript: Transcript) -> Scripted {
        Scripted {
            state: Arc::new(watch::Sender::new(State::Idle)),
            script: Mutex::new(Script { rest: transcript.executions.into(), ran: 0 }),
            interrupts: watch::Sender::new(None),
        }
    }

    /// The next execution, if it is the one that was recorded.
    fn next(&self, request: &Request) -> Result<(ExecutionId, Recorded)> {
        let mut script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
        let wrong = |what: String| Err(Error::Protocol { what });
        match script.rest.front() {
            None => return wrong(format!("the transcript ends before {:?} is run", request.code)),
            Some(Recorded { code: Some(code), .. }) if *code != request.code => {
                return wrong(format!("{:?} is run where the transcript has {code:?}", request.code));
            }
            Some(_) => {}
        }
        match &*self.state.borrow() {
            State::Busy(_) => return Err(Error::Busy),
            State::Dead(death) => return Err(Error::Dead { death: death.clone() }),
            State::Starting | State::Idle => {}
        }
        script.ran += 1;
        let id = ExecutionId(script.ran);
        let recorded = script.rest.pop_front().expect("it was just looked at");
        self.state.send_replace(State::Busy(id));
        Ok((id, recorded))
    }
}

/// Sends the recorded events, and waits where the record waits.
async fn replay(
    id: ExecutionId,
    recorded: Recorded,
    events: mpsc::Sender<Event>,
    state: Arc<watch::Sender<State>>,
    mut interrupts: watch::Receiver<Option<ExecutionId>>,
) {
    for step in recorded.steps {
        let event = match step {
            TranscriptStep::Event(event) => event,
            TranscriptStep::Interrupt => {
                // It ends when the kernel is dropped, and so does the replay.
                if interrupts.wait_for(|interrupted| *interrupted == Some(id)).await.is_err() {
                    return;
                }
                continue;
            }
        };
        match &event {
            Event::Done(_) => drop(state.send_replace(State::Idle)),
            Event::Died(death) => drop(state.send_replace(State::Dead(death.clone()))),
            _ => {}
        }
        // A dropped receiver does not stop the code.
        let _ = events.send(event).await;
    }
}

impl Kernel for Scripted {
    fn identity(&self) -> Identity {
        Identity {
            backend: Backend::Scripted,
            name: "scripted".into(),
            language: "python".into(),
            version: None,
            python: None,
            pid: None,
            language_info: None,
        }
    }

    fn state(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    fn execute(&self, request: Request) -> Future<'_, Result<Execution>> {
        Box::pin(async move {
            let (id, recorded) = self.next(&request)?;
            let (sender, events) = mpsc::channel(EVENTS);
            tokio::spawn(replay(id, recorded, sender, self.state.clone(), self.interrupts.subscribe()));
            Ok(Execution { id, events })
        })
    }

    fn interrupt(&self, execution: ExecutionId) -> Future<'_, Result<()>> {
        Box::pin(async move {
            self.interrupts.send_replace(Some(execution));
            Ok(())
        })
    }

    fn beat(&self) -> Future<'_, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn restart(&self) -> Future<'_, Result<Vec<String>>> {
        Box::pin(async {
            self.state.send_replace(State::Idle);
            Ok(Vec::new())
        })
    }

    fn shutdown(&self) -> Future<'_, ()> {
        Box::pin(async { drop(self.state.send_replace(State::Dead(Death::Exit(0)))) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Outcome, Status};

    const TRANSCRIPT: &str = r#"
        {"execute": "print(1)"}
        {"event": "started", "count": 1}
        {"event": "stream", "name": "stdout", "text": "1\n"}
        {"event": "done", "status": "ok", "count": 1}
        {"execute": null}
        {"event": "started", "count": 2}
        {"wait": "interrupt"}
        {"event": "done", "status": "error", "count": 2, "cancelled": true}
        {"execute": null}
        {"event": "died", "signal": "SIGKILL"}
    "#;

    async fn all(mut execution: Execution) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = execution.events.recv().await {
            events.push(event);
        }
        events
    }

    #[tokio::test]
    async fn a_transcript_is_replayed_in_order_and_waits_where_it_was_recorded_to_wait() {
        let kernel = Scripted::new(TRANSCRIPT.parse().unwrap());
        let state = kernel.state();
        let events = all(kernel.execute(Request::new("print(1)")).await.unwrap()).await;
        assert_eq!(events.len(), 3);
        assert_eq!(*state.borrow(), State::Idle);

        let mut execution = kernel.execute(Request::new("anything")).await.unwrap();
        assert_eq!(execution.events.recv().await, Some(Event::Started { execution_count: Some(2) }));
        assert_eq!(*state.borrow(), State::Busy(execution.id));
        assert!(matches!(kernel.execute(Request::new("x")).await, Err(Error::Busy)));
        kernel.interrupt(ExecutionId(1)).await.unwrap();
        assert!(execution.events.try_recv().is_err());
        kernel.interrupt(execution.id).await.unwrap();
        let outcome = Outcome { status: Status::Error, execution_count: Some(2), cancelled: true };
        assert_eq!(all(execution).await, [Event::Done(outcome)]);

        let events = all(kernel.execute(Request::new("anything")).await.unwrap()).await;
        assert_eq!(events, [Event::Died(Death::Signal("SIGKILL".into()))]);
        kernel.restart().await.unwrap();
        let error = kernel.execute(Request::new("more")).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "unexpected message from the kernel: the transcript ends before \"more\" is run"
        );
    }

    #[tokio::test]
    async fn code_that_was_not_recorded_is_refused() {
        let kernel = Scripted::new(TRANSCRIPT.parse().unwrap());
        let error = kernel.execute(Request::new("print(2)")).await.unwrap_err();
        assert!(
            error.to_string().ends_with("\"print(2)\" is run where the transcript has \"print(1)\""),
            "{error}"
        );
    }
}
