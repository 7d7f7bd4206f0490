//! The outputs of one execution, kept the way a notebook front end keeps them.

use serde::{Deserialize, Serialize};

use crate::mime::{MimeBundle, RawJson};
use crate::output::{Output, StreamName};

/// Outputs in the order in which they came. Its JSON is the `outputs` list of a notebook cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Output>", into = "Vec<Output>")]
pub struct Outputs {
    list: Vec<Output>,
    clear_before_next: bool,
}

impl Outputs {
    /// No outputs yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an output. Text that follows text of the same stream continues it; a display whose id is known
    /// updates the earlier ones of that id as well.
    pub fn push(&mut self, output: Output) {
        match &output {
            Output::Stream { name, text } => return self.push_stream(*name, text),
            Output::Display { data, metadata, display_id: Some(id) }
            | Output::Result { data, metadata, display_id: Some(id), .. } => {
                self.update_display(id, data, metadata);
            }
            Output::Display { .. } | Output::Result { .. } | Output::Error { .. } => {}
        }
        self.clear_if_due();
        self.list.push(output);
    }

    /// Adds text of a stream.
    pub fn push_stream(&mut self, name: StreamName, text: &str) {
        self.clear_if_due();
        if let Some(Output::Stream { name: last, text: so_far }) = self.list.last_mut()
            && *last == name
        {
            so_far.push_str(text);
        } else {
            self.list.push(Output::stream(name, text));
        }
    }

    /// Replaces the data and metadata of every display and result with this id, and says how many there
    /// were. An update is not new output: a delayed clear stays delayed.
    pub fn update_display(&mut self, id: &str, data: &MimeBundle, metadata: &RawJson) -> usize {
        self.list.iter_mut().map(|output| usize::from(output.update_display(id, data, metadata))).sum()
    }

    /// Removes all outputs: now, or (`wait`) when the next one comes.
    pub fn clear(&mut self, wait: bool) {
        if wait {
            self.clear_before_next = true;
        } else {
            self.list.clear();
            self.clear_before_next = false;
        }
    }

    /// The outputs, in order.
    pub fn as_slice(&self) -> &[Output] {
        &self.list
    }

    /// The outputs, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Output> {
        self.list.iter()
    }

    /// The outputs, in order, for changes in place.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Output> {
        self.list.iter_mut()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    fn clear_if_due(&mut self) {
        if std::mem::take(&mut self.clear_before_next) {
            self.list.clear();
        }
    }
}

impl From<Vec<Output>> for Outputs {
    fn from(list: Vec<Output>) -> Self {
        Self { list, clear_before_next: false }
    }
}

impl From<Outputs> for Vec<Output> {
    fn from(outputs: Outputs) -> Self {
        outputs.list
    }
}

impl<'a> IntoIterator for &'a Outputs {
    type Item = &'a Output;
    type IntoIter = std::slice::Iter<'a, Output>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<Output> for Outputs {
    fn from_iter<I: IntoIterator<Item = Output>>(outputs: I) -> Self {
        let mut all = Self::new();
        for output in outputs {
            all.push(output);
        }
        all
    }
}
