//! `get_notebook_cells`: text and state of cells, and the revision that edits are based on.

use cellist_notebook::Notebook;
use cellist_session::sessions::SessionState;

use super::listing::Listing;
use super::open::{Open, Seen};
use super::{Call, Toolbox};
use crate::answer::Answer;
use crate::budget;
use crate::context::{WHOLE_BELOW, language};

impl Toolbox {
    pub(super) async fn get_notebook_cells(&self, call: Call<'_>) -> Result<Answer, Answer> {
        let open = self.notebook(&call).await?;
        let Seen { notebook, revision, others } = open.read(&call).await?;
        let states = open.document.view().cells();
        let budget = budget::budget(call.arguments);
        let listing = Listing { notebook: &notebook, states: &states, name: open.name(), budget };
        let count = notebook.cells().len();
        let mut text = format!("{} · revision {revision}\n", self.heading(&open, &notebook));
        let all: Vec<usize> = (0..count).collect();
        let others = match call.arguments.cells("cells") {
            Some(cells) => {
                let wanted = open.find_all(&notebook, cells)?;
                text.push_str(&listing.whole(&wanted));
                self.glance(&call, &open, &notebook, &wanted);
                others.without(|index| wanted.contains(&index))
            }
            None if count < WHOLE_BELOW => {
                text.push_str(&listing.whole(&all));
                self.glance(&call, &open, &notebook, &all);
                others.without(|_| true)
            }
            None => {
                text.push_str(&listing.outline(&all, budget));
                text.push_str("Name `cells` for their text. Code without In[n] was not run.");
                others
            }
        };
        if let Some(sentence) = others.sentence() {
            text = format!("{}\n{sentence}", text.trim_end());
        }
        Ok(Answer::text(text.trim_end()))
    }

    /// What and how a notebook is, in a line.
    pub(super) fn heading(&self, open: &Open, notebook: &Notebook) -> String {
        let cells = match notebook.cells().len() {
            0 => "no cells".to_owned(),
            1 => "1 cell".to_owned(),
            count => format!("{count} cells"),
        };
        let sessions = self.sessions.list();
        let session = sessions.iter().find(|session| session.notebook.as_deref() == Some(open.path()));
        let kernel = match session.map(|session| session.state) {
            None => "not started",
            Some(SessionState::Starting) => "starting",
            Some(SessionState::Idle) => "idle",
            Some(SessionState::Busy) => "busy",
            Some(SessionState::Silent) => "not answering",
            Some(SessionState::Dead) => "dead",
        };
        format!("{} · {cells} · {} · kernel {kernel}", open.name(), language(notebook))
    }
}
