//! The assistant works on a notebook that is attached and active.

use std::fs;

use cellist_host::Request;
use cellist_tools::EditorReport;
use serde_json::json;
use testkit::Said;

use super::{Room, find, look, send, tools, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_eight_scenarios_hold_on_a_page() {
    const ALL: &[&str] = &["ask", "edit", "agent"];
    enum Front {
        Own,
        Other,
        Nothing,
    }
    // Columns: page's notebook attached, other notebooks attached, active notebook, modes, tools to
    // read, tools to change.
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
            let said = json!({ "id": "m", "words": "hello", "mode": mode, "is_attached": is_attached, "attached": attached, "selected": [], "outputs": [] });
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
            // The state of the notebook is sent where the assistant works on it.
            let body = sent.body["messages"].to_string();
            assert_eq!(body.contains("- cells: 2"), looks, "{at}: {body}");
        }
    }
}
