//! Each site that asks the system for a thread, a process, a descriptor or a large buffer does not get it once. The host stays,
//! other sessions keep their state, and a call that failed tells the reason.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use cellist_platform::fault::Site;
use serde_json::json;
use testkit::{Flavour, Jupyter, Models, Said, TOKEN};

use super::faults::{Shaky, edit};
use crate::bench::Backend;
use crate::desk::{Desk, Ran, notebook};
use crate::mcp::client::Client;

/// Work that passes a site.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// An edit of an open notebook.
    Edit,
    /// An edit while another process holds the lock of the notebook.
    EditLocked,
    /// An edit of a notebook of several megabytes.
    EditLarge,
    /// A look at a notebook that was not open.
    Open,
    /// Code in a new session on the runner.
    Runner,
    /// Code in a new session on ipykernel.
    Jupyter,
    /// Code in a new session behind a gateway.
    Gateway,
    Shell,
    /// Code that prints more than is shown.
    Flood,
    ReadArtifact,
    Page,
    Chat,
}

/// The outcome of work that misses something.
#[derive(Clone, Copy, Debug)]
enum Outcome {
    /// It is done another way.
    Done,
    /// It fails, and says this.
    Fails(&'static str),
    /// It says this; whether the end of the code is still heard is a matter of time.
    Tells(&'static str),
}
use Outcome::{Done, Fails, Tells};

/// Sites that a host passes when it works.
const AT_WORK: &[(Site, Work, Outcome)] = &[
    (Site::AsideJob, Work::Open, Fails("no thread can be had: ")),
    (Site::SessionThread, Work::Runner, Done),
    (Site::LockThread, Work::EditLocked, Fails("resource temporarily unavailable")),
    (Site::ArtifactThread, Work::Flood, Done),
    (Site::RevisionThread, Work::EditLarge, Done),
    (Site::KernelProcess, Work::Runner, Fails("cannot be started: ")),
    (Site::RunnerPipe, Work::Runner, Done),
    (Site::ShellPipe, Work::Shell, Fails("there is no pipe for the output: ")),
    (Site::KernelLogPipe, Work::Jupyter, Done),
    (Site::KernelSocket, Work::Jupyter, Done),
    (Site::ServerSocket, Work::Gateway, Fails("cannot be reached: too many open files")),
    (Site::Netlink, Work::Page, Done),
    (Site::FolderWatch, Work::Open, Done),
    (Site::LockFile, Work::Edit, Fails("not on disk yet")),
    (Site::NotebookFile, Work::Open, Fails("cannot be read: too many open files")),
    (Site::SavedFile, Work::Edit, Fails("not on disk yet")),
    (Site::TemporaryFile, Work::Edit, Fails("cannot be saved: too many open files")),
    (Site::ArtifactFile, Work::Flood, Done),
    (Site::ArtifactRead, Work::ReadArtifact, Fails("cannot be read: too many open files")),
    (Site::HostFrame, Work::Edit, Fails("the connection to the host was lost before it answered")),
    (Site::KernelMessage, Work::Jupyter, Done),
    (Site::GatewayMessage, Work::Gateway, Tells("for which there is no memory")),
    (Site::RunnerFrame, Work::Runner, Done),
    (Site::NotebookBuffer, Work::Open, Fails("cannot be read: cannot allocate memory")),
    (Site::ProviderEvent, Work::Chat, Done),
];

/// Sites that a host passes once, for its first kernel or its first page.
const AT_FIRST: &[(Site, Work, Outcome)] = &[
    (Site::GuardThread, Work::Runner, Done),
    (Site::GuardWatchThread, Work::Runner, Done),
    (Site::GuardPipe, Work::Runner, Done),
    (Site::GuardProcess, Work::Runner, Done),
    (Site::PageListener, Work::Page, Fails("the page cannot be served: too many open files")),
];

/// Sites of a host that starts, and of the commands around it.
const AT_START: [Site; 7] = [
    Site::WatcherThread,
    Site::AsideThread,
    Site::RegistrationFile,
    Site::TurnThread,
    Site::DetachedProcess,
    Site::ReaperThread,
    Site::McpMessage,
];

/// Passed only where Python is a shim of a version manager; without an answer the shim itself is used.
const WITH_A_SHIM: [Site; 1] = [Site::InterpreterProcess];

#[test]
fn each_site_is_in_a_table_of_this_test() {
    let known = AT_WORK.iter().chain(AT_FIRST).map(|(site, ..)| site).chain(&AT_START).chain(&WITH_A_SHIM);
    let known: Vec<&Site> = known.collect();
    let missing: Vec<&Site> = Site::ALL.iter().filter(|site| !known.contains(site)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// A host, an agent that misses things, and one that must not notice.
struct Walk {
    shaky: Shaky,
    agent: Client,
    gateway: std::sync::Arc<Jupyter>,
    _models: Models,
    number: usize,
}

impl Walk {
    /// A host that starts under a plan.
    fn new(plan: Option<&str>) -> Walk {
        let models = Models::start((0..4).map(|_| Said::text(&["hello"])));
        let config = format!(
            "[chat]\nprovider = \"openai\"\nmodel = \"scripted\"\nbase_url = \"{}/v1\"\napi_key = \"k\"\n",
            models.url()
        );
        let shaky = Shaky::set_up("", |desk| {
            fs::write(desk.state().join("config.toml"), config).unwrap();
            if let Some(plan) = plan {
                fs::write(desk.state().join("plan"), plan).unwrap();
            }
            let large = format!("# {}", "x".repeat(5 << 20));
            desk.write("large.ipynb", notebook(&["x = 0", &large]));
        });
        let agent = shaky.agent();
        let gateway = Jupyter::shared(Flavour::KernelGateway);
        Walk { shaky, agent, gateway, _models: models, number: 0 }
    }

    fn exec(&self, backend: &str, code: &str) -> (String, bool) {
        let session = format!("s{}", self.number);
        let python = testkit::python("kernels");
        // The reply is lost with the connection that a gateway's message ends.
        let seconds = if backend == "gateway" { "10" } else { "60" };
        let mut words = vec!["exec", "--session", &session, "--timeout", seconds, "--backend", backend];
        let url = self.gateway.url();
        match backend {
            "gateway" => words.extend(["--gateway", &url]),
            _ => words.extend(["--python", python.to_str().unwrap()]),
        }
        let mut command = self.shaky.desk.command(&[&words[..], &[code]].concat());
        command.env("PI_PYTHON_GATEWAY_TOKEN", TOKEN);
        told(&Ran::of(&mut command))
    }

    /// Works while a site gets nothing, and again when it does. Returns the faults.
    fn work(&mut self, work: Work) -> (String, bool) {
        self.number += 1;
        let number = self.number;
        match work {
            Work::Edit => self.agent.call("update_notebook_cell", edit(&format!("x = {number}"))),
            Work::EditLocked => {
                let held: Vec<File> = fs::read_dir(self.shaky.desk.state().join("locks"))
                    .unwrap()
                    .map(|entry| File::open(entry.unwrap().path()).unwrap())
                    .collect();
                held.iter().for_each(|file| file.lock().unwrap());
                self.work(Work::Edit)
            }
            Work::EditLarge => {
                let content = format!("x = {number}");
                let arguments = json!({ "notebook": "large.ipynb", "cell": "a", "content": content });
                self.agent.call("update_notebook_cell", arguments)
            }
            Work::Open => {
                let name = format!("n{number}.ipynb");
                self.shaky.desk.write(&name, notebook(&["y = 1"]));
                self.agent.call("get_notebook_cells", json!({ "notebook": name }))
            }
            Work::Runner => self.exec("runner", "'x' * 3_000_000"),
            Work::Jupyter => self.exec("jupyter", "'x' * 300_000"),
            Work::Gateway => self.exec("gateway", "'x' * 300_000"),
            Work::Shell => self.agent.call("bash", json!({ "command": "echo shell" })),
            Work::Flood => {
                self.agent.call("python", json!({ "code": "for n in range(60_000): print('line', n)" }))
            }
            Work::ReadArtifact => {
                let (text, _) = self.work(Work::Flood);
                let id = text.split("artifact://").nth(1).unwrap_or_else(|| panic!("{text}"));
                let id: String = id.chars().take_while(char::is_ascii_alphanumeric).collect();
                self.agent.call("read_artifact", json!({ "id": id, "tail": 2 }))
            }
            Work::Page => {
                let (text, failed) = told(&self.shaky.desk.run(&["open", "--no-browser", "nb.ipynb"]));
                if failed {
                    return (text, failed);
                }
                let page = self.shaky.page().unwrap_or_default();
                (page.lines().next().unwrap_or_default().to_owned(), !page.starts_with("HTTP/1.1 200"))
            }
            Work::Chat => told(&self.shaky.desk.run(&["chat", "nb.ipynb", "--mode", "ask", "hello"])),
        }
    }

    /// Does the work while a site gets nothing, and again when it does. Returns what is wrong with that.
    fn miss(&mut self, site: Site, work: Work, outcome: Outcome) -> Option<String> {
        self.shaky.plans(&format!("fail {}", site.name()));
        let (text, failed) = self.work(work);
        let told = |text: &str| format!("{site:?} {work:?}: {}", text.chars().take(400).collect::<String>());
        if fs::remove_file(self.shaky.plan()).is_ok() {
            return Some(format!("nobody asked for it: {}", told(&text)));
        }
        let is_expected = match outcome {
            Fails(says) => failed && text.contains(says),
            Tells(says) => text.contains(says),
            Done => !failed,
        };
        if !is_expected || text.contains("internal error") || text.contains("panicked") {
            return Some(format!("not {outcome:?}: {}", told(&text)));
        }
        self.shaky.check_upright();
        let work = if matches!(work, Work::EditLocked) { Work::Edit } else { work };
        let (text, failed) = self.work(work);
        failed.then(|| format!("nothing is missing any more: {}", told(&text)))
    }
}

fn told(ran: &Ran) -> (String, bool) {
    (format!("{}{}", String::from_utf8_lossy(&ran.out), ran.err), ran.exit != 0)
}

#[test]
fn each_thread_process_descriptor_and_buffer_may_be_missing_once() {
    Backend::Ipykernel.tally();
    Backend::KernelGateway.tally();
    let mut walk = Walk::new(None);
    let mut steady = walk.shaky.agent();
    let (text, failed) = steady.call("python", json!({ "code": "z = 42" }));
    assert!(!failed, "{text}");
    let (text, failed) = walk.work(Work::Edit);
    assert!(!failed, "{text}");
    let mut wrong = Vec::new();
    for (site, work, outcome) in AT_WORK {
        wrong.extend(walk.miss(*site, *work, *outcome));
        let (text, failed) = steady.call("python", json!({ "code": "print(z)" }));
        assert!(!failed && text.contains("42"), "{site:?}: {text}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let log = walk.shaky.log();
    assert!(!log.contains("internal error") && !log.contains("panicked"), "{log}");
}

#[test]
fn a_host_that_misses_something_for_its_first_kernel_or_page_goes_on() {
    for (site, work, outcome) in AT_FIRST {
        let mut walk = Walk::new(None);
        let wrong = walk.miss(*site, *work, *outcome);
        assert!(wrong.is_none(), "{wrong:?}");
    }
}

#[test]
fn a_host_without_a_watcher_of_its_socket_works() {
    let mut walk = Walk::new(Some(&format!("fail {}", Site::WatcherThread.name())));
    assert!(!walk.shaky.plan().exists(), "nobody asked for it");
    let (text, failed) = walk.work(Work::Edit);
    assert!(!failed, "{text}");
    walk.shaky.check_upright();
}

#[test]
fn commands_that_start_a_host_tell_what_is_missing() {
    for (site, words, says) in [
        (Site::AsideThread, &["serve"][..], "cannot start the 3 threads of the host"),
        (Site::RegistrationFile, &["serve"], "the state folder cannot be used"),
        (Site::DetachedProcess, &["serve", "--background"], "cellist"),
        (Site::TurnThread, &["serve", "--background"], ""),
    ] {
        let desk = Desk::new();
        let plan = desk.state().join("plan");
        fs::create_dir_all(desk.state().join("run")).unwrap();
        let turn = File::create(desk.state().join("run/host.turn")).unwrap();
        if site == Site::TurnThread {
            turn.lock().unwrap();
        }
        fs::write(&plan, format!("fail {}", site.name())).unwrap();
        let (text, failed) = told(&Ran::of(desk.command(words).env("CELLIST_FAULTS", &plan)));
        assert!(!plan.exists(), "{site:?}: nobody asked for it: {text}");
        assert!(failed && text.contains(says) && !text.contains("panicked"), "{site:?}: {text}");
        drop(turn);
        desk.run(&["serve", "--background"]).ok();
        desk.run(&["stop"]).ok();
    }
    // Without a thread that waits for its child, a host starts all the same.
    let desk = Desk::new();
    let plan = desk.state().join("plan");
    fs::write(&plan, format!("fail {}", Site::ReaperThread.name())).unwrap();
    Ran::of(desk.command(&["serve", "--background"]).env("CELLIST_FAULTS", &plan)).ok();
    assert!(!plan.exists());
    desk.run(&["stop"]).ok();
}

#[test]
fn a_message_of_an_agent_for_which_there_is_no_memory_is_refused_and_the_next_is_answered() {
    let desk = Desk::with(&["x = 0"]);
    let plan = desk.state().join("plan");
    let mut command: Command = desk.command(&["mcp", "--standalone"]);
    command.env("CELLIST_FAULTS", &plan).stderr(Stdio::null());
    let mut client = Client::greet(command, "2025-11-25");
    fs::write(&plan, format!("fail {}", Site::McpMessage.name())).unwrap();
    client.write_line(
        format!("{{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":\"{}\"}}", "x".repeat(100_000)).as_bytes(),
    );
    let (text, failed) = client.call("get_notebook_cells", json!({ "notebook": "nb.ipynb" }));
    assert!(!failed && text.contains("x = 0"), "{text}");
    assert!(!plan.exists());
    assert_eq!(client.leave(), 0);
}
