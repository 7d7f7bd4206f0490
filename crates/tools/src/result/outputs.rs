//! Saved outputs of a notebook, as a model reads them.

use cellist_output::{FoldedTraceback, MimeBundle, Output, Sink, folded_traceback, notices};
use cellist_session::execution::{Picture, Pictures, Reading};
use cellist_store::artifact::{ArtifactOrigin, Artifacts};

use super::{Section, name_reading_tool};

/// Outputs as a section, and the artifact that has all of them.
pub(crate) struct ShownOutputs {
    pub(crate) section: Section,
    pub(crate) artifact: Option<String>,
}

/// Renders outputs within limits. Stores the whole text as an artifact if some of it is cut.
pub(crate) async fn shown(
    outputs: &[Output],
    reading: Reading,
    artifacts: &Artifacts,
    origin: &ArtifactOrigin,
) -> ShownOutputs {
    let mut sink = Sink::new(reading.limits, reading.ansi);
    let mut writer = artifacts.begin(origin.clone(), reading.limits.max_bytes);
    let mut is_folded = false;
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
                let FoldedTraceback { parts, hidden_frames } = folded_traceback(&text);
                is_folded |= hidden_frames > 0;
                writer.write(sink.parts(&parts));
            }
        }
        writer.room().await;
    }
    if is_folded || sink.snapshot(None).truncated.is_some() {
        writer.keep_anyway();
    }
    let kept = writer.finish().await;
    let artifact = kept.id.map(String::from);
    let shown = sink.finish(artifact.as_deref());
    let whole = artifact.as_deref().filter(|_| shown.truncated.is_none()).map(notices::kept_in);
    let pictures = outputs.iter().filter_map(Output::data).filter_map(MimeBundle::picture);
    let picture = |(mime, data): (&str, &str)| Picture { mime: mime.to_owned(), data: data.to_owned() };
    let section = Section {
        text: name_reading_tool(shown.text, artifact.as_deref()),
        notices: whole.into_iter().chain(kept.failure).collect(),
        pictures: Pictures { list: pictures.map(picture).collect(), left_out: 0 },
        ..Section::default()
    };
    ShownOutputs { section, artifact }
}
