//! Records the outputs sent to a caller, so that a later run need not repeat unchanged ones.

use std::collections::VecDeque;
use std::path::PathBuf;

use cellist_notebook::{CellId, Revision};
use cellist_output::Output;

/// Cells remembered for one caller.
const MOST: usize = 2000;

/// The outputs of a cell, identified by their content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutputMark {
    notebook: PathBuf,
    cell: CellId,
    digest: Revision,
}

impl OutputMark {
    /// Ignores execution counts.
    pub(crate) fn new(notebook: PathBuf, cell: CellId, outputs: &[Output]) -> OutputMark {
        let bytes: Vec<Vec<u8>> = outputs
            .iter()
            .map(|output| match output {
                Output::Result { data, metadata, .. } => {
                    let (data, metadata) = (data.clone(), metadata.clone());
                    Output::Display { data, metadata, display_id: None }
                }
                other => other.clone(),
            })
            // An output that cannot be serialised differs from all others.
            .map(|output| serde_json::to_vec(&output).unwrap_or_else(|_| format!("{output:?}").into_bytes()))
            .collect();
        OutputMark { notebook, cell, digest: Revision::of(bytes.iter().map(Vec::as_slice)) }
    }
}

/// The last outputs of each cell sent to one caller, with the reply that sent them.
#[derive(Debug, Default)]
pub(crate) struct KnownOutputs(VecDeque<(OutputMark, u64)>);

impl KnownOutputs {
    /// Returns whether a reply other than `reply` sent the same outputs last.
    pub(crate) fn was_sent(&self, mark: &OutputMark, reply: u64) -> bool {
        self.0.iter().any(|(sent, by)| sent == mark && *by != reply)
    }

    pub(crate) fn add(&mut self, mark: OutputMark, reply: u64) {
        self.0.retain(|(sent, _)| (&sent.notebook, &sent.cell) != (&mark.notebook, &mark.cell));
        self.0.push_back((mark, reply));
        if self.0.len() > MOST {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use cellist_output::MimeBundle;

    use super::*;

    fn mark(cell: &str, outputs: &[Output]) -> OutputMark {
        OutputMark::new(PathBuf::from("/nb.ipynb"), CellId::from(cell), outputs)
    }

    #[test]
    fn execution_counts_do_not_matter_for_outputs() {
        let result = |count, text: &str| [Output::result(count, MimeBundle::text("text/plain", text))];
        assert_eq!(mark("a", &result(1, "a")), mark("a", &result(2, "a")));
        assert_ne!(mark("a", &result(1, "a")), mark("a", &result(1, "b")));
        assert_ne!(mark("a", &result(1, "a")), mark("b", &result(1, "a")));
        assert_ne!(mark("a", &result(1, "a")), mark("a", &[]));
    }

    #[test]
    fn only_the_last_output_of_another_reply_counts() {
        let text = |text: &str| [Output::stream(cellist_output::StreamName::Stdout, text)];
        let (one, two) = (mark("a", &text("1")), mark("a", &text("2")));
        let mut sent = KnownOutputs::default();
        sent.add(one.clone(), 7);
        assert!(sent.was_sent(&one, 8) && !sent.was_sent(&one, 7) && !sent.was_sent(&two, 8));
        sent.add(two.clone(), 8);
        assert!(!sent.was_sent(&one, 9) && sent.was_sent(&two, 9));
        for cell in 0..MOST {
            sent.add(mark(&format!("c{cell}"), &text("1")), 9);
        }
        assert!(!sent.was_sent(&two, 10) && sent.0.len() == MOST);
    }
}
