//! Outputs that are kept in a notebook, as a model reads them.

use cellist_output::{MimeBundle, Output, Sink, trimmed_traceback};
use cellist_session::artifact::{Artifacts, Origin};
use cellist_session::execution::{Picture, Pictures};

use super::{Budget, Composed};

/// What outputs say, within a budget. Where that is not all of it, all of it is kept as an artifact.
pub(crate) async fn shown(
    outputs: &[Output],
    budget: Budget,
    artifacts: &Artifacts,
    origin: &Origin,
) -> Composed {
    let reading = budget.reading();
    let mut sink = Sink::new(reading.limits, reading.ansi);
    let mut writer = artifacts.begin(origin.clone(), reading.limits.max_bytes);
    let mut is_trimmed = false;
    for output in outputs {
        match output {
            Output::Stream { text, .. } => {
                sink.push(text.as_bytes());
                writer.write(text.clone());
            }
            Output::Display { data, .. } | Output::Result { data, .. } => {
                writer.write(sink.block(&data.readable(), None));
            }
            Output::Error { .. } => {
                let text = output.text();
                let parts = trimmed_traceback(&text);
                is_trimmed |= parts.len() > 1;
                writer.write(sink.parts(&parts));
            }
        }
        writer.room().await;
    }
    if is_trimmed || sink.snapshot(None).truncated.is_some() {
        writer.keep_anyway();
    }
    let kept = writer.finish().await;
    let id = kept.id.map(String::from);
    let shown = sink.finish(id.as_deref());
    let mut composed = Composed::default();
    composed.block(&shown.text);
    if let (Some(id), None) = (&id, shown.truncated) {
        composed.line(&cellist_output::notices::kept_in(id));
    }
    kept.failure.iter().for_each(|failure| composed.line(failure));
    let pictures = outputs.iter().filter_map(Output::data).filter_map(MimeBundle::picture);
    let picture = |(mime, data): (&str, &str)| Picture { mime: mime.to_owned(), data: data.to_owned() };
    composed.pictures = Pictures { list: pictures.map(picture).collect(), left_out: 0 };
    composed.artifacts.extend(id);
    composed
}
