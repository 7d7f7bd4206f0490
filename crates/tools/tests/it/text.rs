//! Notebooks as text and as JSON, and files of all kinds.

use cellist_tools::{AnswerBlock, ToolSet};
use serde_json::json;

use crate::bed::{Bed, sources, without_revisions};

const TWO: &[(&str, &str)] = &[("aa", "x = 1\n"), ("bb", "print(x)")];

/// The text alone, as an agent would write it back.
async fn text(bed: &Bed, path: &str) -> String {
    let answer = bed.answer("read", json!({ "path": path })).await;
    assert!(!answer.is_failure, "{}", answer.all_text());
    match &answer.blocks[0] {
        AnswerBlock::Text(text) => text.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_read_has_the_text_and_a_separate_remark() {
    let bed = Bed::new();
    bed.notebook("nb.ipynb", TWO);
    let answer = bed.answer("read", json!({ "path": "nb.ipynb" })).await;
    let blocks: Vec<String> = answer
        .blocks
        .iter()
        .map(|block| match block {
            AnswerBlock::Text(text) => without_revisions(text),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(blocks[0], "# %% [code] cell:0\nx = 1\n\n# %% [code] cell:1\nprint(x)\n");
    assert_eq!(blocks[1], "nb.ipynb · 2 cells · python · kernel not started · 5 lines · revision REV");
    bed.close().await;
}

#[tokio::test]
async fn parts_are_read_by_lines_cells_and_as_json() {
    let bed = Bed::new();
    let path = bed.notebook("nb.ipynb", TWO);
    assert_eq!(text(&bed, "nb.ipynb:4-5").await, "# %% [code] cell:1\nprint(x)\n");
    assert_eq!(text(&bed, "nb.ipynb:5,1-2").await, "print(x)\n# %% [code] cell:0\nx = 1\n");
    assert_eq!(text(&bed, "nb.ipynb#BB").await, "# %% [code] cell:1\nprint(x)\n");
    assert_eq!(text(&bed, "nb.ipynb:raw").await, std::fs::read_to_string(&path).unwrap());
    let refused = async |path: &str| bed.refused("read", json!({ "path": path })).await;
    assert_eq!(
        refused("nb.ipynb:4-9").await,
        "Error: nb.ipynb: lines 4-9 are out of range: there are 5 lines"
    );
    assert_eq!(
        refused("nb.ipynb#ax").await,
        "Error: nb.ipynb: no cell has the id `ax`; the nearest id is `aa`"
    );
    assert_eq!(
        refused("nb.ipynb:x").await,
        "Error: nb.ipynb:x: `:x` is not a selector; valid forms are :12-40, :5-9,30-44, :7, :raw and #CELL-ID"
    );
    // A file whose whole name exists takes precedence over a selector.
    std::fs::rename(&path, bed.work().join("nb.ipynb:4-5.ipynb")).unwrap();
    assert!(text(&bed, "nb.ipynb:4-5.ipynb").await.starts_with("# %% [code] cell:0"));
    bed.close().await;
}

#[tokio::test]
async fn a_broken_notebook_is_shown_raw_and_can_be_repaired() {
    let bed = Bed::new();
    bed.write("nb.ipynb", "{\"cells\": [], \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": }");
    assert!(bed.refused("read", json!({ "path": "nb.ipynb" })).await.contains("invalid JSON at line 1"));
    assert!(text(&bed, "nb.ipynb:raw").await.ends_with("\"nbformat_minor\": }"));
    let still =
        json!({ "path": "nb.ipynb:raw", "old": "\"nbformat_minor\": ", "new": "\"nbformat_minor\": x" });
    assert!(bed.refused("edit", still).await.contains("invalid JSON"));
    let mended =
        json!({ "path": "nb.ipynb:raw", "old": "\"nbformat_minor\": ", "new": "\"nbformat_minor\": 5" });
    assert_eq!(
        bed.told("edit", mended).await,
        "Wrote the JSON of nb.ipynb, a notebook with 0 cells. Revision REV."
    );
    bed.told("get_notebook_cells", json!({ "notebook": "nb.ipynb" })).await;
    bed.close().await;
}

#[tokio::test]
async fn one_piece_of_the_text_is_replaced() {
    let bed = Bed::new();
    let path = bed.notebook("nb.ipynb", TWO);
    let edit = |old: &str, new: &str| json!({ "path": "nb.ipynb", "old": old, "new": new });
    assert_eq!(
        bed.told("edit", edit("print(x)", "print(x + 1)")).await,
        "Wrote nb.ipynb: changed 1 (bb); kept 1 of 2. Revision REV."
    );
    assert_eq!(sources(&path), ["x = 1\n", "print(x + 1)"]);
    assert!(
        bed.refused("edit", edit("prnt(x + 1)", ""))
            .await
            .contains("the text to replace was not found; the nearest line is")
    );
    let several = bed.refused("edit", edit("x", "y")).await;
    assert_eq!(
        several,
        "Error: nb.ipynb: the text to replace occurs 2 times, at lines 2 and 5; give more of the text around it"
    );
    let typo = bed.refused("edit", edit("# %% [code] cell:1", "# %% [cod]")).await;
    assert!(typo.contains("line 4: `# %% [cod]` is not a cell marker; the nearest valid form is"), "{typo}");
    assert_eq!(sources(&path), ["x = 1\n", "print(x + 1)"]);
    bed.close().await;
}

#[tokio::test]
async fn a_written_text_lists_changed_cells() {
    let bed = Bed::new();
    let path = bed.notebook("nb.ipynb", TWO);
    let read = text(&bed, "nb.ipynb").await;
    let before = std::fs::read(&path).unwrap();
    let write = |content: &str| json!({ "path": "nb.ipynb", "content": content });
    assert_eq!(bed.told("write", write(&read)).await, "nb.ipynb already has this text. Revision REV.");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let told = bed.told("write", write("# %% [markdown]\n# New\n# %% [code] cell:1\nprint(2)\n")).await;
    let id = told.split(['(', ')']).nth(3).unwrap().to_owned();
    assert_eq!(
        told,
        format!("Wrote nb.ipynb: changed 1 (bb); added 0 ({id}); deleted 0; kept 0 of 2. Revision REV.")
    );
    assert_eq!(sources(&path), ["# New", "print(2)"]);
    // Its markers differ from those of the text now.
    let refused = bed.refused("write", write(&read)).await;
    assert!(
        refused.starts_with("Error: nb.ipynb: has changed since you read it: from revision REV to REV; "),
        "{refused}"
    );
    assert_eq!(sources(&path), ["# New", "print(2)"]);
    bed.close().await;
}

#[tokio::test]
async fn a_text_read_before_a_users_edit_is_refused_or_merged() {
    let bed = Bed::new();
    let path = bed.notebook("nb.ipynb", TWO);
    let answer = bed.answer("read", json!({ "path": "nb.ipynb" })).await.all_text();
    let revision = answer.rsplit(' ').next().unwrap().to_owned();
    bed.person_writes(&path, "aa", "x = 100\n").await;
    let content = "# %% [code] cell:0\nx = 1\n\n# %% [code] cell:1\nprint(x, x)\n";
    bed.refused("write", json!({ "path": "nb.ipynb", "content": content })).await;
    assert_eq!(sources(&path), ["x = 100\n", "print(x)"]);
    let merged = json!({ "path": "nb.ipynb", "content": content, "revision": revision });
    let told = bed.told("write", merged).await;
    assert!(told.ends_with("Since your last read, others changed or added cells 0 (aa)."), "{told}");
    assert_eq!(sources(&path), ["x = 100\n", "print(x, x)"]);
    bed.close().await;
}

#[tokio::test]
async fn a_missing_notebook_is_created() {
    let bed = Bed::new();
    let made = bed.told("write", json!({ "path": "new.ipynb", "content": "# %% [code]\nx = 1\n" })).await;
    assert!(made.starts_with("Created new.ipynb with cells 0 ("), "{made}");
    assert_eq!(sources(&bed.work().join("new.ipynb")), ["x = 1"]);
    bed.told("edit", json!({ "path": "other.ipynb", "old": "", "new": "# %% [raw]\nr\n" })).await;
    assert_eq!(sources(&bed.work().join("other.ipynb")), ["r"]);
    let refused = bed.refused("write", json!({ "path": "bad.ipynb", "content": "\n# %% [code]\n" })).await;
    assert!(refused.contains("line 1: the text must begin with a cell marker"), "{refused}");
    assert_eq!(
        bed.refused("edit", json!({ "path": "none.ipynb", "old": "a", "new": "b" })).await,
        "Error: none.ipynb: no such file"
    );
    assert!(!bed.work().join("bad.ipynb").exists());
    for name in ["new.ipynb", "other.ipynb"] {
        testkit::assert_valid(bed.work().join(name));
    }
    bed.close().await;
}

#[tokio::test]
async fn the_json_is_written_whole_and_only_as_a_notebook() {
    let bed = Bed::new();
    let path = bed.notebook("nb.ipynb", TWO);
    let before = std::fs::read_to_string(&path).unwrap();
    let write = |content: &str| json!({ "path": "nb.ipynb:raw", "content": content });
    let refused = bed.refused("write", write("{}")).await;
    assert!(refused.starts_with("Error: nb.ipynb: not a notebook"), "{refused}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    // Also content outside of cells, and formatting alone.
    let renamed =
        before.replace("\"metadata\": {},\n  \"nbformat\"", "\"metadata\": {\"a\": 1},\n  \"nbformat\"");
    assert_ne!(renamed, before);
    for content in [&renamed, &renamed.replace("  ", "   "), &before] {
        bed.told("write", write(content)).await;
        assert_eq!(&std::fs::read_to_string(&path).unwrap(), content);
        assert_eq!(&text(&bed, "nb.ipynb:raw").await, content);
    }
    bed.close().await;
}

#[tokio::test]
async fn other_files_need_the_full_tool_set() {
    let bed = Bed::new();
    bed.write("a.py", "x = 1\nprint(x)\n");
    for (tool, arguments) in [
        ("read", json!({ "path": "a.py" })),
        ("edit", json!({ "path": "a.py", "old": "1", "new": "2" })),
        ("write", json!({ "path": "a.py", "content": "" })),
    ] {
        assert_eq!(
            bed.refused(tool, arguments).await,
            "Error: a.py: is not a notebook; use the tools of your client for other files"
        );
    }
    let bed = Bed::with(|caller| caller.tools = ToolSet::All);
    let path = bed.write("a.py", "x = 1\nprint(x)\n");
    assert_eq!(text(&bed, "a.py").await, "x = 1\nprint(x)\n");
    assert_eq!(text(&bed, "a.py:2").await, "print(x)\n");
    bed.told("edit", json!({ "path": "a.py", "old": "x = 1", "new": "x = 2" })).await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "x = 2\nprint(x)\n");
    assert_eq!(
        bed.told("write", json!({ "path": "b.txt", "content": "b" })).await,
        "Created b.txt: 1 bytes. Revision REV."
    );
    std::fs::write(bed.work().join("b.bin"), [0xff, 0xfe]).unwrap();
    let refused = async |path: &str| bed.refused("read", json!({ "path": path })).await;
    assert_eq!(refused("b.bin").await, "Error: b.bin: is not UTF-8 text");
    assert_eq!(refused(".").await, "Error: /SCRATCH/desk/.: is a folder, not a file");
    assert!(refused("/etc/passwd").await.contains("is outside your folders"));
    let outside = bed.refused("write", json!({ "path": "../made", "content": "" })).await;
    assert!(outside.contains("is outside your folders") && !bed.scratch.path().join("made").exists());
    bed.close().await;
}

#[tokio::test]
async fn large_files_are_read_by_lines() {
    let bed = Bed::new();
    let source: String = (1..=5000).map(|line| format!("print({line})\n")).collect();
    bed.notebook("nb.ipynb", &[("aa", &source)]);
    let answer = bed.answer("read", json!({ "path": "nb.ipynb" })).await.all_text();
    assert!(answer.len() < 17_000, "{}", answer.len());
    let next = answer.rsplit_once("`nb.ipynb:").unwrap().1.split('-').next().unwrap().to_owned();
    let more = text(&bed, &format!("nb.ipynb:{next}-")).await;
    let expected: usize = next.parse::<usize>().unwrap() - 1;
    assert!(more.starts_with(&format!("print({expected})\n")), "{}", &more[..40]);
    bed.close().await;
}

#[tokio::test]
async fn every_occurrence_is_replaced_and_markers_stay() {
    let bed = Bed::with(|caller| caller.tools = ToolSet::All);
    let path = bed.notebook("nb.ipynb", TWO);
    let edit = |path: &str, old: &str, new: &str| json!({ "path": path, "old": old, "new": new, "replace_all": true });
    assert_eq!(
        bed.told("edit", edit("nb.ipynb", "x", "total")).await,
        "Wrote nb.ipynb: changed 0 (aa), 1 (bb); kept 0 of 2. Revision REV."
    );
    assert_eq!(sources(&path), ["total = 1\n", "print(total)"]);
    // A word of every marker that no cell has.
    let refused = bed.refused("edit", edit("nb.ipynb", "code", "y")).await;
    assert!(refused.contains("the text to replace was not found"), "{refused}");
    let file = bed.write("a.py", "x = 1\nprint(x)\n");
    bed.told("edit", edit("a.py", "x", "y")).await;
    assert_eq!(std::fs::read_to_string(file).unwrap(), "y = 1\nprint(y)\n");
    let run = json!({ "path": "a.py", "old": "y = 1", "new": "y = 2", "run": true });
    assert_eq!(
        bed.refused("edit", run).await,
        "Error: a.py: `run` is only for a notebook without a selector"
    );
    bed.close().await;
}
