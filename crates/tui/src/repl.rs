//! The REPL: code is typed and run, one piece after the other, in a session that other clients may share.

mod completeness;
mod export;
mod model;

use std::io;
use std::time::Instant;

use cellist_host::{
    CallReport, CallRequest, CallView, Code, Event as HostEvent, FailureKind, HostClient, Reply, Request,
    Result,
};

use crate::graphics::ImageSupport;
use crate::screen_loop::{LoopEvent, RunningRequest, ScreenLoop};
use model::{ReplAction, ReplModel};

/// The files that the REPL uses.
pub trait ReplStorage {
    /// The code of earlier sessions, oldest first.
    fn history(&self) -> Vec<String>;

    /// Adds code to the history.
    fn remember(&self, code: &str);

    /// Creates a notebook file. The result is a message for the user, in both cases.
    fn save(&self, path: &str, bytes: &[u8]) -> std::result::Result<String, String>;
}

/// A REPL on a full screen.
///
/// One piece of code runs at a time. Leaving interrupts it. The session itself belongs to the host and may outlive the REPL.
pub struct Repl {
    /// The parameters of calls, without code.
    pub call: CallRequest,
    /// The history and the saved notebooks.
    pub storage: Box<dyn ReplStorage>,
    /// The terminal's support for images.
    pub images: ImageSupport,
    /// Whether the screen has colour.
    pub has_colour: bool,
}

enum ReplReply {
    Ran(Result<Reply>),
    /// Completions for the text before this cursor.
    Completed(Result<Reply>, usize),
    /// The documentation of this name.
    Inspected(Result<Reply>, String),
    Restarted(Result<Reply>),
}

type ReplLoop = ScreenLoop<ReplReply>;

impl Repl {
    /// Runs until the user leaves. Returns the transcript for the terminal.
    pub async fn run(self, client: &HostClient) -> io::Result<String> {
        let mut model = ReplModel::new(self.call.session.id.clone(), self.images, self.storage.history());
        let ended = self.follow(client, &mut model).await;
        ended.map(|()| model.transcript(self.has_colour))
    }

    async fn follow(&self, client: &HostClient, model: &mut ReplModel) -> io::Result<()> {
        let mut screen = ReplLoop::start(self.has_colour)?;
        loop {
            screen.draw(|area, buffer| model.draw(area, buffer))?;
            match screen.next(model.is_running(), call_view).await? {
                LoopEvent::Exit => return Ok(()),
                LoopEvent::Resized => {}
                LoopEvent::Input(event) => match model.handle(&event) {
                    ReplAction::Leave => {
                        screen.cancel_running();
                        return Ok(());
                    }
                    action => self.perform(client, &mut screen, model, action),
                },
                LoopEvent::Progress(view) => model.show_progress(&view),
                LoopEvent::Reply(reply) => take_reply(&mut screen, model, reply),
                LoopEvent::Tick => model.tick(Instant::now()),
            }
        }
    }

    fn perform(&self, client: &HostClient, screen: &mut ReplLoop, model: &mut ReplModel, action: ReplAction) {
        let session = self.call.session.clone();
        match action {
            ReplAction::Nothing | ReplAction::Leave => {}
            ReplAction::Run(code) => {
                self.storage.remember(&code);
                let cells = vec![Code { code, ..Code::default() }];
                start(client, screen, CallRequest { cells, ..self.call.clone() });
            }
            ReplAction::Interrupt => drop(screen.cancel_running()),
            ReplAction::Restart => {
                let pending = client.begin(Request::Restart(session));
                screen.work.spawn(async move { ReplReply::Restarted(pending.done().await) });
            }
            ReplAction::Save(path) => {
                let (Ok(message) | Err(message)) = self.storage.save(&path, &model.notebook());
                model.show_message(&message);
            }
            ReplAction::Complete(code, cursor) => {
                let pending = client.begin(Request::Complete { session, code, cursor });
                screen.work.spawn(async move { ReplReply::Completed(pending.done().await, cursor) });
            }
            ReplAction::Inspect(code) => {
                let cursor = code.chars().count();
                let pending = client.begin(Request::Inspect { session, code: code.clone(), cursor });
                screen.work.spawn(async move { ReplReply::Inspected(pending.done().await, code) });
            }
        }
    }
}

fn start(client: &HostClient, screen: &mut ReplLoop, call: CallRequest) {
    let pending = client.begin(Request::Call(Box::new(call)));
    screen.running = Some(RunningRequest::new(&pending));
    screen.work.spawn(async move { ReplReply::Ran(pending.done().await) });
}

fn take_reply(screen: &mut ReplLoop, model: &mut ReplModel, reply: ReplReply) {
    match reply {
        ReplReply::Ran(reply) => {
            screen.running = None;
            match reply {
                Ok(Reply::Called(report)) => model.end_run(*report),
                Ok(_) => model.end_failed("nothing ran"),
                Err(error) if error.kind() == FailureKind::Interrupted => {
                    model.end_interrupted(&error.to_string());
                }
                Err(error) => model.end_failed(&error.to_string()),
            }
        }
        ReplReply::Completed(Ok(Reply::Completion { matches, start, end }), cursor) => {
            model.complete(matches, start, end, cursor);
        }
        ReplReply::Inspected(Ok(Reply::Inspection(text)), code) => model.show_inspection(&code, text),
        ReplReply::Completed(Ok(_), _) | ReplReply::Inspected(Ok(_), _) => {}
        ReplReply::Completed(Err(error), _)
        | ReplReply::Inspected(Err(error), _)
        | ReplReply::Restarted(Err(error)) => model.show_message(&error.to_string()),
        ReplReply::Restarted(Ok(_)) => model.show_message("kernel restarted"),
    }
}

fn call_view(event: &HostEvent) -> Option<CallView> {
    match event {
        HostEvent::Call(view) => Some(view.clone()),
        HostEvent::Starting(_) | HostEvent::Run(_) | HostEvent::Tool(_) => None,
    }
}

/// The report of the only piece of code, if it ran, and the notices.
fn only(report: CallReport) -> (Option<cellist_host::CodeReport>, Vec<String>) {
    (report.cells.into_iter().next(), report.notices)
}
