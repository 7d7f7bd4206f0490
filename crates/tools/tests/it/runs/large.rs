use cellist_tools::AnswerBlock;
use serde_json::json;

use super::desk::{BOTH, Desk, artifact, images};

#[tokio::test]
async fn a_hundred_megabytes_are_cut_to_the_budget_and_stored_whole() {
    let desk = Desk::new("runner");
    let code = "import sys\nline = 'x' * 999 + '\\n'\nfor _ in range(100_000):\n    sys.stdout.write(line)\nprint('end')";
    let answer = desk.call("python", json!({ "code": code, "timeout": 600, "soft_wait": 600 })).await;
    let text = answer.all_text();
    assert!(!answer.is_failure && text.len() <= 16 * 1024, "{}", text.len());
    assert!(text.contains("end\n[Output cut: ") && text.contains(" of 100001 lines and "), "{text}");
    let id = artifact(&answer);
    let tail = desk.told("read_artifact", json!({ "id": id, "tail": 1 })).await;
    assert!(tail.contains("end"), "{tail}");
    let rows = desk.artifacts().list().unwrap();
    assert_eq!(rows[0].bytes, 100_000_004);
    desk.bed.close().await;
}

#[tokio::test]
async fn two_hundred_thousand_lines_become_a_short_head_and_tail() {
    let desk = Desk::new("runner");
    let code = "for number in range(200_000):\n    print('line', number)";
    let run = |more: serde_json::Value| {
        let mut arguments = json!({ "code": code, "timeout": 600, "soft_wait": 600 });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let answer = desk.call("python", run(json!({}))).await;
    let text = answer.all_text();
    assert!(text.lines().count() <= 90, "{}", text.lines().count());
    assert!(text.contains("line 0\nline 1\n") && text.contains("line 199999\n[Output cut: "), "{text}");
    assert!(text.contains(&format!("All of it: artifact://{}", artifact(&answer))), "{text}");
    // A caller that asks for more gets more.
    let much = desk.told("python", run(json!({ "max_output": 16_000 }))).await;
    assert!(much.lines().count() > 1000 && much.len() <= 16_000, "{}", much.len());
    desk.bed.close().await;
}

#[tokio::test]
async fn ten_thousand_outputs_fit_the_requested_budget() {
    for backend in BOTH {
        let desk = Desk::new(backend);
        let code =
            "from IPython.display import display\nfor number in range(10_000):\n    display({'n': number})";
        let arguments = json!({ "code": code, "timeout": 600, "soft_wait": 600, "max_output": 1000 });
        let answer = desk.call("python", arguments).await;
        let text = answer.all_text();
        assert!(!answer.is_failure && text.len() <= 1000, "{text}");
        assert!(text.contains("{'n': 9999}\n[Output cut: ") && text.contains("of 10000 lines"), "{text}");
        desk.bed.close().await;
    }
}

#[tokio::test]
async fn a_picture_of_fifty_megapixels_shrinks_and_its_original_is_stored() {
    let desk = Desk::new("runner");
    let code = "import io\nfrom PIL import Image as P\nfrom IPython.display import Image\nout = io.BytesIO()\n\
                P.new('RGB', (10_000, 5_000), 'red').save(out, 'PNG')\nImage(data=out.getvalue())";
    let answer = desk.call("python", json!({ "code": code, "timeout": 600, "soft_wait": 600 })).await;
    let (text, images) = (answer.all_text(), images(&answer));
    assert!(!answer.is_failure, "{text}");
    assert_eq!((images.len(), images[0].0.as_str()), (1, "image/png"));
    assert!(text.contains("[Image 1: 10000×5000, shown at 1568×784. Original: artifact://"), "{text}");
    let kept = &desk.artifacts().list().unwrap()[0];
    assert!(std::fs::read(&kept.path).unwrap().starts_with(b"\x89PNG"));
    desk.bed.close().await;
}

#[tokio::test]
async fn embedded_data_and_huge_representations_are_never_shown_whole() {
    let desk = Desk::new("runner");
    let code = "from IPython.display import HTML, JSON, display\nimport base64\ndata = base64.b64encode(bytes(300_000)).decode()\n\
                display(HTML('<p>look</p><img src=\"data:image/png;base64,' + data + '\">'))\n\
                display(JSON({'data': data}))";
    let answer = desk.call("python", json!({ "code": code })).await;
    let text = answer.all_text();
    assert!(!answer.is_failure && text.len() < 2000, "{text}");
    assert!(text.contains("look") && text.contains("[300000 bytes]"), "{text}");
    assert!(text.contains("more characters"), "{text}");
    assert!(answer.blocks.iter().all(|block| !matches!(block, AnswerBlock::Image { .. })));
    desk.bed.close().await;
}
