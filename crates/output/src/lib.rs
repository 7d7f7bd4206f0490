//! Outputs of code as data: outputs and their MIME bundles, the text a reader gets from them, cleaning,
//! limits, and the sentences said about them. Pure: no runtime, file, network, clock or environment.

mod clean;
mod embedded;
mod escape;
mod html;
mod joined;
mod limits;
mod mime;
pub mod notices;
mod output;
mod outputs;
pub mod preference;
mod progress;
mod ran;
mod reading;
mod sink;
mod status;
mod summary;
mod traceback;
mod tree;
pub mod wire;

pub use bytestring::ByteString;
pub use clean::{Ansi, Cleaner, Decoder, clean};
pub use escape::json_escape;
pub use html::to_markdown as html_to_markdown;
pub use limits::Limits;
pub use mime::{MimeBundle, MimeData, RawJson};
pub use output::{Output, StreamName};
pub use outputs::Outputs;
pub use progress::{Drawn, drawn};
pub use ran::{Backend, Status};
pub use reading::{Beside, Image, ImageType};
pub use sink::{LineRange, Part, Shown, Sink, Truncation};
pub use status::StatusEvent;
pub use summary::{CellEnding, RunSummary, ranges};
pub use traceback::{FoldedTraceback, folded as folded_traceback};
pub use tree::{TreeLimits, json_tree};
