//! Code in real kernels calls tools and uses helpers.

use std::path::PathBuf;
use std::sync::Arc;

use cellist_host::HostService;
use cellist_kernel::gateway::{SharedGateways, Token};
use cellist_kernel::order::{Order, Way};
use cellist_output::Ansi;
use cellist_session::execution::{Cancel, Reading, Status};
use cellist_session::orders::ClientEnvironment;
use cellist_session::sessions::{
    Code, OwnerId, Principal, RetryOnCrash, RunRules, SessionCall, SessionKey, SessionKind, Ticket,
};
use cellist_settings::{Settings, ToolMode};
use cellist_tools::{Agent, Caller, Mode, ToolName, ToolSet};
use serde_json::{Value, json};
use testkit::{Flavour, Jupyter};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::attacks::users::{require_root, visit};
use crate::bed::{Bed, LONG, soon};

/// The kernels of every test.
const BOTH: [&str; 2] = ["runner", "jupyter"];

pub(crate) struct Site {
    /// Keeps the folder.
    pub(crate) bed: Bed,
    service: HostService,
    pub(crate) agent: Arc<Agent>,
}

impl Site {
    pub(crate) async fn new(backend: &str, change: impl FnOnce(&mut Caller)) -> Site {
        let bed = Bed::new();
        let service = bed.service();
        cellist_serve::bridge::open(&service).await.unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let home = bed.scratch.path().as_os_str().to_owned();
        let mut environment = ClientEnvironment {
            variables: vec![("PATH".into(), path), ("HOME".into(), home)],
            python: Some(testkit::python("kernels")),
            ..ClientEnvironment::default()
        };
        environment.backend = serde_json::from_value(backend.into()).unwrap();
        let mut caller = Caller {
            name: "robot".to_owned(),
            session: "own".to_owned(),
            mode: Mode::Agent,
            tools: ToolSet::All,
            tool_mode: ToolMode::Both,
            cwd: bed.scratch.path().canonicalize().unwrap(),
            roots: Vec::new(),
            requires_active: false,
            is_shared: false,
            front: None,
            excluded: Vec::new(),
            allowed: Vec::new(),
            attached: Vec::new(),
            redaction: Default::default(),
            environment,
        };
        change(&mut caller);
        let agent = Arc::new(Agent::new(caller, OwnerId("robot".to_owned())));
        Site { bed, service, agent }
    }

    /// The text and status of code that the agent runs.
    async fn python(&self, code: &str) -> (String, bool) {
        let arguments = json!({ "code": code, "soft_wait": 100, "timeout": 100, "max_output": 100_000 });
        self.call(ToolName::Python, arguments).await
    }

    /// The text and status of a command that the agent runs.
    async fn bash(&self, command: &str) -> (String, bool) {
        self.call(ToolName::Bash, json!({ "command": command, "soft_wait": 100, "timeout": 100 })).await
    }

    async fn call(&self, tool: ToolName, arguments: Value) -> (String, bool) {
        let (news, _heard) = watch::channel(None);
        let toolbox = self.service.toolbox();
        let call = toolbox.call(&self.agent, tool, &arguments, &news, Cancel::never());
        let answer = soon(call).await;
        (answer.all_text(), answer.is_failure)
    }

    async fn told(&self, code: &str) -> String {
        let (text, failed) = self.python(code).await;
        assert!(!failed, "{text}");
        text
    }

    fn key(&self) -> SessionKey {
        SessionKey::new("own", self.agent.caller().cwd.as_path())
    }

    /// Runs code on the runner for another caller.
    pub(crate) fn run_for(&self, caller: Option<Principal>, code: &str) -> Ticket {
        let key = SessionKey::new("other", self.key().cwd);
        let way = Way::Runner { python: testkit::python("nbformat") };
        let order = Order { way, cwd: self.key().cwd, ..order() };
        self.service.sessions().call(SessionCall { key, order: order.into(), caller, ..call(code) })
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.key().cwd.join(name)
    }

    /// Sends a request by hand. Returns status and text.
    async fn ask(&self, url: &str, token: &str, length: usize, body: &[u8]) -> (u16, String) {
        let address = url.strip_prefix("http://").unwrap().strip_suffix("/call").unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "POST /call HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body).await.unwrap();
        let mut answer = String::new();
        soon(stream.read_to_string(&mut answer)).await.unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer.split("\r\n\r\n").nth(1).unwrap_or_default().to_owned())
    }

    pub(crate) async fn close(self) {
        self.service.close().await;
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // Our own gateway outlives its clients.
        let gateways = SharedGateways::of(self.bed.home.path());
        let ended = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(gateways.stop());
        });
        let _ = ended.join();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kernel_on_our_own_gateway_calls_tools_and_hides_the_token() {
    let site =
        Site::new("gateway", |caller| caller.environment.python = Some(testkit::python("gateway"))).await;
    std::fs::write(site.file("long.txt"), "line of text\n".repeat(20_000)).unwrap();
    assert!(site.told("print(len(tool.read(path='long.txt')))").await.contains("260000\n"));
    let (text, failed) = site.python("tool.python(code='1')").await;
    assert!(failed && text.contains("session own is busy"), "{text}");
    let told = site.told("print(bash('env').count('PI_TOOL_BRIDGE_TOKEN'))").await;
    assert!(told.starts_with('0'), "{told}");
    let view = site.service.sessions().list();
    assert_eq!(view[0].backend.to_string(), "gateway");
    site.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kernel_on_a_remote_gateway_has_helpers_and_learns_why_it_has_no_tools() {
    let server = Jupyter::shared(Flavour::KernelGateway);
    let site = Site::new("gateway", |caller| {
        caller.environment.gateway = Some(server.url());
        caller.environment.gateway_token = Some(Token(testkit::TOKEN.to_owned()));
        caller.environment.set = vec!["bridge.inherit=true".to_owned()];
    })
    .await;
    let told = site.told("print(write('a.txt', 'a'), sorted(k for k in getenv() if 'BRIDGE' in k))").await;
    assert!(told.starts_with("a.txt []\n"), "{told}");
    let (text, failed) = site.python("tool.read(path='a.txt')").await;
    assert!(failed && text.contains("this kernel runs behind a gateway, from where the tools"), "{text}");
    site.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bash_command_may_call_tools_if_all_processes_may() {
    let program = "import json, os, urllib.request as u\n\
        g = lambda name: os.environ['PI_TOOL_BRIDGE_' + name]\n\
        call = {'session': g('SESSION'), 'tool': 'python', 'arguments': {'code': 'print(6 * 7)'}}\n\
        head = {'Authorization': 'Bearer ' + g('TOKEN'), 'Content-Type': 'application/json'}\n\
        print(u.urlopen(u.Request(g('URL'), json.dumps(call).encode(), head)).read().decode())\n";
    for (inherits, expected) in [("false", "0"), ("true", "3")] {
        let set = vec![format!("bridge.inherit={inherits}")];
        let site = Site::new("runner", |caller| caller.environment.set = set).await;
        let (text, failed) = site.bash("env | grep -c PI_TOOL_BRIDGE_ || true").await;
        assert!(!failed && text.lines().next() == Some(expected), "{inherits}: {text}");
        if inherits == "true" {
            std::fs::write(site.file("call.py"), program).unwrap();
            let python = testkit::python("kernels");
            let (text, failed) = site.bash(&format!("{} call.py", python.display())).await;
            assert!(!failed && text.contains("42"), "{text}");
        }
        site.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_reads_truncated_output_by_its_artifact_id() {
    for backend in BOTH {
        let site = Site::new(backend, |_| {}).await;
        let told = site.told("for n in range(30_000): print('line', n)").await;
        let id = told.split("artifact://").nth(1).unwrap();
        let id: String = id.chars().take_while(|letter| letter.is_alphanumeric()).collect();
        let code =
            format!("t = output('{id}')\nprint(t == output('artifact://{id}'), t.count('\\n'), t[-11:])");
        let told = site.told(&code).await;
        assert!(told.starts_with("True 30000 line 29999\n"), "{told}");
        for (name, expected) in [("nothing1", "there is no artifact nothing1"), ("../x", "is not the id")] {
            let (text, failed) = site.python(&format!("output('{name}')")).await;
            assert!(failed && text.contains(expected), "{text}");
        }
        site.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_calls_tools_for_its_caller_and_gets_complete_answers() {
    for backend in BOTH {
        let site = Site::new(backend, |_| {}).await;
        std::fs::write(site.file("long.txt"), "line of text\n".repeat(20_000)).unwrap();
        assert!(site.told("print(len(tool.read(path='long.txt')))").await.contains("260000\n"));
        let told = site.told("print(tool.python(code='print(6 * 7)', session='second'))").await;
        assert!(told.contains("42\n"), "{told}");
        for (call, expected) in [
            ("tool.python(code='1')", "session own is busy: it runs the code that makes this call"),
            ("tool.python(code='1', session='own')", "session own is busy"),
            ("tool.fly()", "there is no tool `fly`; there are get_notebook_cells, "),
            ("tool.read(path='nothing.txt')", "nothing.txt: "),
            ("tool.read(colour='red')", "`path` is missing"),
            ("tool.write(path='a', content='x' * (20 << 20))", "the arguments of write are too large"),
        ] {
            let (text, failed) = site.python(call).await;
            assert!(failed && text.contains("ToolError") && text.contains(expected), "{call}: {text}");
        }
        site.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_has_only_the_rights_of_its_caller() {
    let site = Site::new("runner", |caller| caller.tools = ToolSet::Notebook).await;
    let (text, failed) = site.python("tool.bash(command='touch made')").await;
    assert!(failed && text.contains("bash is not among your tools"), "{text}");
    let mut looker = site.agent.caller().clone();
    (looker.mode, looker.tools) = (Mode::Ask, ToolSet::All);
    let looker = Arc::new(Agent::new(looker, OwnerId("looker".to_owned())));
    let ticket = site.run_for(Some(looker), "tool.write(path='made', content='')");
    let report = soon(ticket.done()).await.unwrap();
    assert_eq!(report.status, Status::Error);
    assert!(
        report.cells[0].report.text.contains("that needs Edit mode"),
        "{:?}",
        report.cells[0].report.text
    );
    assert!(!site.file("made").exists());
    // Code of a person has the rights of the person.
    let ticket = site.run_for(None, "tool.write(path='made', content='')");
    let report = soon(ticket.done()).await.unwrap();
    assert_eq!(report.status, Status::Ok, "{:?}", report.cells[0].report.text);
    assert!(site.file("made").exists());
    site.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_processes_get_no_token_by_default() {
    let look = "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', \
                'import os; print(\"PI_TOOL_BRIDGE_TOKEN\" in os.environ, \"PI_TOOL_BRIDGE_URL\" in os.environ)'], \
                stdout=subprocess.PIPE).stdout.decode())";
    for backend in BOTH {
        for (inherits, expected) in [("false", "False True\n"), ("true", "True True\n")] {
            let site = Site::new(backend, |caller| {
                caller.environment.set = vec![format!("bridge.inherit={inherits}")];
            });
            let site = site.await;
            let told = site.told(look).await;
            assert!(told.contains(expected), "{backend} {inherits}: {told}");
            site.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_without_the_sessions_own_token_are_refused() {
    let site =
        Site::new("runner", |caller| caller.environment.set = vec!["bridge.inherit=true".to_owned()]).await;
    let told = site
        .told(
            "import os\nprint('given', os.environ['PI_TOOL_BRIDGE_URL'], os.environ['PI_TOOL_BRIDGE_TOKEN'])",
        )
        .await;
    let given = told.lines().find_map(|line| line.strip_prefix("given ")).unwrap();
    let (url, token) = given.split_once(' ').unwrap();
    let call = |session: &str| {
        json!({ "session": session, "tool": "read", "arguments": { "path": "x" } }).to_string().into_bytes()
    };
    let check = async |token: &str, length: Option<usize>, body: Vec<u8>, status: u16, expected: &str| {
        let (got, said) = site.ask(url, token, length.unwrap_or(body.len()), &body).await;
        assert_eq!(got, status, "{said}");
        assert!(said.contains(expected), "{said}");
        assert!(serde_json::from_str::<Value>(&said).unwrap()["failed"].as_bool().unwrap(), "{said}");
    };
    check("wrong", None, call("own"), 401, "the token is missing or wrong").await;
    check(token, None, call("second"), 403, "the token does not belong to session second").await;
    // No code runs at this moment, so the call has no caller to act for.
    check(token, None, call("own"), 409, "no code is running in session own").await;
    check(token, Some(100 << 20), Vec::new(), 413, "the call is too large").await;
    check("wrong", Some(100 << 20), Vec::new(), 401, "the token is missing or wrong").await;
    check(token, None, b"nonsense".to_vec(), 400, "malformed call").await;
    let address = url.strip_prefix("http://").unwrap().strip_suffix("/call").unwrap();
    let request = |hosts: &str| {
        let body = String::from_utf8(call("own")).unwrap();
        let length = body.len();
        format!(
            "POST /call HTTP/1.1\r\n{hosts}Authorization: Bearer {token}\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    };
    // Only the exact name that code is given is accepted.
    let ours = format!("Host: {address}\r\n");
    let port = address.split_once(':').unwrap().1;
    for (hosts, expected) in [
        (ours.clone(), "409"),
        ("Host: 127.0.0.1:1\r\n".to_owned(), "403"),
        (format!("Host: 127.0.0.1:{port}.evil.test\r\n"), "403"),
        (format!("Host: localhost:{port}\r\n"), "403"),
        (format!("{ours}{ours}"), "40"),
    ] {
        let told = visit(None, address, &request(&hosts));
        assert!(
            told.contains(&format!("HTTP/1.1 {expected}")) && (expected == "409" || !told.contains("409")),
            "{hosts}: {told}"
        );
    }
    require_root();
    let told = visit(Some(65534), address, &request(&ours));
    assert!(told.starts_with("65534 b''"), "{told}");
    soon(site.service.sessions().stop(&site.key())).await.unwrap();
    check(token, None, call("own"), 401, "the token is missing or wrong").await;
    site.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn helpers_work_on_every_kernel_and_shadow_no_names() {
    for backend in BOTH {
        let site = Site::new(backend, |_| {}).await;
        let told = site
            .told(
                "write('sub/a.txt', 'one\\ntwo\\n'); append('sub/a.txt', 'three\\n');\n\
                 print(read('sub/a.txt').split(), find('*.txt'), grep('t[wh]', 'sub'))\n\
                 print(bash('echo shell; exit 3', check=False).code, run('echo', 'plain').strip())\n\
                 setenv('MARK', 5)\nprint(getenv('MARK'), getenv('NOTHING', 'none'))\nhelpers()",
            )
            .await;
        assert!(
            told.contains(
                "['one', 'two', 'three'] ['sub/a.txt'] [('sub/a.txt', 2, 'two'), ('sub/a.txt', 3, 'three')]\n\
                 3 plain\n5 none\n"
            ),
            "{told}"
        );
        let listed = told.split("5 none\n").nth(1).unwrap();
        assert!(listed.lines().take(12).all(|line| line.contains(": ")), "{listed}");
        let (text, failed) = site.python("bash('echo oh; exit 3')").await;
        assert!(failed && text.contains("failed with exit code 3") && text.contains("oh"), "{text}");
        // Code may define these names, and none of them is listed as a variable.
        let told = site
            .told("print([name for name in dir() if not name.startswith('_')])\nread = 5\nprint(read, tool)")
            .await;
        assert!(told.contains("5 tool.NAME(…)"), "{told}");
        assert!(!told.contains("'append'") && !told.contains("'helpers'"), "{told}");
        site.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_helper_call_is_reported_as_a_status() {
    for backend in BOTH {
        let site = Site::new(backend, |_| {}).await;
        site.told("1").await;
        let order = site.service.sessions().order(&site.key()).unwrap();
        let code = "write('b.txt', 'b')\ntool.read(path='b.txt');";
        let call = SessionCall { key: site.key(), order, ..call(code) };
        let report = soon(site.service.sessions().call(call).done()).await.unwrap();
        let outputs = serde_json::to_value(&report.cells[0].report.outputs).unwrap();
        let status = |output: &Value| output["data"]["application/x-cellist-status"].clone();
        let told: Vec<Value> = outputs.as_array().unwrap().iter().map(status).collect();
        assert_eq!(
            told,
            [
                json!({ "op": "write", "path": "b.txt", "chars": 1 }),
                json!({ "op": "tool", "tool": "read", "failed": false })
            ]
        );
        assert_eq!(report.cells[0].report.text, "");
        site.close().await;
    }
}

/// A call of a person.
fn call(code: &str) -> SessionCall {
    let reading = Reading::new(cellist_output::Limits::for_screen(), Ansi::Remove);
    let rules =
        RunRules { grace: LONG, retry: RetryOnCrash::Never, ..RunRules::new(&Settings::default(), reading) };
    let call = SessionCall::new(SessionKey::new("", "/"), SessionKind::Terminal, order().into(), rules);
    SessionCall { cells: vec![Code { code: code.to_owned(), ..Code::default() }], ..call }
}

fn order() -> Order {
    Order::new(Way::Runner { python: PathBuf::new() }, "")
}
