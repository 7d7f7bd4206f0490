//! Start and end times of a cell, in the form that JupyterLab writes into cell metadata.

use std::time::SystemTime;

use cellist_kernel::Event;
use cellist_platform::clock::utc_exact;
use serde_json::{Map, Value};

/// Key in the cell metadata.
pub const TIMING: &str = "execution";

/// The times of one execution of a cell, as far as known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    began: Option<SystemTime>,
    ended: Option<SystemTime>,
}

impl Timing {
    /// Notes the time of an event.
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

    /// Returns the times under Jupyter's message names. A kernel that died has no end time.
    pub fn to_json(self) -> Value {
        let began = ["iopub.execute_input", "iopub.status.busy", "shell.execute_reply.started"];
        let ended = ["iopub.status.idle", "shell.execute_reply"];
        let began = began.into_iter().filter_map(|key| Some((key, self.began?)));
        let ended = ended.into_iter().filter_map(|key| Some((key, self.ended?)));
        let all = began.chain(ended).map(|(key, moment)| (key.to_owned(), Value::from(utc_exact(moment))));
        Value::Object(all.collect::<Map<String, Value>>())
    }
}
