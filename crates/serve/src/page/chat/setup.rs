//! What decides on answers at a page: the settings and keys of whoever opened it, read anew for each message.

use std::path::Path;

use cellist_assistant::{CannotAsk, Place, Setup};
use cellist_link::Failure;
use cellist_session::aside::{NotDone, aside};
use cellist_session::settings::RunCode;
use cellist_tools::{Reach, nearby_notebooks, tool_references};

use super::super::Page;
use super::super::wire::{Account, Chat, Reference};

/// Reads all that decides on an answer.
pub(super) async fn read(page: &Page, notebook: &Path) -> Result<Setup, Failure> {
    let place = place(page, notebook);
    let reading = aside(move || Setup::read(place, |_| {}));
    reading.await.map_err(lost)?.map_err(|error| refused(&error))
}

/// What a page shows before anything is said.
pub(super) async fn chat(page: &Page, notebook: &Path, chat: String) -> Result<Chat, Failure> {
    let place = place(page, notebook);
    let reading = aside(move || {
        let (folder, own) = (place.cwd.clone(), place.notebook.clone());
        let reach = Reach::new(&place.home, &[], &[]);
        let (account, run_code, notebooks) = match Setup::read(place, |_| {}) {
            Ok(setup) => {
                let (provider, model) = (setup.account.vendor().as_str(), setup.account.model().to_owned());
                let account = Account::There { provider, model };
                (account, setup.settings.chat.run_code, setup.notebooks(&own))
            }
            Err(error) => {
                let account = Account::Missing { problem: error.to_string(), hint: error.hint() };
                (account, RunCode::Ask, nearby_notebooks(&folder, &own, &reach))
            }
        };
        let references = tool_references().map(|(name, mode)| Reference { name: format!("#{name}"), mode });
        Chat { chat, account, run_code, references: references.collect(), notebooks }
    });
    reading.await.map_err(lost)
}

fn lost(error: NotDone) -> Failure {
    Failure::internal(error)
}

fn refused(error: &CannotAsk) -> Failure {
    let kind = match error {
        CannotAsk::Settings(_) => "bad_settings",
        CannotAsk::NoAccount(_) => "no_model",
        CannotAsk::Prompt(_) => "bad_prompt_file",
    };
    Failure::bad_input(kind, error.to_string()).with_hint(error.hint())
}

fn place(page: &Page, notebook: &Path) -> Place {
    let opened = page.opened();
    Place {
        home: page.home.clone(),
        cwd: opened.folder.clone(),
        asker: opened.asker.clone(),
        keys: opened.keys.clone(),
        notebook: notebook.to_owned(),
    }
}
