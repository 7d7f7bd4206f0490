//! The assistant on a page's socket: what is said, what is told, and what is kept when a page goes and comes back.

use std::fs;

use cellist_link::Request;
use cellist_session::orders::Asker;
use cellist_tools::EditorReport;
use serde_json::{Value, json};
use testkit::{Asked, Models, Said};

use crate::site::{Page, Site};

/// A site with a provider that says what a test wrote for it.
struct Room {
    site: Site,
    models: Models,
}

impl Room {
    async fn new(script: impl IntoIterator<Item = Said>) -> Room {
        let models = Models::start(script);
        let mut site = Site::new().await;
        let variables = vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())];
        site.opened.asker = Asker {
            variables,
            python: Some(testkit::python("kernels")),
            backend: serde_json::from_value(json!("runner")).unwrap(),
            ..Asker::default()
        };
        let room = Room { site, models };
        room.settings("");
        room
    }

    fn settings(&self, more: &str) {
        let url = self.models.url();
        let config =
            format!("[chat]\nprovider = \"anthropic\"\nmodel = \"scripted\"\nbase_url = \"{url}\"\n{more}");
        fs::write(self.site.bed.home.path().join("config.toml"), config).unwrap();
    }

    /// A page that has the notebook in front and its conversation open.
    async fn page(&self) -> Page {
        let (mut page, _) = self.site.page().await;
        look(&mut page, None).await;
        open(&mut page, false).await;
        page
    }

    fn sources(&self) -> Vec<String> {
        let file: Value = serde_json::from_slice(&fs::read(&self.site.path).unwrap()).unwrap();
        let text = |lines: &Value| match lines {
            Value::Array(lines) => lines.iter().map(|line| line.as_str().unwrap()).collect(),
            other => other.as_str().unwrap().to_owned(),
        };
        file["cells"].as_array().unwrap().iter().map(|cell| text(&cell["source"])).collect()
    }
}

async fn look(page: &mut Page, editing: Option<&str>) {
    let looking = json!({ "cell": editing, "selected": [], "editing": editing.is_some() });
    assert_eq!(page.ask(json!({ "present": looking })).await, json!({ "Ok": "done" }));
}

async fn open(page: &mut Page, is_new: bool) -> Value {
    let mut answer = page.chat(json!({ "open": { "is_new": is_new } })).await;
    assert!(answer["Ok"]["chat"].is_object(), "{answer}");
    answer["Ok"]["chat"].take()
}

/// A message in a mode, with the notebook attached.
fn message(mode: &str, words: &str) -> Value {
    json!({ "words": words, "mode": mode, "is_attached": true, "attached": [], "selected": [], "outputs": [] })
}

async fn send(page: &mut Page, message: Value) {
    assert_eq!(page.chat(json!({ "send": message })).await, json!({ "Ok": "done" }));
}

/// All that is told up to something, by what it is called.
async fn until(page: &mut Page, name: &str) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        let mut news = page.next_chat().await;
        let told = news["told"].as_array_mut().unwrap();
        let at = told.iter().position(|told| told.get(name).is_some());
        all.extend(told.drain(..at.map_or(told.len(), |at| at + 1)));
        if at.is_some() {
            // What was told beyond that is for whoever listens next.
            page.chats.insert(0, news);
            return all;
        }
    }
}

fn find<'a>(told: &'a [Value], name: &str) -> &'a Value {
    told.iter().find_map(|told| told.get(name)).unwrap_or_else(|| panic!("no {name} in {told:?}"))
}

fn words(told: &[Value]) -> String {
    told.iter().filter_map(|told| told["text"].as_str()).collect()
}

/// The names of the tools in a request.
fn tools(asked: &Asked) -> Vec<String> {
    let tools = asked.body["tools"].as_array().into_iter().flatten();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_told_as_it_comes_with_what_the_host_really_did() {
    let change = json!({ "cell": "a", "content": "x = 2\nprint(x)", "run": true });
    let room = Room::new([
        Said::text(&["I change ", "it."]).and_call("update_notebook_cell", change),
        Said::text(&["It prints 2."]),
    ])
    .await;
    room.settings("run_code = \"allow\"\n");
    let (mut page, _) = room.site.page().await;
    look(&mut page, None).await;
    let chat = open(&mut page, false).await;
    assert_eq!(chat["account"], json!({ "provider": "anthropic", "model": "scripted" }));
    assert_eq!((&chat["run_code"], &chat["notebooks"]), (&json!("allow"), &json!([])));
    assert_eq!(chat["references"][0], json!({ "name": "#runNotebookCells", "mode": "agent" }));
    assert_eq!(chat["references"][4], json!({ "name": "#getNotebookCells", "mode": "ask" }));

    let said = json!({ "words": "change it", "mode": "agent", "is_attached": true, "attached": [], "selected": ["b"], "outputs": ["a"] });
    send(&mut page, said).await;
    let told = until(&mut page, "ended").await;
    let asked = find(&told, "asked");
    assert_eq!(
        (&asked["words"], &asked["mode"], &asked["notebook_mode"]),
        (&json!("change it"), &json!("agent"), &json!(true))
    );
    assert_eq!((&asked["selected"], &asked["outputs"]), (&json!(["b"]), &json!(["a"])));
    assert_eq!(asked["attached"], json!([room.site.path]));
    assert_eq!(words(&told), "I change it.It prints 2.");
    let result = find(&told, "result");
    assert_eq!(
        result["deeds"],
        json!([
            { "cell": "a", "deed": "changed", "added": 2, "removed": 1 },
            { "cell": "a", "deed": "ran", "added": 0, "removed": 0 },
        ]),
        "{result}"
    );
    assert_eq!((&result["needs_mode"], &result["is_failure"]), (&json!(null), &json!(false)));
    assert_eq!(room.sources(), ["x = 2\nprint(x)", "y = 1"]);
    assert_eq!(find(&told, "ended")["ending"], json!("done"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_wait_in_a_queue_can_be_withdrawn_and_a_page_that_comes_back_gets_everything() {
    let room = Room::new([Said::text(&["First ", "answer."]).held(), Said::text(&["Second answer."])]).await;
    let mut page = room.page().await;
    send(&mut page, message("ask", "one")).await;
    until(&mut page, "text").await;
    for words in ["two", "three"] {
        send(&mut page, message("ask", words)).await;
    }
    let waiting = loop {
        let news = page.next_chat().await;
        if news["waiting"].as_array().unwrap().len() == 2 {
            break news["waiting"].clone();
        }
    };
    assert_eq!(waiting[0]["words"], json!("two"));
    let number = &waiting[0]["number"];
    assert_eq!(page.chat(json!({ "withdraw": { "number": number } })).await, json!({ "Ok": "done" }));
    let late = page.chat(json!({ "withdraw": { "number": number } })).await;
    assert_eq!(late["Err"]["kind"], json!("not_waiting"));

    // The page is loaded again in the middle of an answer.
    drop(page);
    let mut page = room.page().await;
    let news = page.next_chat().await;
    assert_eq!(
        (&news["from"], &news["is_answering"], &news["inline"]),
        (&json!(0), &json!(true), &json!(null))
    );
    assert_eq!(news["waiting"][0]["words"], json!("three"));
    let told = news["told"].as_array().unwrap().clone();
    assert_eq!((find(&told, "asked")["words"].as_str(), words(&told).as_str()), (Some("one"), "First "));
    room.models.release();
    until(&mut page, "ended").await;
    let told = until(&mut page, "ended").await;
    assert_eq!(
        (find(&told, "asked")["words"].as_str(), words(&told).as_str()),
        (Some("three"), "Second answer.")
    );
    assert_eq!(room.models.asked().len(), 2, "what was withdrawn is never sent");

    // A new conversation begins with nothing, for every page of the notebook.
    let mut other = room.page().await;
    other.next_chat().await;
    open(&mut page, true).await;
    let news = other.next_chat().await;
    assert_eq!((&news["from"], &news["told"]), (&json!(0), &json!([])), "{news}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_eight_scenarios_hold_for_what_is_said_on_a_page() {
    const ALL: &[&str] = &["ask", "edit", "agent"];
    enum Front {
        Own,
        Other,
        Nothing,
    }
    // Whether the page's notebook is attached, others that are, what is in front, modes, and whether there are tools to
    // look and to change with.
    let one: &[&str] = &[];
    let two: &[&str] = &["other.ipynb"];
    let scenarios = [
        (true, one, Front::Own, &ALL[..1], true, false),
        (true, one, Front::Own, &ALL[1..2], true, false),
        (true, one, Front::Own, &ALL[2..], true, true),
        (true, one, Front::Other, ALL, false, false),
        (false, one, Front::Own, ALL, false, false),
        (true, two, Front::Own, &ALL[..2], true, false),
        (true, two, Front::Own, &ALL[2..], true, true),
        (true, two, Front::Nothing, ALL, false, false),
    ];
    let room = Room::new(std::iter::repeat_n(Said::text(&["Fine."]), 20)).await;
    let other = fs::copy(&room.site.path, room.site.bed.scratch.path().join("other.ipynb"))
        .map(|_| room.site.bed.scratch.path().join("other.ipynb").canonicalize().unwrap())
        .unwrap();
    let mut page = room.page().await;
    let (mut beside, _) = room.site.page().await;
    beside.open(&other, &[]).await;
    let mut count = 0;
    for (number, (is_attached, attached, front, modes, looks, changes)) in (1..).zip(scenarios) {
        for mode in modes {
            match front {
                Front::Own => look(&mut page, None).await,
                Front::Other => look(&mut beside, None).await,
                Front::Nothing => {
                    let report = Box::new(EditorReport::default());
                    room.site.link.ask(Request::Editor(Some(report))).await.unwrap();
                }
            }
            let said = json!({ "words": "hello", "mode": mode, "is_attached": is_attached, "attached": attached, "selected": [], "outputs": [] });
            send(&mut page, said).await;
            let told = until(&mut page, "ended").await;
            let sent = &room.models.asked()[count];
            count += 1;
            let at = format!("scenario {number} in {mode} mode");
            assert_eq!(find(&told, "asked")["notebook_mode"], json!(looks), "{at}");
            for tool in ["get_notebook_cells", "get_cell_outputs"] {
                assert_eq!(tools(sent).iter().any(|name| name == tool), looks, "{at}: {tool}");
            }
            for tool in ["run_notebook_cells", "add_notebook_cell", "update_notebook_cell"] {
                assert_eq!(tools(sent).iter().any(|name| name == tool), changes, "{at}: {tool}");
            }
            // The state of the notebook goes along where it is worked on.
            let body = sent.body["messages"].to_string();
            assert_eq!(body.contains("- cells: 2"), looks, "{at}: {body}");
        }
    }
}
