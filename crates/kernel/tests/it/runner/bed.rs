//! Fixtures of the runner's tests: a place, a kernel, and its events as text that can be compared.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use cellist_kernel::guard::Guard;
use cellist_kernel::{
    Event, Execution, Kernel, Launch, Outcome, Request, Result, Started, Status, Trace, runner,
};
use cellist_output::{MimeData, StreamName};
use testkit::Scratch;

use crate::traces::until_gone;

/// Longer than anything takes that works.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// An interpreter with hardly anything installed: no IPython, no pandas.
pub(crate) fn bare_python() -> PathBuf {
    testkit::python("nbformat")
}

/// An interpreter with IPython, pandas, matplotlib, plotly and the like.
pub(crate) fn full_python() -> PathBuf {
    testkit::python("kernels")
}

pub(crate) struct Bed {
    pub(crate) scratch: Scratch,
    pub(crate) launch: Launch,
    pub(crate) python: PathBuf,
    pub(crate) guard: Guard,
}

impl Bed {
    pub(crate) fn new() -> Bed {
        Bed::with(bare_python())
    }

    pub(crate) fn with(python: PathBuf) -> Bed {
        let scratch = Scratch::new();
        let cwd = scratch.path().join("work");
        std::fs::create_dir(&cwd).unwrap();
        let launch = Launch {
            cwd,
            environment: environment(&scratch),
            prelude: None,
            modules: Vec::new(),
            startup_timeout: LONG,
            // Shared, so that Python compiles the runner once for all tests.
            runtime_dir: testkit::target_dir().join("runner-tests"),
            trace: std::env::var_os("TRACE").map(|_| Trace::new(|line| eprintln!("{line}"))),
        };
        let guard = Guard::new(env!("CARGO_BIN_EXE_cellist-kernel-guard"), Vec::<OsString>::new());
        Bed { scratch, launch, python, guard }
    }

    /// A file in the kernel's folder.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        self.scratch.write(&format!("work/{name}"), text)
    }

    pub(crate) async fn try_start(&self) -> Result<Started> {
        runner::start(&self.python, self.launch.clone(), &self.guard).await
    }

    pub(crate) async fn start(self) -> Session {
        let started = self.try_start().await.unwrap_or_else(|error| panic!("{error}"));
        Session { kernel: started.kernel, notices: started.notices, bed: self }
    }
}

fn environment(scratch: &Scratch) -> Vec<(OsString, OsString)> {
    ["PATH", "HOME", "LANG"]
        .into_iter()
        .filter_map(|name| Some((name.into(), std::env::var_os(name)?)))
        .chain([
            ("IPYTHONDIR".into(), scratch.path().join("ipython").into()),
            ("PIP_DISABLE_PIP_VERSION_CHECK".into(), "1".into()),
        ])
        .collect()
}

/// A kernel and where it runs.
pub(crate) struct Session {
    pub(crate) kernel: Box<dyn Kernel>,
    pub(crate) notices: Vec<String>,
    pub(crate) bed: Bed,
}

impl Session {
    /// Runs a cell to its end.
    pub(crate) async fn run(&self, code: &str) -> Heard {
        self.request(Request::new(code)).await
    }

    pub(crate) async fn request(&self, request: Request) -> Heard {
        Heard(all(self.kernel.execute(request).await.unwrap()).await)
    }

    /// Runs cells one after the other, each beside its expected output.
    pub(crate) async fn check(&self, cells: &[(&str, &str)]) {
        let mut wrong = String::new();
        for (code, expected) in cells {
            let said = self.run(code).await.to_string();
            if said != *expected {
                let _ = writeln!(wrong, "{code}\n--- must say\n{expected}\n--- says\n{said}\n");
            }
        }
        assert!(wrong.is_empty(), "\n{wrong}");
    }

    /// Runs a cell and interrupts it once it has printed `ready`.
    pub(crate) async fn interrupted(&self, code: &str) -> Heard {
        let mut execution = self.kernel.execute(Request::new(code)).await.unwrap();
        let mut events = until_printed(&mut execution, "ready").await;
        self.kernel.interrupt(execution.id).await.unwrap();
        events.extend(all(execution).await);
        Heard(events)
    }

    /// Ends the kernel; nothing may be left of it.
    pub(crate) async fn end(self) {
        let pid = self.kernel.identity().pid.unwrap();
        self.kernel.shutdown().await;
        until_gone(pid);
    }
}

/// The events of an execution to its end.
pub(crate) async fn all(mut execution: Execution) -> Vec<Event> {
    let mut events = Vec::new();
    let reading = async {
        while let Some(event) = execution.events.recv().await {
            events.push(event);
        }
    };
    if tokio::time::timeout(LONG, reading).await.is_err() {
        panic!("the execution did not end: {:?}", Heard(events));
    }
    assert!(matches!(events.last(), Some(Event::Done(_) | Event::Died(_))), "{events:?}");
    events
}

/// The events of an execution until its standard output contains a text.
pub(crate) async fn until_printed(execution: &mut Execution, text: &str) -> Vec<Event> {
    let mut events = Vec::new();
    loop {
        let event = tokio::time::timeout(LONG, execution.events.recv()).await;
        events.push(event.unwrap_or_else(|_| panic!("{text:?} was not printed: {events:?}")).unwrap());
        if stream_of(&events, StreamName::Stdout).contains(text) {
            return events;
        }
    }
}

fn stream_of(events: &[Event], wanted: StreamName) -> String {
    let mut bytes = Vec::new();
    for event in events {
        if let Event::Stream { name, bytes: more, .. } = event
            && *name == wanted
        {
            bytes.extend_from_slice(more);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The output of a cell. As text it has a line for each output, with line ends written as `\n` and neighbouring text of
/// one stream put together; a cell that ends well says nothing at its end.
#[derive(Debug)]
pub(crate) struct Heard(pub(crate) Vec<Event>);

impl Heard {
    pub(crate) fn stdout(&self) -> String {
        stream_of(&self.0, StreamName::Stdout)
    }

    pub(crate) fn stderr(&self) -> String {
        stream_of(&self.0, StreamName::Stderr)
    }

    /// The text of the result.
    pub(crate) fn result(&self) -> Option<&str> {
        self.0.iter().find_map(|event| match event {
            Event::Result { data, .. } => data.get_text("text/plain"),
            _ => None,
        })
    }

    pub(crate) fn outcome(&self) -> Option<&Outcome> {
        match self.0.last() {
            Some(Event::Done(outcome)) => Some(outcome),
            _ => None,
        }
    }

    pub(crate) fn is_ok(&self) -> bool {
        self.outcome().is_some_and(|outcome| outcome.status == Status::Ok)
    }

    /// The error's name, message and traceback.
    pub(crate) fn error(&self) -> Option<(&str, &str, String)> {
        self.0.iter().find_map(|event| match event {
            Event::Error { name, message, traceback } => Some((&**name, &**message, traceback.join("\n"))),
            _ => None,
        })
    }
}

impl std::fmt::Display for Heard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text: Option<(StreamName, bool, Vec<u8>)> = None;
        let mut lines = Vec::new();
        let end_text = |text: &mut Option<(StreamName, bool, Vec<u8>)>, lines: &mut Vec<String>| {
            if let Some((name, late, bytes)) = text.take() {
                let late = if late { " late" } else { "" };
                lines.push(format!("{name}{late} {}", one_line(&String::from_utf8_lossy(&bytes))));
            }
        };
        for event in &self.0 {
            if let Event::Stream { name, bytes, late } = event {
                match &mut text {
                    Some((last, last_late, all)) if (*last, *last_late) == (*name, *late) => {
                        all.extend_from_slice(bytes);
                    }
                    _ => {
                        end_text(&mut text, &mut lines);
                        text = Some((*name, *late, bytes.to_vec()));
                    }
                }
                continue;
            }
            end_text(&mut text, &mut lines);
            let shown = |data: &cellist_output::MimeBundle, id: Option<&str>| {
                let mut shown = String::new();
                for (mime, data) in data.iter() {
                    match data {
                        MimeData::Text(text) => shown += &format!(" {mime}={}", one_line(text)),
                        MimeData::Json(json) => shown += &format!(" {mime}={}", json.get()),
                    }
                }
                if let Some(id) = id {
                    shown += &format!(" ({id})");
                }
                shown
            };
            lines.push(match event {
                Event::Started { .. } | Event::Stream { .. } | Event::Comm(_) => continue,
                Event::Late { owner, event } => format!("late of {owner}: {event:?}"),
                Event::Display { data, display_id, .. } => {
                    format!("display{}", shown(data, display_id.as_deref()))
                }
                Event::UpdateDisplay { data, display_id, .. } => {
                    format!("update{}", shown(data, Some(display_id)))
                }
                Event::Result { data, display_id, .. } => {
                    format!("result{}", shown(data, display_id.as_deref()))
                }
                Event::ClearOutput { wait } => format!("clear wait={wait}"),
                Event::Error { name, message, .. } => format!("error {name}: {}", one_line(message)),
                Event::Failure { name, message, .. } => format!("failure {name}: {}", one_line(message)),
                Event::InputRequested => "input requested".to_owned(),
                Event::Progress { label, done, total } => format!("progress {label:?} {done} of {total:?}"),
                Event::WidgetText { text, .. } => format!("widget {text}"),
                Event::OutputLost => "output lost".to_owned(),
                Event::OutputRefused { what } => format!("refused {what}"),
                Event::Done(Outcome { status: Status::Ok, .. }) => continue,
                Event::Done(Outcome { cancelled: true, .. }) => "cancelled".to_owned(),
                Event::Done(_) => "failed".to_owned(),
                Event::Died(death) => format!("died: {death:?}"),
            });
        }
        end_text(&mut text, &mut lines);
        f.write_str(&lines.join("\n"))
    }
}

fn one_line(text: &str) -> String {
    text.replace('\n', "\\n").replace('\r', "\\r")
}
