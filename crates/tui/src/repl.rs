//! Code typed and run, one piece after the other, in a session that others may use too.

mod model;
mod notebook;
mod whole;

use std::io;
use std::time::Instant;

use cellist_host::{
    CallReport, CallRequest, CallView, Code, Event as News, FailureKind, HostClient, Reply, Request, Result,
};
use crossterm::event::Event;
use tokio::task::JoinSet;

use crate::motion::{Ending, Going, frames, newest};
use crate::picture::Picturing;
use crate::screen::{Screen, events};
use model::{Deed, Model};

/// What is kept outside of the terminal.
pub trait Keeper {
    /// What was run before, oldest first.
    fn history(&self) -> Vec<String>;

    /// Adds to it.
    fn remember(&self, code: &str);

    /// Makes a new notebook of these bytes; what comes back is a sentence.
    fn save(&self, path: &str, bytes: &[u8]) -> std::result::Result<String, String>;
}

/// Someone at a terminal with a session.
pub struct Repl {
    /// The call without its code.
    pub call: CallRequest,
    /// What is kept.
    pub keeper: Box<dyn Keeper>,
    /// How pictures are shown.
    pub picturing: Picturing,
    /// Whether there is colour.
    pub has_colour: bool,
}

enum Ended {
    Ran(Result<Reply>),
    Completed(Result<Reply>, usize),
    Inspected(Result<Reply>, String),
    Asked(Result<Reply>),
}

impl Repl {
    /// Goes on until its user leaves. What was run is returned as text for the terminal.
    pub async fn go(self, client: &HostClient) -> io::Result<String> {
        let mut model = Model::new(self.call.session.id.clone(), self.picturing, self.keeper.history());
        let shown = self.follow(client, &mut model).await;
        shown.map(|()| model.transcript(self.has_colour))
    }

    async fn follow(&self, client: &HostClient, model: &mut Model) -> io::Result<()> {
        let mut screen = Screen::take(self.has_colour)?;
        let (mut keys, mut work) = (events(), JoinSet::new());
        let (mut ending, mut tick) = (Ending::new()?, frames());
        let mut running: Option<Going> = None;
        loop {
            screen.draw(|area, buffer| model.draw(area, buffer))?;
            tokio::select! {
                biased;
                event = keys.recv() => match event {
                    None => return Ok(()),
                    Some(Event::Resize(..)) => screen.refresh()?,
                    Some(event) => match model.take(&event) {
                        Deed::Nothing => {}
                        Deed::Leave => {
                            if let Some(going) = &mut running {
                                going.stop();
                            }
                            return Ok(());
                        }
                        Deed::Run(code) => {
                            self.keeper.remember(&code);
                            let cells = vec![Code { code, ..Code::default() }];
                            running = Some(begin(client, &mut work, CallRequest { cells, ..self.call.clone() }));
                        }
                        Deed::Interrupt => {
                            if let Some(going) = &mut running {
                                going.stop();
                            }
                        }
                        Deed::Restart => {
                            let pending = client.begin(Request::Restart(self.call.session.clone()));
                            work.spawn(async move { Ended::Asked(pending.done().await) });
                        }
                        Deed::Save(path) => match self.keeper.save(&path, &model.notebook()) {
                            Ok(said) => model.say(&said),
                            Err(why) => model.say(&why),
                        },
                        Deed::Complete(code, cursor) => {
                            let session = self.call.session.clone();
                            let pending = client.begin(Request::Complete { session, code, cursor });
                            work.spawn(async move { Ended::Completed(pending.done().await, cursor) });
                        }
                        Deed::Inspect(code) => {
                            let (session, cursor) = (self.call.session.clone(), code.chars().count());
                            let pending = client.begin(Request::Inspect { session, code: code.clone(), cursor });
                            work.spawn(async move { Ended::Inspected(pending.done().await, code) });
                        }
                    },
                },
                () = ending.asked() => return Ok(()),
                view = newest(&mut running, call) => model.shows(&view),
                Some(Ok(done)) = work.join_next(), if !work.is_empty() => match done {
                    Ended::Ran(ran) => {
                        running = None;
                        match ran {
                            Ok(Reply::Called(report)) => model.ran(*report),
                            Ok(_) => model.failed("nothing ran"),
                            Err(error) if error.kind() == FailureKind::Interrupted => {
                                model.cancelled(&error.to_string());
                            }
                            Err(error) => model.failed(&error.to_string()),
                        }
                    }
                    Ended::Completed(Ok(Reply::Completion { matches, start, end }), cursor) => {
                        model.complete(matches, start, end, cursor);
                    }
                    Ended::Inspected(Ok(Reply::Inspection(text)), code) => model.inspected(&code, text),
                    Ended::Completed(Ok(_), _) | Ended::Inspected(Ok(_), _) => {}
                    Ended::Completed(Err(error), _) | Ended::Inspected(Err(error), _) | Ended::Asked(Err(error)) => {
                        model.say(&error.to_string());
                    }
                    Ended::Asked(Ok(_)) => model.say("the kernel is a new one"),
                },
                _ = tick.tick(), if model.is_running() => model.tick(Instant::now()),
            }
        }
    }
}

fn begin(client: &HostClient, work: &mut JoinSet<Ended>, call: CallRequest) -> Going {
    let pending = client.begin(Request::Call(Box::new(call)));
    let going = Going::new(&pending);
    work.spawn(async move { Ended::Ran(pending.done().await) });
    going
}

fn call(news: &News) -> Option<CallView> {
    match news {
        News::Call(view) => Some(view.clone()),
        News::Starting(_) | News::Run(_) | News::Tool(_) => None,
    }
}

/// What came of a piece of code, if it ran.
pub(crate) fn only(report: CallReport) -> (Option<cellist_host::CodeReport>, Vec<String>) {
    (report.cells.into_iter().next(), report.notices)
}
