//! Settings, trust, and the folders of the user and the project: the table of settings, the files that set them, and which value
//! holds.

mod domain;
mod fault;
mod file;
mod home;
mod project;
mod resolve;
mod table;
pub mod trust;
mod values;

pub use domain::Secret;
pub use fault::{Fault, Faults, Line, Origin};
pub use home::{Exposure, Home};
pub use project::Project;
pub use resolve::{FLAG, Resolved, Sources, resolve};
pub use table::{
    Access, Artifacts, Bridge, Chat, ChatProvider, Images, Notebook, Output, Python, Row, Run, RunCode,
    Settings, TABLE, ToolMode, Tools,
};
pub use values::{BackendWish, GRACE, KernelMode, MAX_OUTPUT, OnStuck, Policy, Retention, RetryOnCrash};

pub(crate) use fault::harmless;
pub(crate) use file::{Entry, read};
pub(crate) use table::row;
