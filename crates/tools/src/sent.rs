//! The outputs that a caller was sent, so that a run that shows the same again need not repeat them.

use std::collections::VecDeque;
use std::path::PathBuf;

use cellist_notebook::{CellId, Revision};
use cellist_output::Output;

/// How many cells are remembered for one caller.
const MOST: usize = 2000;

/// The outputs of a cell, by their content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutputMark {
    notebook: PathBuf,
    cell: CellId,
    digest: Revision,
}

impl OutputMark {
    /// Outputs are the same whatever number their execution has.
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
            // An output that cannot be written differs from every other.
            .map(|output| serde_json::to_vec(&output).unwrap_or_else(|_| format!("{output:?}").into_bytes()))
            .collect();
        OutputMark { notebook, cell, digest: Revision::of(bytes.iter().map(Vec::as_slice)) }
    }
}

/// The outputs that one caller was sent: of each cell the last output, and the reply that had it.
#[derive(Debug, Default)]
pub(crate) struct SentOutputs(VecDeque<(OutputMark, u64)>);

impl SentOutputs {
    /// Whether another reply than this one brought the same output last.
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
    fn outputs_are_the_same_whatever_number_their_execution_has() {
        let result = |count, text: &str| [Output::result(count, MimeBundle::text("text/plain", text))];
        assert_eq!(mark("a", &result(1, "a")), mark("a", &result(2, "a")));
        assert_ne!(mark("a", &result(1, "a")), mark("a", &result(1, "b")));
        assert_ne!(mark("a", &result(1, "a")), mark("b", &result(1, "a")));
        assert_ne!(mark("a", &result(1, "a")), mark("a", &[]));
    }

    #[test]
    fn only_the_last_output_of_a_cell_counts_and_not_that_of_the_same_reply() {
        let text = |text: &str| [Output::stream(cellist_output::StreamName::Stdout, text)];
        let (one, two) = (mark("a", &text("1")), mark("a", &text("2")));
        let mut sent = SentOutputs::default();
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
