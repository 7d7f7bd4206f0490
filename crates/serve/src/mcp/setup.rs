//! Setup of agents: prompts, and the caller for agents at the host's address.

use std::io;
use std::path::PathBuf;

use cellist_host::{HostService, PageLinkRequest};
use cellist_platform::aside::aside;
use cellist_settings::{Home, Settings};
use cellist_tools::prompt::{FOLDER, Prompts};
use cellist_tools::{Caller, Mode, ToolSet};

use super::agent::ServiceLocation;
use super::cellist_source::CellistSource;
use crate::log::note;

/// The prompts of the user and the project. If one is broken, returns the built-in prompts with a
/// notice.
pub fn prompts(home: &Home, of_project: &[PathBuf]) -> (Prompts, Option<String>) {
    let own = Prompts::with_folder(&home.path().join(FOLDER));
    match own.and_then(|own| own.with_files(of_project)) {
        Ok(prompts) => (prompts, None),
        Err(error) => {
            let said = format!("{error}; using the built-in instructions only");
            (Prompts::ours(), Some(said))
        }
    }
}

/// The source for agents at the host's own address. They work in the folder that the page was first
/// opened in.
pub(crate) async fn at_host(
    home: &Home,
    ask: &PageLinkRequest,
    service: HostService,
) -> io::Result<CellistSource> {
    let (home, environment, cwd) = (home.clone(), ask.environment.clone(), ask.folder.clone());
    let redaction = ask.redaction.clone();
    let deciding = aside(move || {
        let (settings, of_project) = match environment.settings(&home, &cwd) {
            Ok(resolved) => (resolved.settings, resolved.prompts),
            Err(faults) => {
                note(format_args!("using default settings: {faults}"));
                (Settings::default(), Vec::new())
            }
        };
        let (tool_mode, notices) = environment.tool_mode(&home, &cwd, &settings);
        let (prompts, said) = prompts(&home, &of_project);
        notices.into_iter().chain(said).for_each(note);
        let caller = Caller {
            name: "agent".into(),
            session: String::new(),
            mode: Mode::Agent,
            tools: ToolSet::Notebook,
            tool_mode,
            roots: settings.tools.roots.iter().map(|root| cwd.join(root)).collect(),
            cwd,
            requires_active: false,
            is_shared: false,
            front: None,
            excluded: settings.chat.exclude,
            allowed: settings.tools.allow_writes,
            attached: Vec::new(),
            environment,
            redaction,
        };
        CellistSource::for_many(caller, ServiceLocation::Here(Box::new(service)), &prompts)
    });
    deciding.await.map_err(io::Error::other)
}
