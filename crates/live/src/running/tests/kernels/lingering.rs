//! A kernel that prints after the end of its execution: each line `after TEXT` is late output.

use cellist_kernel::{Event, Execution, ExecutionId, Future, Identity, Kernel, Request, Result, State};
use cellist_output::StreamName;
use tokio::sync::{Mutex, mpsc, watch};

use super::scripted_kernel::ScriptedKernel;

pub(super) struct Lingering {
    kernel: ScriptedKernel,
    prints: mpsc::UnboundedSender<Event>,
    printed: Mutex<mpsc::UnboundedReceiver<Event>>,
}

impl Lingering {
    pub(super) fn new(kernel: ScriptedKernel) -> Lingering {
        let (prints, printed) = mpsc::unbounded_channel();
        Lingering { kernel, prints, printed: Mutex::new(printed) }
    }
}

impl Kernel for Lingering {
    fn identity(&self) -> Identity {
        self.kernel.identity()
    }

    fn state(&self) -> watch::Receiver<State> {
        self.kernel.state()
    }

    fn execute(&self, request: Request) -> Future<'_, Result<Execution>> {
        let texts = request.code.lines().filter_map(|line| line.strip_prefix("after "));
        for (text, owner) in texts.zip(std::iter::repeat(request.tag.clone())) {
            let bytes = format!("{text}\n").into_bytes().into();
            let event = Box::new(Event::Stream { name: StreamName::Stdout, bytes, late: false });
            self.prints.send(Event::Late { owner: owner.unwrap(), event }).unwrap();
        }
        self.kernel.execute(request)
    }

    fn late(&self) -> Future<'_, Event> {
        Box::pin(async {
            match self.printed.lock().await.recv().await {
                Some(event) => event,
                None => std::future::pending().await,
            }
        })
    }

    fn interrupt(&self, execution: ExecutionId) -> Future<'_, Result<()>> {
        self.kernel.interrupt(execution)
    }

    fn beat(&self) -> Future<'_, Result<()>> {
        self.kernel.beat()
    }

    fn restart(&self) -> Future<'_, Result<Vec<String>>> {
        self.kernel.restart()
    }

    fn shutdown(&self) -> Future<'_, ()> {
        self.kernel.shutdown()
    }
}
