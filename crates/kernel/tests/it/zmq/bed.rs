//! Fixtures of tests with a real kernel: a place to run, a kernel, its events, and that nothing is left.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use cellist_kernel::guard::Guard;
use cellist_kernel::zmq::{self, KernelCommand};
use cellist_kernel::{Event, Execution, Kernel, Launch, Outcome, Request, Status};
use cellist_output::StreamName;
use testkit::Scratch;

use crate::traces::until_gone;

/// Longer than anything takes that works.
pub(crate) const LONG: Duration = Duration::from_secs(180);

pub(crate) struct Bed {
    pub(crate) scratch: Scratch,
    pub(crate) launch: Launch,
    pub(crate) guard: Guard,
}

impl Bed {
    pub(crate) fn new() -> Bed {
        let scratch = Scratch::new();
        let cwd = scratch.path().join("work");
        std::fs::create_dir(&cwd).unwrap();
        let launch = Launch {
            cwd,
            environment: environment(&scratch),
            prelude: None,
            modules: Vec::new(),
            startup_timeout: LONG,
            runtime_dir: scratch.path().join("run"),
            trace: None,
        };
        Bed {
            scratch,
            launch,
            guard: Guard::new(env!("CARGO_BIN_EXE_cellist-kernel-guard"), Vec::<OsString>::new()),
        }
    }

    pub(crate) async fn start(&self, command: KernelCommand) -> Running {
        let started = zmq::start(command, self.launch.clone(), &self.guard).await;
        let started = started.unwrap_or_else(|error| panic!("{error}"));
        Running {
            kernel: started.kernel,
            notices: started.notices,
            runtime_dir: self.launch.runtime_dir.clone(),
        }
    }

    pub(crate) async fn ipykernel(&self) -> Running {
        self.start(KernelCommand::ipykernel(&python())).await
    }
}

pub(crate) fn python() -> PathBuf {
    testkit::python("kernels")
}

fn environment(scratch: &Scratch) -> Vec<(OsString, OsString)> {
    ["PATH", "HOME", "LANG"]
        .into_iter()
        .filter_map(|name| Some((name.into(), std::env::var_os(name)?)))
        .chain([("IPYTHONDIR".into(), scratch.path().join("ipython").into())])
        .collect()
}

pub(crate) fn files(folder: &std::path::Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder)
        .map(|entries| entries.map(|entry| entry.unwrap().path()).collect())
        .unwrap_or_default()
}

pub(crate) struct Running {
    pub(crate) kernel: Box<dyn Kernel>,
    pub(crate) notices: Vec<String>,
    runtime_dir: PathBuf,
}

impl Running {
    pub(crate) fn pid(&self) -> u32 {
        self.kernel.identity().pid.unwrap()
    }

    pub(crate) async fn begin(&self, code: &str) -> Execution {
        self.kernel.execute(Request::new(code)).await.unwrap()
    }

    /// Runs code and gives all it did, neighbouring pieces of a stream as one.
    pub(crate) async fn run(&self, code: &str) -> Ran {
        rest(&mut self.begin(code).await).await
    }

    pub(crate) async fn run_hidden(&self, code: &str) -> Ran {
        rest(&mut self.kernel.execute(Request::hidden(code)).await.unwrap()).await
    }

    /// Ends it, and looks that nothing is left.
    pub(crate) async fn end(self) {
        let pid = self.pid();
        self.kernel.shutdown().await;
        until_gone(pid);
        assert_eq!(files(&self.runtime_dir), Vec::<PathBuf>::new());
    }
}

/// The events of an execution.
#[derive(Debug, PartialEq)]
pub(crate) struct Ran(pub(crate) Vec<Event>);

impl Ran {
    pub(crate) fn outcome(&self) -> Outcome {
        match self.0.last() {
            Some(Event::Done(outcome)) => outcome.clone(),
            other => panic!("ended with {other:?} after {:?}", self.0),
        }
    }

    pub(crate) fn status(&self) -> Status {
        self.outcome().status
    }

    pub(crate) fn stream(&self, wanted: StreamName) -> String {
        let mut text = Vec::new();
        for event in &self.0 {
            if let Event::Stream { name, bytes, .. } = event
                && *name == wanted
            {
                text.extend_from_slice(bytes);
            }
        }
        String::from_utf8(text).unwrap()
    }

    pub(crate) fn stdout(&self) -> String {
        self.stream(StreamName::Stdout)
    }

    pub(crate) fn result(&self) -> Option<&str> {
        self.0.iter().find_map(|event| match event {
            Event::Result { data, .. } => data.get_text("text/plain"),
            _ => None,
        })
    }

    pub(crate) fn error(&self) -> Option<(&str, &str)> {
        self.0.iter().find_map(|event| match event {
            Event::Error { name, message, .. } => Some((name.as_str(), message.as_str())),
            _ => None,
        })
    }
}

/// Everything until the end.
pub(crate) async fn rest(execution: &mut Execution) -> Ran {
    until(execution, |_| false).await
}

/// Everything until something that is waited for, or the end.
pub(crate) async fn until(execution: &mut Execution, wanted: impl Fn(&Event) -> bool) -> Ran {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let event = tokio::time::timeout(LONG, execution.events.recv()).await;
        let event = event.unwrap_or_else(|_| panic!("silence after {events:?}"));
        let Some(event) = event else { panic!("no end after {events:?}") };
        let found = wanted(&event) || matches!(event, Event::Done(_) | Event::Died(_));
        match (events.last_mut(), event) {
            (
                Some(Event::Stream { name, bytes, late }),
                Event::Stream { name: same_name, bytes: more, late: same_late },
            ) if *name == same_name && *late == same_late => *bytes = [&bytes[..], &more[..]].concat().into(),
            (_, event) => events.push(event),
        }
        if found {
            return Ran(events);
        }
    }
}
