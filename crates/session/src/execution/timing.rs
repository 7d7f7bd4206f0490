//! When a cell ran, as JupyterLab writes it into the cell's metadata.

use std::time::SystemTime;

use cellist_kernel::Event;
use cellist_platform::clock::utc_exact;
use serde_json::{Map, Value};

/// The key in the metadata of a cell.
pub const TIMING: &str = "execution";

/// The moments of one run of a cell, as far as they came.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    began: Option<SystemTime>,
    ended: Option<SystemTime>,
}

impl Timing {
    /// Takes the moment of an event.
    pub fn heard(&mut self, event: &Event, now: SystemTime) {
        match event {
            Event::Started { .. } => self.began = Some(now),
            Event::Done(_) => self.ended = Some(now),
            Event::Stream { .. }
            | Event::Display { .. }
            | Event::UpdateDisplay { .. }
            | Event::Result { .. }
            | Event::ClearOutput { .. }
            | Event::Error { .. }
            | Event::InputRequested
            | Event::Progress { .. }
            | Event::Late { .. }
            | Event::WidgetText { .. }
            | Event::Failure { .. }
            | Event::Comm(_)
            | Event::OutputLost
            | Event::OutputRefused { .. }
            | Event::Died(_) => {}
        }
    }

    /// The messages of Jupyter's protocol that these moments stand for. A kernel that died never answered.
    pub fn to_json(self) -> Value {
        let began = ["iopub.execute_input", "iopub.status.busy", "shell.execute_reply.started"];
        let ended = ["iopub.status.idle", "shell.execute_reply"];
        let began = began.into_iter().filter_map(|key| Some((key, self.began?)));
        let ended = ended.into_iter().filter_map(|key| Some((key, self.ended?)));
        let all = began.chain(ended).map(|(key, moment)| (key.to_owned(), Value::from(utc_exact(moment))));
        Value::Object(all.collect::<Map<String, Value>>())
    }
}
