//! `cellist artifact`: the full output of results that were truncated.

mod list;
pub(crate) mod read;

use cellist_settings::Home;
use cellist_store::artifact::{ArtifactError, Artifacts, Retention};
use clap::{Args, Subcommand};

use crate::error::{CliError, FailureKind};
use crate::output::{CommandOutput, OutputFormat};

/// List and read artifacts: the full output of truncated results
///
/// A truncated result ends with the address of its artifact, such as artifact://4t7wq2zn. The artifact holds
/// every byte that the code wrote. Old artifacts are deleted; see artifacts.max_age and artifacts.max_bytes in
/// `cellist settings`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist artifact list
  cellist artifact read 4t7wq2zn --tail 20
  cellist artifact read 4t7wq2zn --search 'Error|Warning'")]
pub(crate) struct ArtifactArgs {
    #[command(subcommand)]
    command: ArtifactCommand,
}

#[derive(Subcommand, Debug)]
enum ArtifactCommand {
    List(list::ArtifactListArgs),
    Read(read::ArtifactReadArgs),
}

pub(crate) fn run_artifact_command(
    arguments: ArtifactArgs,
    format: OutputFormat,
) -> Result<CommandOutput, CliError> {
    match arguments.command {
        ArtifactCommand::List(arguments) => list::list_artifacts(arguments),
        ArtifactCommand::Read(arguments) => read::read_artifact(arguments, format),
    }
}

/// The artifact store, for reading only.
fn artifacts() -> Artifacts {
    Artifacts::new(&Home::from_env(), Retention::default())
}

impl From<ArtifactError> for CliError {
    fn from(error: ArtifactError) -> CliError {
        let kind = match error {
            ArtifactError::BadId { .. } => FailureKind::InvalidId,
            ArtifactError::NoSuchArtifact { .. } => FailureKind::NotFound,
            ArtifactError::OutOfRange { .. } => FailureKind::InvalidSelector,
            ArtifactError::BadPattern { .. } => FailureKind::InvalidPattern,
            ArtifactError::Unreadable { .. } | ArtifactError::Unlisted(_) | ArtifactError::Copy { .. } => {
                FailureKind::Unreadable
            }
        };
        let mut failure = CliError::input(kind, error.to_string());
        failure.hint = error.hint();
        failure
    }
}
