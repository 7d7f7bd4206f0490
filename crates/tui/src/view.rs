//! A notebook on the screen, as it is now: what others change is seen as they change it.

mod keys;
mod model;

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cellist_link::{
    Author, Call, Event as News, Link, NotebookAsk, NotebookReply, NotebookRun, NotebookState, OnNotebook,
    Order, Pending, Reply, Request, Result, RunView,
};
use cellist_notebook::CellId;
use crossterm::event::Event;
use tokio::task::JoinSet;

use crate::motion::{Ending, Going, frames, newest};
use crate::picture::Picturing;
use crate::screen::{Screen, events};
use model::{Deed, Model};

/// Counts the runs of this process.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// Finds out how to start a kernel in a folder; the error is a sentence.
pub type Orders = Box<dyn Fn(PathBuf) -> Pin<Box<dyn Future<Output = std::result::Result<Order, String>>>>>;

/// A notebook to be shown.
pub struct Viewing {
    /// Its file, by an absolute path.
    pub path: PathBuf,
    /// How its cells are run: all but the cells.
    pub call: Call,
    /// How many bytes of a cell's outputs the notebook gets.
    pub max_output: Option<usize>,
    /// Whether the notebook gets the times of runs.
    pub timing: bool,
    /// Who runs them.
    pub author: Author,
    /// How its kernel is started.
    pub orders: Orders,
    /// How pictures are shown.
    pub picturing: Picturing,
    /// Whether there is colour.
    pub has_colour: bool,
}

/// What came of something that was begun.
enum Ended {
    State(Result<Reply>),
    Ran(Result<Reply>, Vec<CellId>, bool),
    Asked(Result<Reply>),
}

impl Viewing {
    /// Shows it until its user leaves.
    pub async fn show(self, link: &Link) -> Result<io::Result<()>> {
        let state = self.open(link).await?;
        let watching = link.begin(self.about(NotebookAsk::Watch));
        let shown = self.follow(link, state, &watching).await;
        watching.stop().stop();
        Ok(shown)
    }

    async fn open(&self, link: &Link) -> Result<NotebookState> {
        match link.ask(self.about(NotebookAsk::Open)).await? {
            Reply::Notebook(NotebookReply::State(state)) => Ok(*state),
            _ => Err(cellist_link::Error::Lost),
        }
    }

    fn about(&self, ask: NotebookAsk) -> Request {
        Request::Notebook(Box::new(OnNotebook { path: self.path.clone(), ask }))
    }

    async fn follow(&self, link: &Link, state: NotebookState, watching: &Pending) -> io::Result<()> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut model = Model::new(name, self.picturing);
        model.update(&state);
        let mut screen = Screen::take(self.has_colour)?;
        let (mut keys, mut news, mut work) = (events(), watching.events(), JoinSet::new());
        let (mut ending, mut tick) = (Ending::new()?, frames());
        let mut running: Option<Going> = None;
        let (mut is_reading, mut is_behind, mut is_watched) = (false, false, true);
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
                        Deed::Run(cells) => running = Some(self.run(link, &mut work, cells, None)),
                        Deed::Interrupt => match &mut running {
                            Some(going) => going.stop(),
                            None => self.ask(link, &mut work, Request::Interrupt { session: self.call.session.clone(), force: false }),
                        },
                        Deed::Restart => self.ask(link, &mut work, Request::Restart(self.call.session.clone())),
                    },
                },
                () = ending.asked() => return Ok(()),
                changed = news.changed(), if is_watched => match changed {
                    Ok(()) => {
                        if let Some(News::Notebook(told)) = &*news.borrow_and_update() {
                            model.hear(told);
                            // How cells stand changes without a newer version, too.
                            is_behind = true;
                        }
                    }
                    Err(_) => {
                        is_watched = false;
                        model.say("the host is gone: what is shown may be old");
                    }
                },
                run = newest(&mut running, run_view) => model.goes(run.running, run.bar.as_ref()),
                Some(Ok(done)) = work.join_next(), if !work.is_empty() => match done {
                    Ended::State(reply) => {
                        is_reading = false;
                        match reply {
                            Ok(Reply::Notebook(NotebookReply::State(state))) => is_behind |= model.update(&state),
                            Ok(Reply::Notebook(NotebookReply::Newer(newer))) => is_behind |= model.renew(*newer),
                            Ok(_) => {}
                            Err(error) => model.say(&error.to_string()),
                        }
                    }
                    Ended::Ran(Ok(Reply::Unordered { .. }), ..)
                        if running.as_ref().is_some_and(|going| going.is_unwanted) =>
                    {
                        running = None;
                        model.say("interrupted before anything ran");
                    }
                    Ended::Ran(Ok(Reply::Unordered { cwd }), cells, false) => match (self.orders)(cwd).await {
                        Ok(order) => running = Some(self.run(link, &mut work, cells, Some(order))),
                        Err(why) => {
                            running = None;
                            model.say(&why);
                        }
                    },
                    Ended::Ran(reply, ..) => {
                        running = None;
                        model.ran(&reply);
                    }
                    Ended::Asked(Err(error)) => model.say(&error.to_string()),
                    Ended::Asked(Ok(_)) => {}
                },
                _ = tick.tick(), if model.is_moving() => model.tick(Instant::now()),
            }
            if is_behind && !is_reading {
                (is_reading, is_behind) = (true, false);
                let pending = link.begin(self.about(model.question()));
                work.spawn(async move { Ended::State(pending.done().await) });
            }
        }
    }

    fn run(&self, link: &Link, work: &mut JoinSet<Ended>, cells: Vec<CellId>, order: Option<Order>) -> Going {
        let has_order = order.is_some();
        let call = Call { order, ..self.call.clone() };
        let (path, author, max_output) = (self.path.clone(), self.author.clone(), self.max_output);
        let run = NotebookRun {
            path,
            cells: cells.clone(),
            call,
            allow_errors: false,
            max_output,
            timing: self.timing,
            author,
            // Of a run that has one, its progress is told.
            name: Some(format!("view-{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed))),
        };
        let pending = link.begin(Request::Run(Box::new(run)));
        let going = Going::new(&pending);
        work.spawn(async move { Ended::Ran(pending.done().await, cells, has_order) });
        going
    }

    fn ask(&self, link: &Link, work: &mut JoinSet<Ended>, request: Request) {
        let pending = link.begin(request);
        work.spawn(async move { Ended::Asked(pending.done().await) });
    }
}

fn run_view(news: &News) -> Option<RunView> {
    match news {
        News::Run(view) => Some(view.clone()),
        News::Call(_) | News::Notebook(_) | News::Tool(_) => None,
    }
}
