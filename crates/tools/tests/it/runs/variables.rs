use serde_json::json;

use super::desk::{BOTH, Desk, execution, waits_for};

#[tokio::test]
async fn variables_are_listed_without_a_trace() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        let none = desk.told("get_variables", json!({})).await;
        assert_eq!(none, "session robot-1: no kernel is running, so there are no variables.");
        let code = "import numpy as np, pandas as pd\nx = 1\nwords = ['a'] * 1000\ntext = 'y' * 10_000\n\
                    df = pd.DataFrame({'n': range(3), 'm': 'word'})\narray = np.zeros((3, 4))\n\
                    class Loud:\n    def __repr__(self):\n        raise SystemExit\nloud = [Loud()]\nloudest = Loud()\n\
                    def f(): pass";
        desk.told("python", json!({ "code": code, "timeout": 120 })).await;
        let told = desk.told("get_variables", json!({})).await;
        let line =
            |name: &str| told.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
        assert!(told.starts_with("session robot-1: 7 variables\n"), "{told}");
        assert_eq!(line("x:"), "x: int = 1");
        assert!(line("words:").starts_with("words: list of 1000 = ['a', 'a', "), "{told}");
        assert!(
            line("text:").starts_with("text: str of 10000 = 'yyy") && line("text:").len() < 120,
            "{told}"
        );
        assert!(line("df:").starts_with("df: DataFrame 3×2, columns 'n' int64, 'm' "), "{told}");
        assert_eq!(line("array:"), "array: ndarray 3×4 float64");
        assert_eq!(
            (line("loud:"), line("loudest:")),
            ("loud: list of 1 = [<Loud>]".into(), "loudest: Loud".into())
        );
        assert_eq!((line("functions:"), line("classes:")), ("functions: f".into(), "classes: Loud".into()));
        assert_eq!(line("modules:"), "modules: np, pd");
        let some = desk.told("get_variables", json!({ "names": ["x", "nope"] })).await;
        assert_eq!(some, "session robot-1: 1 variable\nx: int = 1\nnot found: nope");
        // The hidden code changed neither the count nor the namespace.
        let after =
            desk.told("python", json!({ "code": "[n for n in globals() if 'cellist' in n], len(In)" })).await;
        assert!(after.starts_with("([], 3)\n"), "{after}");
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn a_busy_kernel_is_not_disturbed() {
    let desk = Desk::new("runner");
    let signal = desk.signal("go");
    let handed = desk.told("python", json!({ "code": waits_for(&signal), "soft_wait": 0 })).await;
    let busy = desk.refused("get_variables", json!({})).await;
    let running = format!("session robot-1: the kernel is busy with execution {} for ", execution(&handed));
    assert!(busy.contains(&running), "{busy}");
    std::fs::write(&signal, "").unwrap();
    desk.told("wait", json!({ "execution": execution(&handed), "timeout": 100 })).await;
    desk.bed.close().await;
}

#[tokio::test]
async fn a_running_notebook_is_busy() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        let signal = desk.signal("go");
        desk.bed.notebook("nb.ipynb", &[("a", &waits_for(&signal))]);
        let run = json!({ "notebook": "nb.ipynb", "soft_wait": 0 });
        let id = execution(&desk.told("run_notebook_cells", run).await);
        let mut waiting = desk.start("wait", json!({ "execution": id, "timeout": 600 }));
        waiting.until(|progress| progress.message == "cell 0: running").await;
        let busy = desk.refused("get_variables", json!({ "notebook": "nb.ipynb" })).await;
        assert!(busy.contains(&format!("nb.ipynb: the kernel is busy with execution {id} ")), "{busy}");
        // The cell cannot have ended: the file that it waits for is created now.
        let still = desk.told("wait", json!({ "execution": id, "timeout": 0 })).await;
        assert!(still.starts_with("Still running"), "{still}");
        std::fs::write(&signal, "").unwrap();
        assert!(!waiting.answer().await.is_failure);
        let told = desk.told("get_variables", json!({ "notebook": "nb.ipynb" })).await;
        assert!(told.contains("modules: os, time"), "{told}");
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn a_named_variable_is_described_without_running_its_code() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        let code = "import numpy as np, pandas as pd\n\
                    class Loud:\n    def __repr__(self): raise SystemExit\n    def __lt__(self, other): raise SystemExit\n\
                    class Sly:\n    @property\n    def __class__(self): raise SystemExit\n\
                    df = pd.DataFrame({' Age': [22.0, np.nan, 80.0], 'who': [Loud(), 'b', None], 3: [1, 2, 3]})\n\
                    array = np.arange(20.0)\narray[3] = np.nan\n\
                    table = {'k%d' % n: n for n in range(12)}\nloud = {Loud(): Loud()}\nlouder = Sly()";
        desk.told("python", json!({ "code": code, "timeout": 120 })).await;
        let told =
            desk.told("get_variables", json!({ "names": ["df", "array", "table", "loud", "louder"] })).await;
        let rest = told.strip_prefix("session robot-1: 5 variables\n").unwrap_or_else(|| panic!("{told}"));
        let items: String = (0..10).map(|n| format!("  'k{n}': {n}\n")).collect();
        assert_eq!(
            rest,
            format!(
                "df: DataFrame 3×3\n  ' Age' float64, 1 NaN, 22.0 to 80.0\n  'who' object, 1 NaN\n  3 int64, 1 to 3\n  head:\n  \
                 22.0 | <Loud> | 1\n  nan | 'b' | 2\n  80.0 | None | 3\n\
                 array: ndarray 20 float64, 1 NaN, 0.0 to 19.0\n  0.0, 1.0, 2.0, nan, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, … 10 more\n\
                 table: dict of 12\n{items}  … 2 more\nloud: dict of 1\n  <Loud>: <Loud>\nlouder: Sly"
            )
        );
        desk.bed.close().await;
    }
}
