//! Everything that listens. Now that is the host's socket; what is asked there is answered by `link`'s desk.

mod first;
mod host;
mod idle;
mod log;
mod socket;
mod visitor;

pub use first::say;
pub use host::{CannotServe, Host, Serving, Staying};
