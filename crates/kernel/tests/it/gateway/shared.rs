//! The shared gateway: its end when idle, and its behaviour without free descriptors.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use cellist_kernel::gateway::{self, SharedGateways, start_shared};
use cellist_kernel::{Error, Order, order::Way};
use testkit::Scratch;

use super::bed::{Bed, Running};
use crate::zmq::bed::{LONG, rest};

/// A state folder whose gateways are ended with it.
struct Own {
    home: Scratch,
    python: PathBuf,
    gateways: SharedGateways,
    bed: Bed,
}

impl Own {
    fn new(idle: Duration) -> Own {
        let (home, mut bed) = (Scratch::new(), Bed::new());
        bed.launch.environment = ["PATH", "LANG"]
            .iter()
            .filter_map(|name| Some(((*name).into(), std::env::var_os(name)?)))
            .collect();
        bed.launch.environment.push(("HOME".into(), home.path().into()));
        let gateways = SharedGateways::of(home.path()).ending_after(idle);
        Own { home, python: testkit::python("gateway"), gateways, bed }
    }

    async fn obtain(&self) -> u32 {
        self.gateways.obtain(&self.python, &self.bed.launch.environment).await.unwrap();
        self.gateways.list().await[0].announcement.pid
    }

    async fn try_start(&self) -> Result<Running, Error> {
        let started = start_shared(self.home.path(), &self.python, self.bed.launch.clone()).await?;
        Ok(Running { kernel: started.kernel, notices: started.notices })
    }

    /// The ids of the kernels that it has.
    async fn kernels(&self) -> Vec<String> {
        let gateway = self.gateways.list().await[0].announcement.gateway();
        gateway::running(&gateway).await.unwrap().into_iter().map(|(id, _)| id).collect()
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let gateways = self.gateways.clone();
        let ended = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(gateways.stop());
        });
        let _ = ended.join();
    }
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < LONG, "{what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_gateway_ends_kernels_that_nobody_has_and_then_itself() {
    let own = Own::new(Duration::from_secs(2));
    own.obtain().await;
    let (kernel, left) = (own.try_start().await.unwrap(), own.try_start().await.unwrap());
    assert_eq!(own.kernels().await.len(), 2);
    // As if its owner had been killed: the connection is gone, and nobody has ended it.
    drop(left.kernel);
    until("the kernel that was left goes", async || own.kernels().await.len() == 1).await;
    assert_eq!(kernel.run("6 * 7").await.result(), Some("42"), "the other one stays");
    kernel.end().await;
    until("the gateway goes", async || own.gateways.list().await.is_empty()).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_gateway_without_files_is_started_anew_when_no_code_runs_on_it() {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};

    let own = Own::new(LONG * 10);
    let first = own.obtain().await;
    let kernel = own.try_start().await.unwrap();
    let open = std::fs::read_dir(format!("/proc/{first}/fd")).unwrap().count() as u64;
    let limit = Rlimit { current: Some(open + 20), maximum: Some(4096) };
    prlimit(Pid::from_raw(first as i32), Resource::Nofile, limit).unwrap();

    let full = own.try_start().await.err().unwrap();
    assert!(full.is_out_of_files() && full.hint().is_some(), "{full}");
    assert!(full.to_string().contains(&format!("of {} files open", open + 20)), "{full}");
    let way = Way::SharedGateway { python: own.python.clone(), home: own.home.path().to_owned() };
    let order = Order { way, ..order() };
    let (mut busy, _) = kernel.begin_printing("print(1)\nimport time; time.sleep(300)").await;
    assert!(!order.make_room().await, "code runs on it");
    kernel.kernel.interrupt(busy.id).await.unwrap();
    assert!(rest(&mut busy).await.outcome().cancelled);
    // It hears of the end of code a little later than we do.
    until("it is ended", async || order.make_room().await).await;
    assert_ne!(own.obtain().await, first);
    let other = own.try_start().await.unwrap();
    assert_eq!(other.run("1 + 1").await.result(), Some("2"));
    other.end().await;
    kernel.end().await;
    assert!(!Order { way: Way::Runner { python: own.python.clone() }, ..self::order() }.make_room().await);
}

#[cfg(target_os = "linux")]
fn order() -> Order {
    Order::new(Way::Runner { python: PathBuf::new() }, "")
}
