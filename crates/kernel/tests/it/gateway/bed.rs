//! Fixtures of tests with gateways: a target, a launch, and a kernel on it.

use std::ffi::OsString;
use std::sync::{Arc, Mutex};

use cellist_kernel::gateway::{self, Gateway, Target, Wanted, Which};
use cellist_kernel::{Error, Event, Execution, Kernel, Launch, Request, Trace};
use testkit::{Jupyter, Scratch, TOKEN};

use crate::zmq::bed::{LONG, Ran, files, rest, until};

pub(crate) struct Bed {
    pub(crate) scratch: Scratch,
    pub(crate) launch: Launch,
    pub(crate) lines: Arc<Mutex<Vec<String>>>,
}

impl Bed {
    pub(crate) fn new() -> Bed {
        let scratch = Scratch::new();
        let cwd = scratch.path().join("work");
        std::fs::create_dir(&cwd).unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let written = lines.clone();
        let launch = Launch {
            cwd,
            environment: vec![("PI_MARK".into(), OsString::from("a value"))],
            prelude: None,
            modules: Vec::new(),
            startup_timeout: LONG,
            runtime_dir: scratch.path().join("run"),
            trace: Some(Trace::new(move |line| written.lock().unwrap().push(line.to_owned()))),
        };
        Bed { scratch, launch, lines }
    }

    pub(crate) async fn try_start(&self, target: Target) -> Result<Running, Error> {
        let started = gateway::start(target, self.launch.clone()).await?;
        Ok(Running { kernel: started.kernel, notices: started.notices })
    }

    pub(crate) async fn start(&self, target: Target) -> Running {
        self.try_start(target)
            .await
            .unwrap_or_else(|error| panic!("{error}: {:?}", self.lines.lock().unwrap()))
    }

    /// The kernels that are written down as started from here.
    pub(crate) fn noted(&self) -> Vec<String> {
        let files = files(&self.launch.runtime_dir.join("gateway-kernels"));
        let entries = files.iter().filter(|path| path.extension().is_some_and(|ending| ending == "json"));
        entries.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
    }

    /// A new Python kernel.
    pub(crate) async fn on(&self, server: &Jupyter) -> Running {
        self.start(target(&server.url())).await
    }
}

pub(crate) fn at(url: &str) -> Gateway {
    Gateway::new(url, Some(TOKEN.to_owned())).unwrap()
}

pub(crate) fn target(url: &str) -> Target {
    Target { gateway: at(url), kernel: Which::Start(Wanted::default()), variables: Vec::new() }
}

pub(crate) struct Running {
    pub(crate) kernel: Box<dyn Kernel>,
    pub(crate) notices: Vec<String>,
}

impl Running {
    pub(crate) async fn begin(&self, code: &str) -> Execution {
        self.kernel.execute(Request::new(code)).await.unwrap()
    }

    pub(crate) async fn run(&self, code: &str) -> Ran {
        rest(&mut self.begin(code).await).await
    }

    /// Runs code until it has printed something.
    pub(crate) async fn begin_printing(&self, code: &str) -> (Execution, Ran) {
        let mut execution = self.begin(code).await;
        let printed = until(&mut execution, |event| matches!(event, Event::Stream { .. })).await;
        (execution, printed)
    }

    pub(crate) async fn end(self) {
        self.kernel.shutdown().await;
    }
}

/// The ids of the kernels that a server has.
pub(crate) fn kernels(server: &Jupyter) -> Vec<String> {
    let (status, body) = server.ask("GET", "/api/kernels", "");
    assert_eq!(status, 200, "{body}");
    let body = &body[body.find('[').unwrap()..=body.rfind(']').unwrap()];
    let list: serde_json::Value = serde_json::from_str(body).unwrap();
    list.as_array().unwrap().iter().map(|kernel| kernel["id"].as_str().unwrap().to_owned()).collect()
}
