//! The host as the owner of a notebook that it has open: what commands do goes through it, so that whoever has the
//! notebook open sees who did it, and a reader sees what is not saved yet.

use std::future::Future;
use std::path::{Path, PathBuf};

use cellist_link::{
    Address, Host, Link, NotebookAsk, NotebookEdit, NotebookEdited, NotebookReply, NotebookState, OnNotebook,
    Reply, Request,
};
use cellist_notebook::{CellId, CellRef, Ids, Notebook, Operation, Revision};
use cellist_session::live::{Entry, Undo};
use cellist_session::{Changed, Home, Opened, Use};
use clap::Args;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::author::author;
use crate::error::CliError;
use crate::host::{ours, unexpected};
use crate::load;

/// Whether the host is left out of it.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Alone {
    /// Use the file, even if the host has the notebook open
    #[arg(long)]
    standalone: bool,
}

/// The host, which has a notebook open.
pub(crate) struct Owner {
    link: Link,
    runtime: Runtime,
    /// The file, as it was named.
    named: PathBuf,
    /// The file itself.
    real: PathBuf,
}

/// A notebook as its owner has it.
pub(crate) struct Whole {
    pub(crate) notebook: Notebook,
    /// What its owner calls the cells, in order.
    pub(crate) names: Vec<CellId>,
    /// Why not all of it is on disk.
    problem: Option<String>,
}

impl Owner {
    /// The owner of a notebook, where it has one. None is started for it.
    pub(crate) fn of(path: &Path, alone: Alone) -> Option<Owner> {
        if alone.standalone {
            return None;
        }
        // Mostly nobody has registered, and this look is all that it costs.
        Host::place(&Home::from_env()).said::<Address>()?;
        // What an agent may not look at is refused by the store.
        let store = load::store();
        store.check_use(path, Use::Look).ok()?;
        let real = store.real_path(path).ok()?;
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        // A host that cannot be asked takes in what is written to the file, as it does with other programs.
        let link = runtime.block_on(Link::attach(&ours())).ok()?;
        match runtime.block_on(link.ask(Request::Notebooks)) {
            Ok(Reply::Notebooks(open)) if open.contains(&real) => {
                Some(Owner { link, runtime, named: path.to_owned(), real })
            }
            Ok(_) | Err(_) => None,
        }
    }

    /// The notebook as it is now.
    pub(crate) fn read(&self) -> Result<Opened, CliError> {
        let Whole { notebook, problem, .. } = self.wait(self.whole())?;
        let notices = problem.map(|problem| format!("not all of it is on disk: {problem}"));
        Ok(Opened { notebook, path: self.real.clone(), notices: notices.into_iter().collect() })
    }

    /// All of the notebook as it is now.
    pub(crate) async fn whole(&self) -> Result<Whole, CliError> {
        let NotebookState { news, text, cells, .. } =
            match self.asked(NotebookAsk::Read(author().actor)).await? {
                NotebookReply::State(state) => *state,
                other => return Err(unexpected(&Reply::Notebook(other))),
            };
        let mut notebook = Notebook::parse(text.into_bytes(), Ids::seeded(news.version))
            .map_err(|error| CliError::notebook(&self.named, &error))?;
        let names: Vec<CellId> = cells.into_iter().map(|(name, _)| name).collect();
        notebook.take_names(&names);
        Ok(Whole { notebook, names, problem: news.problem })
    }

    /// The way to the host.
    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// The notebook's file itself.
    pub(crate) fn file(&self) -> &Path {
        &self.real
    }

    /// Waits for something that is asked of the host.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Changes the notebook as someone does who has seen a revision of it.
    pub(crate) fn edit(
        &self,
        edit: NotebookEdit,
        base: Revision,
    ) -> Result<Changed<NotebookEdited>, CliError> {
        self.changed(NotebookAsk::Edit { edit, base: Some(base.to_string()), author: author() })
    }

    /// Takes something back.
    pub(crate) fn undo(&self, undo: Undo) -> Result<Changed<Vec<Entry>>, CliError> {
        let Changed { value, notebook, revision, written, notices } =
            self.changed(NotebookAsk::Undo { undo, author: author() })?;
        Ok(Changed { value: value.undone, notebook, revision, written, notices })
    }

    /// Who did what, oldest first.
    pub(crate) fn history(&self) -> Result<Vec<Entry>, CliError> {
        match self.ask(NotebookAsk::History)? {
            NotebookReply::History(entries) => Ok(entries),
            other => Err(unexpected(&Reply::Notebook(other))),
        }
    }

    /// Has all of it written to the file, for those who work on that.
    pub(crate) fn save(&self) -> Result<(), CliError> {
        self.ask(NotebookAsk::Save).map(drop)
    }

    fn changed(&self, ask: NotebookAsk) -> Result<Changed<NotebookEdited>, CliError> {
        load::store().check_use(&self.named, Use::Change)?;
        let mut value = match self.ask(ask)? {
            NotebookReply::Edited(edited) => *edited,
            other => return Err(unexpected(&Reply::Notebook(other))),
        };
        let Opened { notebook, mut notices, .. } = self.read()?;
        notices.append(&mut value.notices);
        let (revision, written) = (notebook.revision(), value.changed);
        Ok(Changed { value, notebook, revision, written, notices })
    }

    fn ask(&self, ask: NotebookAsk) -> Result<NotebookReply, CliError> {
        self.wait(self.asked(ask))
    }

    /// What the notebook answers.
    pub(crate) async fn asked(&self, ask: NotebookAsk) -> Result<NotebookReply, CliError> {
        let asked = OnNotebook { path: self.real.clone(), ask };
        match self.link.ask(Request::Notebook(Box::new(asked))).await {
            Ok(Reply::Notebook(reply)) => Ok(reply),
            Ok(other) => Err(unexpected(&other)),
            Err(error) => Err(CliError::from(error).about(&self.named.display().to_string())),
        }
    }
}

/// Operations as they travel, on a notebook of so many cells.
pub(crate) fn operations_json(operations: &[Operation], count: usize) -> Vec<Value> {
    let cell_json = |cell: &CellRef| match cell {
        CellRef::Index(index) => json!(index),
        CellRef::FromEnd(back) => json!(count.saturating_sub(*back)),
        CellRef::Name(name) => json!(name),
    };
    let one = |operation: &Operation| match operation {
        Operation::Edit { cell, source } => {
            json!({ "action": "edit", "cell": cell_json(cell), "source": source })
        }
        Operation::Insert { index, kind, source } => {
            json!({ "action": "insert", "index": index, "type": kind, "source": source })
        }
        Operation::Delete { cell } => json!({ "action": "delete", "cell": cell_json(cell) }),
        Operation::Move { cell, index } => {
            json!({ "action": "move", "cell": cell_json(cell), "index": index })
        }
        Operation::Retype { cell, kind } => {
            json!({ "action": "retype", "cell": cell_json(cell), "type": kind })
        }
        Operation::Clear { cell } => json!({ "action": "clear", "cell": cell_json(cell) }),
    };
    operations.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use cellist_notebook::CellType;

    use super::*;

    #[test]
    fn operations_are_the_same_after_the_journey() {
        let cell = || CellRef::Name("a".into());
        let operations = [
            Operation::Edit { cell: CellRef::Index(1), source: "x\n".into() },
            Operation::Insert { index: 0, kind: CellType::Markdown, source: String::new() },
            Operation::Delete { cell: cell() },
            Operation::Move { cell: cell(), index: 2 },
            Operation::Retype { cell: cell(), kind: CellType::Raw },
            Operation::Clear { cell: cell() },
        ];
        let arrived: Result<Vec<Operation>, _> =
            operations_json(&operations, 3).into_iter().map(serde_json::from_value).collect();
        assert_eq!(arrived.unwrap(), operations);
        let last = operations_json(&[Operation::Delete { cell: CellRef::FromEnd(1) }], 3);
        assert_eq!(last, [json!({ "action": "delete", "cell": 2 })]);
    }
}
