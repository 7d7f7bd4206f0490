//! What may be asked, what is heard meanwhile, and what is answered.

use serde::{Deserialize, Serialize};

/// What may be asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Which kernel sessions there are.
    Sessions,
}

/// What is heard while a request is carried out. Only the newest counts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {}

/// What is answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The kernel sessions.
    Sessions(Vec<String>),
}
