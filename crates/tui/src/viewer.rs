//! The notebook viewer: a notebook on the screen, updated while others change it.

mod keys;
mod model;

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cellist_host::{
    Author, Bar, CallRequest, Error, Event as HostEvent, FullNotebook, HostClient, NotebookAction,
    NotebookReply, NotebookRequest, NotebookRunRequest, OutputForm, Reply, Request, Result,
};
use cellist_notebook::CellId;
use tokio::time::sleep;

use crate::graphics::ImageSupport;
use crate::screen_loop::{LoopEvent, RunningRequest, ScreenLoop};
use model::{ViewerAction, ViewerModel};

/// Minimum time between two requests for changes. Changes of that time come in one reply.
const PAUSE: Duration = Duration::from_millis(75);

/// The request for the whole notebook.
const FOLLOW: NotebookAction = NotebookAction::Follow { clients: Vec::new(), outputs: OutputForm::Whole };

/// A notebook on the screen.
///
/// The viewer keeps a replica of the notebook and asks the host for changes, one request at a time. If the replica cannot
/// apply a change, it asks for the whole notebook. Leaving the viewer does not stop its runs.
pub struct NotebookViewer {
    /// The absolute path of the notebook.
    pub path: PathBuf,
    /// The parameters of runs, without cells.
    pub call: CallRequest,
    /// Maximum bytes of a cell's outputs in the notebook.
    pub max_output: Option<usize>,
    /// Whether runs record their times in the notebook.
    pub timing: bool,
    /// The author of runs.
    pub author: Author,
    /// The terminal's support for images.
    pub images: ImageSupport,
    /// Whether the screen has colour.
    pub has_colour: bool,
}

enum ViewerReply {
    /// The changes of the notebook.
    Changes(Result<Reply>),
    Ran(Result<Reply>),
    /// An interrupt or a restart.
    Control(Result<Reply>),
}

type ViewerLoop = ScreenLoop<ViewerReply>;

impl NotebookViewer {
    /// Shows the notebook until the user leaves. The outer error is the host's, the inner one the terminal's.
    pub async fn show(self, client: &HostClient) -> Result<io::Result<()>> {
        let whole = match client.ask(self.about(FOLLOW)).await? {
            Reply::Notebook(NotebookReply::Whole(whole)) => *whole,
            _ => return Err(Error::Lost),
        };
        Ok(self.follow(client, whole).await)
    }

    fn about(&self, ask: NotebookAction) -> Request {
        Request::Notebook(Box::new(NotebookRequest { path: self.path.clone(), ask }))
    }

    async fn follow(&self, client: &HostClient, whole: FullNotebook) -> io::Result<()> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut model = ViewerModel::new(name, self.images);
        model.load(whole);
        let mut screen = ViewerLoop::start(self.has_colour)?;
        self.request_changes(client, &mut screen, NotebookAction::News);
        loop {
            screen.draw(|area, buffer| model.draw(area, buffer))?;
            match screen.next(model.is_running(), running_cell).await? {
                LoopEvent::Exit => return Ok(()),
                LoopEvent::Resized => {}
                LoopEvent::Input(event) => match model.handle(&event) {
                    ViewerAction::Nothing => {}
                    ViewerAction::Leave => return Ok(()),
                    ViewerAction::Run(cells) => self.run(client, &mut screen, cells),
                    ViewerAction::Interrupt => {
                        if !screen.cancel_running() {
                            let session = self.call.session.clone();
                            self.control(client, &mut screen, Request::Interrupt { session, force: false });
                        }
                    }
                    ViewerAction::Restart => {
                        self.control(client, &mut screen, Request::Restart(self.call.session.clone()));
                    }
                },
                LoopEvent::Progress((cell, bar)) => model.set_progress(cell, bar.as_ref()),
                LoopEvent::Reply(reply) => self.take_reply(client, &mut screen, &mut model, reply),
                LoopEvent::Tick => model.tick(Instant::now()),
            }
        }
    }

    fn take_reply(
        &self,
        client: &HostClient,
        screen: &mut ViewerLoop,
        model: &mut ViewerModel,
        reply: ViewerReply,
    ) {
        match reply {
            ViewerReply::Changes(reply) => self.take_changes(client, screen, model, reply),
            ViewerReply::Ran(reply) => {
                screen.running = None;
                model.show_run_result(&reply);
            }
            ViewerReply::Control(Err(error)) => model.show_message(&error.to_string()),
            ViewerReply::Control(Ok(_)) => {}
        }
    }

    /// Applies changes and requests the next ones, unless the host is lost.
    fn take_changes(
        &self,
        client: &HostClient,
        screen: &mut ViewerLoop,
        model: &mut ViewerModel,
        reply: Result<Reply>,
    ) {
        let needs_whole = match reply {
            Ok(Reply::Notebook(NotebookReply::Whole(whole))) => {
                model.load(*whole);
                false
            }
            Ok(Reply::Notebook(NotebookReply::News(news))) => !model.apply(*news),
            Ok(_) => true,
            Err(Error::Lost) => {
                return model.show_message("connection to the host lost: this view may be outdated");
            }
            Err(error) => {
                model.show_message(&error.to_string());
                true
            }
        };
        self.request_changes(client, screen, if needs_whole { FOLLOW } else { NotebookAction::News });
    }

    fn request_changes(&self, client: &HostClient, screen: &mut ViewerLoop, ask: NotebookAction) {
        let (client, request) = (client.clone(), self.about(ask));
        screen.work.spawn(async move {
            sleep(PAUSE).await;
            ViewerReply::Changes(client.ask(request).await)
        });
    }

    fn run(&self, client: &HostClient, screen: &mut ViewerLoop, cells: Vec<CellId>) {
        let run = NotebookRunRequest {
            path: self.path.clone(),
            cells,
            call: self.call.clone(),
            allow_errors: false,
            max_output: self.max_output,
            timing: self.timing,
            author: self.author.clone(),
        };
        let pending = client.begin(Request::Run(Box::new(run)));
        screen.running = Some(RunningRequest::new(&pending));
        screen.work.spawn(async move { ViewerReply::Ran(pending.done().await) });
    }

    fn control(&self, client: &HostClient, screen: &mut ViewerLoop, request: Request) {
        let pending = client.begin(request);
        screen.work.spawn(async move { ViewerReply::Control(pending.done().await) });
    }
}

/// The running cell and its progress bar.
fn running_cell(event: &HostEvent) -> Option<(Option<CellId>, Option<Bar>)> {
    match event {
        HostEvent::Run(state) => {
            let cell = state.running().map(|step| step.cell.as_str().into());
            Some((cell, state.call.as_ref().and_then(|call| call.bar.clone())))
        }
        HostEvent::Starting(_) | HostEvent::Call(_) | HostEvent::Tool(_) => None,
    }
}
