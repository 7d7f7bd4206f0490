//! Whole notebooks: 500 trivial cells, and a few that load pandas and draw.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::made::{code_cells, outputs};
use crate::measure::{self, cellist, in_ms, in_turn, peer};
use crate::table::{Figure, Target};

const CELLS: usize = 500;
const ROUNDS: usize = 5;

const HEAVY: [&str; 3] = [
    "import pandas as pd\nimport matplotlib\nmatplotlib.use('agg')\nimport matplotlib.pyplot as plt",
    "frame = pd.DataFrame({'x': range(1000), 'y': [n * n for n in range(1000)]})\nprint(frame.describe())",
    "figure, axes = plt.subplots()\naxes.plot(frame.x, frame.y)\nfigure.savefig('plot.png')\nplt.close(figure)",
];

pub(crate) fn run() -> Vec<Figure> {
    let folder = tempfile::tempdir_in(testkit::target_dir()).expect("the target folder can be written");
    let path = |name: &str| folder.path().join(name);
    let python = testkit::python("bench-kernels");
    let sources: Vec<String> = (0..CELLS).map(|number| format!("x = {number}\nx")).collect();
    let names = ["runner", "zmq", "nbclient", "papermill", "raw"].map(|name| path(&format!("{name}.ipynb")));
    names.iter().for_each(|name| code_cells(name, &sources));
    let [on_runner, on_zmq, with_nbclient, with_papermill, with_raw] = &names;
    let cellist_run = |backend: &str, notebook: &Path| {
        let mut command = Command::new(cellist());
        command.args(["run", "--backend", backend, "--python"]).arg(&python).arg(notebook);
        measure::run(command.env("CELLIST_HOME", path("home")).stdout(Stdio::null()))
    };
    let script =
        |name: &str, notebook: &Path| measure::run(Command::new(&python).arg(peer(name)).arg(notebook));

    let mut runner = |_| cellist_run("runner", on_runner);
    let mut zmq = |_| cellist_run("jupyter", on_zmq);
    let mut nbclient = |_| script("run_nbclient.py", with_nbclient);
    let mut raw = |_| script("run_raw.py", with_raw);
    let [runner, zmq, nbclient, raw] = in_turn(ROUNDS, [&mut runner, &mut zmq, &mut nbclient, &mut raw]);
    // It saves after every cell and takes half a minute, so one round must do.
    let papermill = script("run_papermill.py", with_papermill);
    for notebook in &names {
        let results = outputs(notebook);
        assert_eq!(results.len(), CELLS, "{}", notebook.display());
        assert_eq!(
            results[CELLS - 1][0]["data"]["text/plain"],
            serde_json::json!(["499"]),
            "{}",
            notebook.display()
        );
    }

    let (heavy, as_script) = (path("heavy.ipynb"), path("heavy.py"));
    code_cells(&heavy, &HEAVY);
    std::fs::write(&as_script, HEAVY.join("\n")).expect("the folder can be written");
    let mut heavy_notebook = |_| cellist_run("runner", &heavy);
    let mut heavy_script = |_| {
        measure::run(Command::new(&python).arg(&as_script).current_dir(folder.path()).stdout(Stdio::null()))
    };
    let [notebook, script] = in_turn(ROUNDS, [&mut heavy_notebook, &mut heavy_script]);
    assert!(!outputs(&heavy)[1].is_empty(), "the heavy notebook printed nothing");

    vec![
        Figure {
            promise: "runner: 500 cells, times faster than nbclient",
            other: ("nbclient", in_ms(nbclient.wall())),
            ours: in_ms(runner.wall()),
            value: nbclient.ratio(&runner),
            unit: "x",
            target: Target::AtLeast(20.0),
        },
        Figure {
            promise: "ipykernel: 500 cells, as a multiple of a raw pyzmq client",
            other: ("raw pyzmq", in_ms(raw.wall())),
            ours: in_ms(zmq.wall()),
            value: zmq.ratio(&raw),
            unit: "x",
            target: Target::AtMost(1.1),
        },
        Figure {
            promise: "ipykernel: 500 cells, times faster than nbclient",
            other: ("nbclient", in_ms(nbclient.wall())),
            ours: in_ms(zmq.wall()),
            value: nbclient.ratio(&zmq),
            unit: "x",
            target: Target::AtLeast(1.0),
        },
        Figure {
            promise: "ipykernel: 500 cells, times faster than papermill",
            other: ("papermill", in_ms(papermill.wall)),
            ours: in_ms(zmq.wall()),
            value: papermill.wall.as_secs_f64() / zmq.wall().as_secs_f64(),
            unit: "x",
            target: Target::AtLeast(1.0),
        },
        Figure {
            promise: "runner: pandas and matplotlib, beyond the same code as a script",
            other: ("python script", in_ms(script.wall())),
            ours: in_ms(notebook.wall()),
            value: (notebook.wall().as_secs_f64() - script.wall().as_secs_f64()) * 1000.0,
            unit: " ms",
            target: Target::AtMost(150.0),
        },
    ]
}
