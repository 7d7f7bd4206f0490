//! Libraries that show things, as they are installed.

use cellist_kernel::Event;
use cellist_output::MimeData;

use super::bed::{Bed, Heard, Session, full_python};

async fn full() -> Session {
    Bed::with(full_python()).start().await
}

/// The displays, as their MIME types and their text.
fn shown(heard: &Heard) -> Vec<(Vec<String>, String)> {
    let data = heard.0.iter().filter_map(|event| match event {
        Event::Display { data, .. } | Event::Result { data, .. } => Some(data),
        _ => None,
    });
    data.map(|data| {
        let text = data.get_text("text/plain").unwrap_or_default().to_owned();
        (data.iter().map(|(mime, _)| mime.to_owned()).collect(), text)
    })
    .collect()
}

#[tokio::test]
async fn figures_are_shown_once_at_the_end_of_the_cell_or_where_the_program_says() {
    let session = full().await;
    let png = (
        vec!["text/plain".to_owned(), "image/png".to_owned()],
        "<Figure size 640x480 with 1 Axes>".to_owned(),
    );
    let heard = session
        .run("import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2])\nprint('x')")
        .await;
    assert!(heard.is_ok(), "{:?}", heard.error());
    assert_eq!(shown(&heard), std::slice::from_ref(&png));
    assert_eq!(heard.stderr(), "");
    let heard = session.run("'nothing more'").await;
    assert_eq!(shown(&heard).len(), 1);
    let heard = session.run("plt.plot([1, 2])\nplt.show()\nprint('after')").await;
    assert_eq!(shown(&heard), std::slice::from_ref(&png));
    let place = |heard: &Heard, what: fn(&Event) -> bool| heard.0.iter().position(what).unwrap();
    assert!(
        place(&heard, |event| matches!(event, Event::Display { .. }))
            < place(&heard, |event| matches!(event, Event::Stream { .. }))
    );
    // As the value of a cell it is shown as such.
    assert_eq!(shown(&session.run("fig").await), std::slice::from_ref(&png));
    let heard = session.run("plt.plot([3])\n1 / 0").await;
    assert_eq!(shown(&heard), std::slice::from_ref(&png));
    // An image with the same size as Jupyter's.
    let heard = session.run("import struct, base64\nplt.plot([1, 2]);").await;
    let Some(Event::Display { data, .. }) =
        heard.0.iter().find(|event| matches!(event, Event::Display { .. }))
    else {
        panic!("{heard}")
    };
    let Some(MimeData::Text(image)) = data.get("image/png") else { panic!("no image") };
    let heard =
        session.run(&format!("struct.unpack('>II', base64.b64decode('{}')[16:24])", &image[..40])).await;
    assert_eq!(heard.result(), Some("(547, 413)"));
    // The program's choice holds.
    let heard = session.run("import matplotlib\nmatplotlib.use('svg')\nplt.plot([1]);").await;
    assert_eq!(shown(&heard), []);
    session.end().await;
}

#[tokio::test]
async fn figures_can_be_had_in_other_forms() {
    let session = full().await;
    let heard = session.run("%matplotlib inline\n%config InlineBackend.figure_format = 'svg'\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]);").await;
    assert_eq!(shown(&heard)[0].0, ["text/plain", "image/svg+xml"], "{:?}", heard.error());
    session.end().await;
}

#[tokio::test]
async fn tables_are_shown_as_text_and_html() {
    let session = full().await;
    let heard = session.run("import pandas as pd\npd.DataFrame({'a': [1, 2]})").await;
    assert_eq!(shown(&heard), [(vec!["text/plain".into(), "text/html".into()], "   a\n0  1\n1  2".into())]);
    let completion = session.kernel.complete("pd.DataFr", 9).await.unwrap();
    assert_eq!(completion.matches, ["DataFrame"]);
    session.check(&[("df = pd.DataFrame({'length': [1]})", "")]).await;
    assert_eq!(session.kernel.complete("df['le", 6).await.unwrap().matches, ["length']"]);
    assert!(session.kernel.complete("df.len", 6).await.unwrap().matches.contains(&"length".to_owned()));
    session.end().await;
}

#[tokio::test]
async fn charts_of_plotly_are_data() {
    let session = full().await;
    for code in
        ["import plotly.graph_objects as go\nfig = go.Figure(go.Scatter(y=[1, 2]))\nfig.show()", "fig"]
    {
        let heard = session.run(code).await;
        assert!(heard.is_ok(), "{code}: {:?}", heard.error());
        let shown = shown(&heard);
        assert!(
            shown.len() == 1 && shown[0].0.contains(&"application/vnd.plotly.v1+json".to_owned()),
            "{code}: {shown:?}"
        );
    }
    session.end().await;
}

#[tokio::test]
async fn a_progress_bar_that_is_a_widget_is_read_as_progress() {
    for module in ["tqdm.notebook", "tqdm.auto"] {
        let session = full().await;
        let code =
            format!("from {module} import tqdm\nfor i in tqdm(range(3), desc='work', mininterval=0): pass");
        let heard = session.run(&code).await;
        assert!(heard.is_ok(), "{:?}", heard.error());
        let done: Vec<f64> = heard
            .0
            .iter()
            .filter_map(|event| match event {
                Event::Progress { label, done, total: Some(3.0) } if label == "work" => Some(*done),
                _ => None,
            })
            .collect();
        assert_eq!(done, [1.0, 2.0, 3.0], "{module}: {heard}");
        let text = heard.0.iter().rev().find_map(|event| match event {
            Event::WidgetText { text, .. } => Some(text.as_str()),
            _ => None,
        });
        assert!(text.is_some_and(|text| text.starts_with("work: 100%|██████████| 3/3 [")), "{text:?}");
        assert_eq!(heard.stderr(), "");
        session.end().await;
    }
}

#[tokio::test]
async fn widgets_do_no_harm() {
    let session = full().await;
    let heard = session.run("import ipywidgets\nipywidgets.IntSlider(3)").await;
    assert!(heard.is_ok(), "{:?}", heard.error());
    assert!(shown(&heard)[0].0.contains(&"application/vnd.jupyter.widget-view+json".to_owned()), "{heard}");
    session.end().await;
}
