//! The assistant's settings and keys for a page. They are read again for each message.

use std::path::Path;

use cellist_assistant::{AssistantSetup, SetupError};
use cellist_platform::FailureKind;
use cellist_settings::RunCode;
use cellist_tools::{FilePolicy, nearby_notebooks, tool_references};

use super::{HostService, ServiceClient, blocking};
use crate::error::Failure;
use crate::protocol::chat::{ChatAccount, ChatSetup, ToolReference};

impl HostService {
    /// Reads the settings and keys for an answer.
    pub(super) async fn read_setup(
        &self,
        client: &ServiceClient,
        notebook: &Path,
    ) -> Result<AssistantSetup, Failure> {
        let place = client.page()?.place(self.documents.store().home(), notebook);
        blocking(move || AssistantSetup::read(place, |_| {}).map_err(|error| refused(&error))).await
    }

    /// Returns the model, tools and notebooks that a message can use.
    pub(super) async fn chat_setup(
        &self,
        client: &ServiceClient,
        notebook: &Path,
    ) -> Result<ChatSetup, Failure> {
        let place = client.page()?.place(self.documents.store().home(), notebook);
        blocking(move || {
            let (folder, own) = (place.cwd.clone(), place.notebook.clone());
            let reach = FilePolicy::new(&place.home, &[], &[]);
            let (account, run_code, notebooks) = match AssistantSetup::read(place, |_| {}) {
                Ok(setup) => {
                    let provider = setup.account.vendor().as_str().to_owned();
                    let account = ChatAccount::There { provider, model: setup.account.model().to_owned() };
                    (account, setup.settings.chat.run_code, setup.notebooks(&own))
                }
                Err(error) => {
                    let account = ChatAccount::Missing { problem: error.to_string(), hint: error.hint() };
                    (account, RunCode::Ask, nearby_notebooks(&folder, &own, &reach))
                }
            };
            let reference = |(name, mode)| ToolReference { name: format!("#{name}"), mode };
            let references = tool_references().map(reference).collect();
            Ok(ChatSetup { account, run_code, references, notebooks })
        })
        .await
    }
}

fn refused(error: &SetupError) -> Failure {
    let kind = match error {
        SetupError::Settings(_) => FailureKind::BadSettings,
        SetupError::Account(_) => FailureKind::NoModel,
        SetupError::Prompt(_) => FailureKind::BadPromptFile,
    };
    Failure::bad_input(kind, error.to_string()).with_hint(error.hint())
}
