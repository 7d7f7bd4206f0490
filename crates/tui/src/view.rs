//! A notebook on the screen, as it is now: what others change is seen as they change it.

mod keys;
mod model;

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cellist_host::{
    Author, Bar, CallRequest, Error, Event as News, HostClient, NotebookAsk, NotebookReply, NotebookRun,
    NotebookWhole, OnNotebook, OutputForm, Reply, Request, Result,
};
use cellist_notebook::CellId;
use crossterm::event::Event;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::motion::{Ending, Going, frames, newest};
use crate::picture::Picturing;
use crate::screen::{Screen, events};
use model::{Deed, Model};

/// The least time between two looks for news.
const PAUSE: Duration = Duration::from_millis(75);

/// The request for the whole notebook.
const FOLLOW: NotebookAsk = NotebookAsk::Follow { clients: Vec::new(), outputs: OutputForm::Whole };

/// A notebook to be shown.
pub struct Viewing {
    /// Its file, by an absolute path.
    pub path: PathBuf,
    /// The call of its cells.
    pub call: CallRequest,
    /// How many bytes of a cell's outputs the notebook gets.
    pub max_output: Option<usize>,
    /// Whether the notebook gets the times of runs.
    pub timing: bool,
    /// Who runs them.
    pub author: Author,
    /// How pictures are shown.
    pub picturing: Picturing,
    /// Whether there is colour.
    pub has_colour: bool,
}

/// What came of something that was begun.
enum Ended {
    Told(Result<Reply>),
    Ran(Result<Reply>),
    Asked(Result<Reply>),
}

impl Viewing {
    /// Shows it until its user leaves.
    pub async fn show(self, client: &HostClient) -> Result<io::Result<()>> {
        let whole = match client.ask(self.about(FOLLOW)).await? {
            Reply::Notebook(NotebookReply::Whole(whole)) => *whole,
            _ => return Err(Error::Lost),
        };
        Ok(self.follow(client, whole).await)
    }

    fn about(&self, ask: NotebookAsk) -> Request {
        Request::Notebook(Box::new(OnNotebook { path: self.path.clone(), ask }))
    }

    async fn follow(&self, client: &HostClient, whole: NotebookWhole) -> io::Result<()> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut model = Model::new(name, self.picturing);
        model.update(whole);
        let mut screen = Screen::take(self.has_colour)?;
        let (mut keys, mut work) = (events(), JoinSet::new());
        let (mut ending, mut tick) = (Ending::new()?, frames());
        let mut running: Option<Going> = None;
        self.listen(client, &mut work, NotebookAsk::News);
        loop {
            screen.draw(|area, buffer| model.draw(area, buffer))?;
            tokio::select! {
                biased;
                event = keys.recv() => match event {
                    None => return Ok(()),
                    Some(Event::Resize(..)) => screen.refresh()?,
                    Some(event) => match model.take(&event) {
                        Deed::Nothing => {}
                        Deed::Leave => return Ok(()),
                        Deed::Run(cells) => running = Some(self.run(client, &mut work, cells)),
                        Deed::Interrupt => match &mut running {
                            Some(going) => going.stop(),
                            None => self.ask(client, &mut work, Request::Interrupt { session: self.call.session.clone(), force: false }),
                        },
                        Deed::Restart => self.ask(client, &mut work, Request::Restart(self.call.session.clone())),
                    },
                },
                () = ending.asked() => return Ok(()),
                (cell, bar) = newest(&mut running, running_cell) => model.goes(cell, bar.as_ref()),
                Some(Ok(done)) = work.join_next(), if !work.is_empty() => match done {
                    Ended::Told(reply) => {
                        let is_behind = match reply {
                            Ok(Reply::Notebook(NotebookReply::Whole(whole))) => {
                                model.update(*whole);
                                false
                            }
                            Ok(Reply::Notebook(NotebookReply::News(news))) => model.renew(*news),
                            Ok(_) => true,
                            Err(Error::Lost) => {
                                model.say("the host is gone: what is shown may be old");
                                continue;
                            }
                            Err(error) => {
                                model.say(&error.to_string());
                                true
                            }
                        };
                        self.listen(client, &mut work, if is_behind { FOLLOW } else { NotebookAsk::News });
                    }
                    Ended::Ran(reply) => {
                        running = None;
                        model.ran(&reply);
                    }
                    Ended::Asked(Err(error)) => model.say(&error.to_string()),
                    Ended::Asked(Ok(_)) => {}
                },
                _ = tick.tick(), if model.is_moving() => model.tick(Instant::now()),
            }
        }
    }

    /// Asks for what is new, after a pause in which more may come.
    fn listen(&self, client: &HostClient, work: &mut JoinSet<Ended>, ask: NotebookAsk) {
        let (client, request) = (client.clone(), self.about(ask));
        work.spawn(async move {
            sleep(PAUSE).await;
            Ended::Told(client.ask(request).await)
        });
    }

    fn run(&self, client: &HostClient, work: &mut JoinSet<Ended>, cells: Vec<CellId>) -> Going {
        let run = NotebookRun {
            path: self.path.clone(),
            cells,
            call: self.call.clone(),
            allow_errors: false,
            max_output: self.max_output,
            timing: self.timing,
            author: self.author.clone(),
        };
        let pending = client.begin(Request::Run(Box::new(run)));
        let going = Going::new(&pending);
        work.spawn(async move { Ended::Ran(pending.done().await) });
        going
    }

    fn ask(&self, client: &HostClient, work: &mut JoinSet<Ended>, request: Request) {
        let pending = client.begin(request);
        work.spawn(async move { Ended::Asked(pending.done().await) });
    }
}

/// The cell that runs, and how far its progress bar is.
fn running_cell(news: &News) -> Option<(Option<CellId>, Option<Bar>)> {
    match news {
        News::Run(state) => {
            let cell = state.running().map(|step| step.cell.as_str().into());
            Some((cell, state.call.as_ref().and_then(|call| call.bar.clone())))
        }
        News::Starting(_) | News::Call(_) | News::Tool(_) => None,
    }
}
