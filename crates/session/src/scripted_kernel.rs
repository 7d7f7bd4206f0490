//! A scripted kernel for tests.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cellist_kernel::{
    Backend, Completeness, Completion, Death, Error, Event, Execution, ExecutionId, Future, Identity,
    Inspection, Kernel, Outcome, Request, Result, State, Status as KernelStatus,
};
use cellist_output::{MimeBundle, RawJson, StreamName};
use tokio::sync::{mpsc, watch};

/// A kernel whose code is a script: each line names an event to send.
pub(crate) struct ScriptedKernel {
    count: AtomicU64,
    pub(crate) running: Mutex<Option<mpsc::Sender<Event>>>,
    /// Whether it ignores interrupts.
    pub(crate) deaf: bool,
    /// Whether it does not answer requests.
    pub(crate) silent: bool,
    /// All code it was given.
    pub(crate) heard: Arc<Mutex<Vec<String>>>,
    pub(crate) state: Arc<watch::Sender<State>>,
}

impl ScriptedKernel {
    pub(crate) fn new() -> ScriptedKernel {
        ScriptedKernel {
            count: AtomicU64::new(0),
            running: Mutex::new(None),
            deaf: false,
            silent: false,
            heard: Arc::default(),
            state: Arc::new(watch::Sender::new(State::Idle)),
        }
    }

    fn event(word: &str, count: u64) -> Option<Event> {
        let (verb, rest) = word.split_once(' ').unwrap_or((word, ""));
        let data = MimeBundle::text("text/plain", rest);
        let metadata = RawJson::empty_object();
        let (id, text) = rest.split_once(' ').unwrap_or((rest, ""));
        Some(match verb {
            "out" => stream(StreamName::Stdout, rest, false),
            "late" => stream(StreamName::Stdout, rest, true),
            "result" => Event::Result { execution_count: Some(count), data, metadata, display_id: None },
            "display" => Event::Display {
                data: MimeBundle::text("text/plain", text),
                metadata,
                display_id: Some(id.into()),
            },
            "update" => Event::UpdateDisplay {
                display_id: id.into(),
                data: MimeBundle::text("text/plain", text),
                metadata,
            },
            "raise" => Event::Error { name: id.into(), message: text.into(), traceback: vec![rest.into()] },
            "die" => Event::Died(Death::Exit(3)),
            _ => return None,
        })
    }
}

fn stream(name: StreamName, text: &str, late: bool) -> Event {
    Event::Stream { name, bytes: format!("{text}\n").into_bytes().into(), late }
}

impl Kernel for ScriptedKernel {
    fn identity(&self) -> Identity {
        Identity {
            backend: Backend::Scripted,
            name: "told".into(),
            language: "python".into(),
            version: None,
            python: Some("/py".into()),
            pid: None,
            language_info: Some(serde_json::json!({ "name": "python" })),
        }
    }

    fn state(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    fn execute(&self, request: Request) -> Future<'_, Result<Execution>> {
        self.heard.lock().unwrap().push(request.code.clone());
        Box::pin(async move {
            if let State::Dead(death) = &*self.state.borrow() {
                return Err(Error::Dead { death: death.clone() });
            }
            let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
            let (sender, events) = mpsc::channel(64);
            let told: Vec<Event> =
                request.code.lines().filter_map(|word| ScriptedKernel::event(word, count)).collect();
            let failed = told.iter().any(|event| matches!(event, Event::Error { .. }));
            let ended = told.iter().any(|event| matches!(event, Event::Died(_)));
            let _ = sender.send(Event::Started { execution_count: Some(count) }).await;
            for event in told {
                let _ = sender.send(event).await;
            }
            if request.code.contains("hang") {
                *self.running.lock().unwrap() = Some(sender);
            } else if ended {
                self.state.send_replace(State::Dead(Death::Exit(3)));
            } else {
                let status = if failed { KernelStatus::Error } else { KernelStatus::Ok };
                let _ = sender.send(done(status, count, false)).await;
            }
            Ok(Execution { id: ExecutionId(count), events })
        })
    }

    fn interrupt(&self, id: ExecutionId) -> Future<'_, Result<()>> {
        Box::pin(async move {
            if !self.deaf
                && let Some(sender) = self.running.lock().unwrap().take()
            {
                let _ = sender.try_send(done(KernelStatus::Error, id.0, true));
            }
            Ok(())
        })
    }

    fn complete<'a>(&'a self, _: &'a str, _: usize) -> Future<'a, Result<Completion>> {
        Box::pin(async { Ok(Completion::default()) })
    }

    fn inspect<'a>(&'a self, _: &'a str, _: usize, _: bool) -> Future<'a, Result<Inspection>> {
        Box::pin(async { Ok(Inspection::default()) })
    }

    fn is_complete<'a>(&'a self, _: &'a str) -> Future<'a, Result<Completeness>> {
        Box::pin(async { Ok(Completeness::Unknown) })
    }

    fn beat(&self) -> Future<'_, Result<()>> {
        Box::pin(async {
            match self.silent {
                true => Err(Error::NoAnswer { within: Duration::ZERO }),
                false => Ok(()),
            }
        })
    }

    fn restart(&self) -> Future<'_, Result<Vec<String>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn shutdown(&self) -> Future<'_, ()> {
        Box::pin(async {
            drop(self.running.lock().unwrap().take());
            self.state.send_replace(State::Dead(Death::Exit(0)));
        })
    }
}

fn done(status: KernelStatus, count: u64, cancelled: bool) -> Event {
    Event::Done(Outcome { status, execution_count: Some(count), cancelled })
}
