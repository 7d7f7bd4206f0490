//! A whole working day of an agent on real kernels: the result of each step, and the file at the end.

use std::process::Command;

use serde_json::{Value, json};

use super::client::Client;
use crate::bench::{Backend, Mark, without_environments};
use crate::desk::Desk;
use crate::run::comparable;

const NB: &str = "day.ipynb";

/// An agent, its desk and the person beside it.
struct Day<'a> {
    desk: &'a Desk,
    client: Client,
}

/// A server whose kernels run on this.
fn server(desk: &Desk, backend: Backend, mark: &Mark) -> Command {
    let flags = backend.flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut command = desk.command(&[&["mcp"], flags.as_slice()].concat());
    mark.put_on(&mut command);
    without_environments(&mut command);
    command
}

impl Day<'_> {
    fn begin<'a>(desk: &'a Desk, backend: Backend, mark: &Mark) -> Day<'a> {
        Day { desk, client: Client::greet(server(desk, backend, mark), "2025-11-25") }
    }

    #[track_caller]
    fn told(&mut self, tool: &str, arguments: Value) -> String {
        let (text, failed) = self.client.call(tool, arguments);
        assert!(!failed, "{tool}: {text}");
        text
    }

    #[track_caller]
    fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let (text, failed) = self.client.call(tool, arguments);
        assert!(failed && text.starts_with("Error: "), "{tool}: {text}");
        text
    }

    /// Adds a code cell, runs it, and says its id.
    #[track_caller]
    fn adds(&mut self, content: &str) -> String {
        let told = self.told("add_notebook_cell", added(content));
        id_in(&told)
    }

    /// Another client edits a cell.
    #[track_caller]
    fn person_writes(&self, cell: &str, source: &str) {
        self.desk.run(&["cell", "edit", NB, cell, "--source", source]).ok();
    }

    /// Runs everything in a new kernel, and compares with nbclient.
    #[track_caller]
    fn runs_all_as_nbclient(&mut self, backend: Backend) {
        let told = self.told("notebook_kernel", json!({ "notebook": NB, "action": "restart" }));
        assert!(told.contains("the kernel was restarted"), "{told}");
        let told = self.told("run_notebook_cells", json!({ "notebook": NB, "soft_wait": 300 }));
        assert!(told.contains("· ok") && !told.contains("stale"), "{told}");
        self.desk.run_with_nbclient(NB, "reference.ipynb");
        let (ours, theirs) = (self.desk.notebook_json(NB), self.desk.notebook_json("reference.ipynb"));
        if backend == Backend::Ipykernel {
            assert_eq!(ours["metadata"], theirs["metadata"]);
            let cells = |notebook: &Value| {
                notebook["cells"].as_array().unwrap().iter().map(comparable).collect::<Vec<_>>()
            };
            assert_eq!(cells(&ours), cells(&theirs));
        } else {
            let differences = testkit::differences(&theirs, &ours);
            assert!(differences.is_empty(), "{}", differences.join("\n"));
        }
    }

    /// The names and sources of the cells.
    fn sources(&self) -> Vec<(String, String)> {
        let notebook = self.desk.json(&["read", NB]);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let cells = notebook["cells"].as_array().unwrap();
        cells.iter().map(|cell| (text(&cell["id"]), text(&cell["source"]))).collect()
    }

    /// Runs and changes cells that were there, by the names that it is told.
    #[track_caller]
    fn works_on_cells_of_another_program(&mut self) {
        let names: Vec<String> = self.sources().into_iter().map(|(name, _)| name).collect();
        let listed = self.told("get_notebook_cells", json!({ "notebook": NB }));
        assert!(names.iter().all(|name| listed.contains(&format!("id={name} "))), "{listed}");
        let told = self.told("run_notebook_cells", json!({ "notebook": NB, "soft_wait": 300 }));
        assert!(told.contains("'edited in JupyterLab'\n") && told.ends_with("\n2 ok"), "{told}");
        self.another_program_writes_on_top("# Written in the morning");
        let mut ours = updated(&names[2], "y = 3\ny");
        (ours["run"], ours["soft_wait"]) = (json!(true), json!(300));
        let told = self.told("update_notebook_cell", ours);
        assert!(told.contains(&format!("[3] id={} · ok", names[2])) && told.contains("\n3\n"), "{told}");
        let now: Vec<String> = self.sources().into_iter().map(|(_, source)| source).collect();
        assert_eq!(now[0], "# Written in the morning");
        assert_eq!(now[1..], ["# From before ids\ntext", "x = 'edited in JupyterLab'\nx", "y = 3\ny"]);
    }

    /// Another program puts a Markdown cell on top of the file.
    fn another_program_writes_on_top(&self, source: &str) {
        let mut notebook = self.desk.notebook_json(NB);
        let cell = json!({ "cell_type": "markdown", "metadata": {}, "source": [source] });
        notebook["cells"].as_array_mut().unwrap().insert(0, cell);
        let (new, path) = (self.desk.path().join("day.new"), self.desk.path().join(NB));
        std::fs::write(&new, notebook.to_string()).unwrap();
        std::fs::rename(&new, &path).unwrap();
    }
}

fn added(content: &str) -> Value {
    json!({ "notebook": NB, "type": "code", "content": content, "run": true, "soft_wait": 300 })
}

fn updated(cell: &str, content: &str) -> Value {
    json!({ "notebook": NB, "cell": cell, "content": content })
}

/// The id in the first sentence of an answer.
fn id_in(told: &str) -> String {
    told.split(['(', ')']).nth(1).unwrap_or_else(|| panic!("{told}")).to_owned()
}

/// The text from a word to the next blank.
fn after<'a>(text: &'a str, word: &str) -> &'a str {
    let rest = text.split_once(word).unwrap_or_else(|| panic!("no {word:?}: {text}")).1;
    rest.split([' ', ']', '\n']).next().unwrap_or_default()
}

/// The format of the notebook that is worked on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    /// The newest, in which cells have ids.
    Ids,
    /// 4.4, in which they have none.
    NoIds,
    /// 4.4 as well, with cells that JupyterLab has written.
    Foreign,
}

#[track_caller]
fn a_day_on(backend: Backend, format: Format) {
    backend.tally();
    let (desk, mark) = (Desk::new(), Mark::new());
    let mut day = Day::begin(&desk, backend, &mark);

    // A notebook, cells, an error and its repair.
    match format {
        Format::Ids => drop(day.told("create_notebook", json!({ "notebook": NB }))),
        Format::NoIds => {
            desk.write(NB, r#"{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}"#);
        }
        Format::Foreign => {
            desk.write(NB, std::fs::read(testkit::fixture("saved/jupyterlab-from-4.4")).unwrap());
            day.works_on_cells_of_another_program();
        }
    }
    // The cells of this day come behind those that are there.
    let before = day.sources().len();
    let at: [usize; 6] = std::array::from_fn(|index| before + index);
    day.told("add_notebook_cell", json!({ "notebook": NB, "type": "markdown", "content": "# Sales" }));
    let sales = day.adds("import math\nsales = [3, 1, 4]\nprint(len(sales))");
    let broken = day.refused("add_notebook_cell", added("total = sum(sale)\ntotal"));
    let place = format!("cell {} (", at[2]);
    assert!(broken.starts_with(&format!("Error: day.ipynb: {place}")), "{broken}");
    assert!(broken.contains("NameError"), "{broken}");
    let total = after(&broken, &place).trim_end_matches("):").to_owned();
    let mut repair = updated(&total, "total = sum(sales)\ntotal");
    repair["run"] = json!(true);
    let told = day.told("update_notebook_cell", repair);
    assert!(told.contains("· ok") && told.contains("\n8\n"), "{told}");

    // The current state.
    let told = day.told("get_variables", json!({ "notebook": NB }));
    assert!(told.contains("sales: list of 3 = [3, 1, 4]\n") && told.contains("total: int = 8"), "{told}");

    // More than an answer holds, read piece by piece.
    let told = day.told("add_notebook_cell", added("for n in range(5000):\n    print('row', n)"));
    assert!(told.len() <= 16 * 1024 + 100 && told.contains(" of 5000 lines "), "{}", told.len());
    let artifact = after(&told, "artifact://").to_owned();
    let read = |lines: &str| json!({ "id": artifact.clone(), "lines": lines });
    let told = day.told("read_artifact", read("2500-2502"));
    assert!(told.contains("row 2499\n") && told.contains("row 2501") && !told.contains("row 2502"), "{told}");
    let told = day.told("read_artifact", read("2503-2504"));
    assert!(told.contains("row 2502\n") && told.contains("row 2503"), "{told}");
    let told = day.told("read", json!({ "path": format!("artifact://{artifact}:1-2") }));
    assert!(told.contains("row 0\nrow 1"), "{told}");
    let told = day.told("get_cell_outputs", json!({ "notebook": NB, "cell": at[3], "max_output": 600 }));
    assert!(told.len() <= 600 && told.matches("[…]").count() == 1 && told.contains("artifact://"), "{told}");

    // A picture comes as one.
    let plot = "import matplotlib.pyplot as plt\nplt.plot(sales)\nplt.show()";
    let (blocks, failed) = day.client.blocks("add_notebook_cell", added(plot));
    let images: Vec<&Value> = blocks.iter().filter(|block| block["type"] == "image").collect();
    assert!(!failed && images.len() == 1 && images[0]["mimeType"] == "image/png", "{blocks:?}");

    // A long call is handed over, interrupted and discarded; the state stays.
    let mut endless = added("import time\nprint('begun', flush=True)\nwhile True:\n    time.sleep(0.01)");
    endless["soft_wait"] = json!(0);
    let told = day.told("add_notebook_cell", endless);
    let execution = after(&told, "as execution ").to_owned();
    let told = day.told("notebook_kernel", json!({ "notebook": NB, "action": "interrupt" }));
    assert!(told.contains("interrupted"), "{told}");
    let told = day.refused("wait", json!({ "execution": execution, "timeout": 300 }));
    assert!(told.contains("cancelled"), "{told}");
    let told = day.told("delete_notebook_cells", json!({ "notebook": NB, "cells": [at[5]] }));
    assert!(told.contains("time.sleep"), "{told}");
    let told = day.told("get_variables", json!({ "notebook": NB, "names": ["total"] }));
    assert!(told.contains("total: int = 8"), "{told}");

    // An edit of the text, and edits of cells that a person changes at the same time.
    day.told("read", json!({ "path": NB }));
    let told = day.told("edit", json!({ "path": NB, "old": "[3, 1, 4]", "new": "[3, 1, 4, 1, 5]" }));
    assert!(told.contains(&format!("changed {} ({sales})", at[1])), "{told}");
    day.person_writes(&sales, "import math, sys\nsales = [3, 1, 4, 1, 5]\nprint(len(sales))");
    let ours = updated(&sales, "import math\nsales = [3, 1, 4, 1, 5]\nprint(len(sales), 'sales')");
    let told = day.told("update_notebook_cell", ours);
    let merged = "import math, sys\nsales = [3, 1, 4, 1, 5]\nprint(len(sales), 'sales')";
    assert!(
        told.contains(&format!("Merged with changes by others. Cell {} is now:\n{merged}\n", at[1])),
        "{told}"
    );
    day.person_writes(&total, "total = sum(sales) + 1\ntotal");
    let told = day.refused("update_notebook_cell", updated(&total, "total = sum(sales) - 1\ntotal"));
    assert!(told.contains("sum(sales) - 1") && told.contains("sum(sales) + 1"), "{told}");
    let told = day.refused("update_notebook_cell", updated(&total, "total = sum(sales)\ntotal"));
    assert!(
        told.starts_with(&format!("Error: day.ipynb: Changed nothing: others have changed code {place}")),
        "{told}"
    );
    assert!(told.contains(&format!("Cell {} is now:\ntotal = sum(sales) + 1\ntotal\n", at[2])), "{told}");
    let told = day.told("update_notebook_cell", updated(&total, "total = sum(sales)\ntotal"));
    assert!(told.starts_with(&format!("Replaced the source of code {place}")), "{told}");

    if format != Format::Ids {
        // Another program writes the file; the names mean the same cells, and one that is gone is refused.
        let gone = day.adds("pass");
        day.told("delete_notebook_cells", json!({ "notebook": NB, "cells": [gone] }));
        let before: Vec<String> = day.sources().into_iter().map(|(name, _)| name).collect();
        day.another_program_writes_on_top("# Written by another program");
        let told = day.told("update_notebook_cell", updated(&total, "total = sum(sales) + 0\ntotal"));
        assert!(told.starts_with("Replaced the source of code cell ") && told.contains(&total), "{told}");
        let after = day.sources();
        assert_eq!(after[0].1, "# Written by another program");
        assert_eq!(after[1..].iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), before);
        let told = day.refused("update_notebook_cell", updated(&gone, "1"));
        assert!(told.contains(&format!("cell `{gone}` is gone: ")), "{told}");
        day.told("delete_notebook_cells", json!({ "notebook": NB, "cells": [after[0].0] }));
        assert!(!desk.text(NB).contains("\"id\":"));
    }

    // All of it, as nbclient would have left it.
    day.runs_all_as_nbclient(backend);
    let evening = day.sources();
    assert_eq!(evening[at[1]], (sales.clone(), merged.to_owned()));

    // The agent finds its way and takes its own change back.
    let told = day.told("search_notebook", json!({ "notebook": NB, "query": "len(sales)" }));
    let found = format!("[{}] id={sales} code\n3: print(len(sales), 'sales')", at[1]);
    assert!(told.contains(&found), "{told}");
    day.told("update_notebook_cell", updated(&sales, "sales = [0]"));
    let told = day.told("undo", json!({ "notebook": NB }));
    assert!(told.starts_with(&format!("Reverted 1 change: edited cell {sales}.")), "{told}");
    assert_eq!(day.sources(), evening);

    // Another agent's turn is taken back whole.
    assert_eq!(day.client.leave(), 0);
    let mut day = Day::begin(&desk, backend, &mark);
    let mut wrong = updated(&sales, "sales = []");
    wrong["run"] = json!(true);
    day.told("update_notebook_cell", wrong);
    day.told("delete_notebook_cells", json!({ "notebook": NB, "cells": [total] }));
    day.told("move_notebook_cell", json!({ "notebook": NB, "cell": sales, "index": 0 }));
    day.adds("print('in the way')");
    let history = desk.json(&["history", NB]);
    let turn = history["entries"][0]["turn"].as_str().unwrap();
    desk.run(&["undo", NB, "--turn", turn]).ok();
    assert_eq!(day.sources(), evening);
    day.runs_all_as_nbclient(backend);
    assert_eq!(day.client.leave(), 0);
}

#[test]
fn a_working_day_on_the_runner() {
    a_day_on(Backend::Runner, Format::Ids);
}

#[test]
fn a_working_day_on_ipykernel() {
    a_day_on(Backend::Ipykernel, Format::Ids);
}

#[test]
fn a_working_day_in_a_notebook_without_ids() {
    a_day_on(Backend::Runner, Format::NoIds);
}

#[test]
fn a_working_day_in_a_notebook_of_another_program_without_ids() {
    a_day_on(Backend::Runner, Format::Foreign);
}
