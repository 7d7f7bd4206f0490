//! One page's socket: what it asks for is done, and what is new in its notebook is told, in the order in which it happened.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::ws::{Message, WebSocket};
use cellist_link::Failure;
use cellist_notebook::CellId;
use cellist_session::aside::aside;
use cellist_session::contained::{Panicked, contained};
use cellist_session::live::{Actor, ActorKind, Author, Document, DocumentError, Refusal, Undo, View};
use cellist_session::sessions::{OwnerId, SessionKey};
use cellist_tools::{Editor, EditorReport, Selection};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::Page;
use super::chat::Talk;
use super::feed::{Around, Feed};
use super::files;
use super::handshake::{self, Hello};
use super::history::turns;
use super::kernel::Waiting;
use super::wire::{Answer, Ask, ChatAsk, Down, Looking, News, Up};
use crate::listen::{self, Closing};
use crate::log::note;

/// The least time between two pieces of news: what happens in between is told as one.
const PACE: Duration = Duration::from_millis(25);
/// How often it is looked whether the kernel or others do something else.
const LOOK: Duration = Duration::from_millis(200);
/// How often a page is asked whether it is still there, and how often in vain. A browser answers by itself.
const PING: Duration = Duration::from_secs(20);
const MOST_PINGS: u32 = 3;
/// How long a page may take to read.
const READING: Duration = Duration::from_secs(60);
/// Answers that may wait to be sent. A page that reads slowly makes only itself wait.
const ANSWERS: usize = 32;

/// Serves a page until it goes, its browser is revoked, or the host leaves. `signed_in` is the browser that its cookie was
/// given to.
pub(super) async fn serve(
    mut socket: WebSocket,
    connection: listen::Visit,
    page: Arc<Page>,
    hello: Hello,
    signed_in: Option<String>,
) {
    let mut orders = connection.orders();
    let is_met = tokio::select! {
        is_met = handshake::meet(&mut socket, &page, &hello, signed_in.is_some()) => is_met,
        // Others came since, and this page has not proven itself.
        Closing::Now | Closing::AfterResponse = orders.next() => false,
    };
    if !is_met {
        return;
    }
    connection.proven();
    // A host that is about to leave lets nobody in.
    let Some(_attached) = page.shared.attached() else { return };
    let _open = page.door.visit(&hello.browser);
    let browsers: Vec<String> = signed_in.into_iter().chain([hello.browser]).collect();
    let number = page.next();
    let owner = OwnerId(format!("page-{}-{number}", std::process::id()));
    page.shared.desk.sessions().join(owner.clone());
    let mut visit = Visit {
        name: format!("page-{number}"),
        actor: page.actor(),
        owner,
        page: page.clone(),
        feed: None,
        views: None,
        talk: None,
    };
    tokio::select! {
        // A fault of ours closes this page's socket, and the page comes back.
        _ = contained(visit.serve(&mut socket)) => {}
        () = page.door.revoked(&browsers) => {}
    }
    visit.leave();
}

struct Visit {
    page: Arc<Page>,
    name: String,
    actor: Actor,
    owner: OwnerId,
    feed: Option<Feed>,
    views: Option<watch::Receiver<Arc<View>>>,
    talk: Option<Talk>,
}

impl Visit {
    async fn serve(&mut self, socket: &mut WebSocket) {
        let (answers, mut answered) = mpsc::channel::<Down>(ANSWERS);
        self.talk = Some(self.new_talk(answers.clone()));
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut pings = interval(PING);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut told = Instant::now();
        let mut unanswered = 0;
        loop {
            let down = tokio::select! {
                biased;
                () = self.page.shared.left() => return,
                message = socket.recv() => {
                    unanswered = 0;
                    match message {
                        Some(Ok(Message::Text(text))) => match serde_json::from_str::<Up>(&text) {
                            Ok(up) => self.answer(up, &answers).await,
                            Err(error) => {
                                note(format_args!("a page asked what cannot be understood: {error}"));
                                return;
                            }
                        },
                        Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                        Some(Ok(_)) => None,
                    }
                }
                _ = pings.tick() => {
                    unanswered += 1;
                    let is_gone = unanswered > MOST_PINGS;
                    if is_gone || send(socket, Message::Ping(Bytes::new())).await.is_err() {
                        return;
                    }
                    None
                }
                Some(down) = answered.recv() => Some(down),
                () = changed(&mut self.views, told + PACE) => {
                    told = Instant::now();
                    self.news().await
                }
                _ = look.tick() => {
                    if let Some(key) = self.key() {
                        // Others may have started the kernel since; there may be none yet.
                        let _ = self.page.shared.desk.sessions().attach(&self.owner, &key);
                    }
                    let around = around(&self.page);
                    let news = self.feed.as_mut().map(|feed| feed.aside(&around));
                    news.filter(|news| !news.is_empty()).map(|news| Down::News(Box::new(news)))
                }
            };
            if let Some(down) = down
                && tell(socket, &down).await.is_err()
            {
                return;
            }
        }
    }

    async fn news(&mut self) -> Option<Down> {
        let news = match self.feed.as_mut()?.news(&around(&self.page)).await {
            Ok(news) => news,
            // The notebook was closed under us: the page asks for it again.
            Err(_) => News { is_behind: true, ..News::default() },
        };
        if news.is_behind {
            (self.feed, self.views) = (None, None);
        }
        (!news.is_empty()).then(|| Down::News(Box::new(news)))
    }

    fn leave(&mut self) {
        if let Some(feed) = self.feed.take() {
            self.let_go(feed.document.path());
        }
        self.page.shared.desk.sessions().leave(&self.owner);
    }

    /// The notebook is not in front of the person any more.
    fn let_go(&self, path: &Path) {
        self.page.presence.leaves(path, &self.name);
        let toolbox = self.page.shared.desk.toolbox();
        let Editor { mut active, mut selection, .. } = toolbox.editor();
        if active.as_deref() == Some(path) {
            (active, selection) = (None, Selection::default());
        }
        toolbox.hear(EditorReport { active, selection, attach: Vec::new(), detach: vec![path.to_owned()] });
    }

    /// Tells agents what the person has in front of them. What is open on the page is attached.
    fn report(&self, path: &Path, looking: &Looking) {
        let toolbox = self.page.shared.desk.toolbox();
        let selection = Selection {
            cells: looking.selected.iter().map(CellId::to_string).collect(),
            editing: looking.cell.as_ref().filter(|_| looking.editing).map(CellId::to_string),
        };
        let (active, attach) = (Some(path.to_owned()), vec![path.to_owned()]);
        toolbox.hear(EditorReport { active, selection, attach, detach: Vec::new() });
    }

    fn author(&self) -> Author {
        self.actor.clone().into()
    }

    fn document(&self) -> Result<Document, Failure> {
        let feed = self.feed.as_ref();
        feed.map(|feed| feed.document.clone())
            .ok_or_else(|| Failure::bad_input("no_notebook", "no notebook is open"))
    }

    /// Answers at once what is done at once; what takes its time is done aside.
    async fn answer(&mut self, Up { id, ask }: Up, answers: &mpsc::Sender<Down>) -> Option<Down> {
        let result = match ask {
            Ask::Open { path, clients } => {
                let before = self.document().ok();
                let opened = self.open(Path::new(&path), &clients).await;
                if before.is_some_and(|before| self.document().is_ok_and(|now| now.path() != before.path())) {
                    // What is told about another notebook is not for this page any more.
                    self.talk = Some(self.new_talk(answers.clone()));
                }
                opened
            }
            Ask::Present(looking) => {
                self.look(looking);
                Ok(Answer::Done)
            }
            Ask::Chat(ask) => match self.talk(id, ask) {
                Ok(()) => return None,
                Err(failure) => Err(failure),
            },
            // Their order is that in which they were asked for.
            Ask::Run { cells } => match self.queue(cells).await {
                Ok(waiting) => {
                    let (page, author, owner) = (self.page.clone(), self.author(), self.owner.clone());
                    let (key, answers) = (self.key(), answers.clone());
                    tokio::spawn(async move {
                        let (asker, folder) = (page.asker(), page.folder());
                        let ran = contained(page.bench(&asker, &folder).run(waiting, author)).await;
                        let result = told_if_failed(ran).map(Answer::Ran);
                        if let Some(key) = key {
                            let _ = page.shared.desk.sessions().attach(&owner, &key);
                        }
                        let _ = answers.send(Down::Done { id, result }).await;
                    });
                    return None;
                }
                Err(failure) => Err(failure),
            },
            ask => {
                let (page, document, author) = (self.page.clone(), self.document(), self.author());
                let answers = answers.clone();
                // Submissions of one page come one at a time, so that their order is not in question.
                tokio::spawn(async move {
                    let result = told_if_failed(contained(carry_out(&page, document, author, ask)).await);
                    let _ = answers.send(Down::Done { id, result }).await;
                });
                return None;
            }
        };
        Some(Down::Done { id, result })
    }

    fn new_talk(&self, answers: mpsc::Sender<Down>) -> Talk {
        Talk::new(self.page.clone(), self.owner.clone(), self.author(), answers)
    }

    fn talk(&self, id: u64, ask: ChatAsk) -> Result<(), Failure> {
        let notebook = self.document()?.path().to_owned();
        self.talk.as_ref().map_or(Ok(()), |talk| talk.ask(id, notebook, ask))
    }

    async fn queue(&self, cells: Vec<CellId>) -> Result<Waiting, Failure> {
        self.page.runs.queue(self.document()?, cells).await
    }

    fn key(&self) -> Option<SessionKey> {
        self.feed.as_ref().map(|feed| SessionKey::of_notebook(feed.document.path()))
    }

    async fn open(&mut self, path: &Path, clients: &[String]) -> Result<Answer, Failure> {
        if let Some(feed) = self.feed.take() {
            self.let_go(feed.document.path());
        }
        let opened = self.page.shared.desk.documents().open(path).await;
        let document = opened.map_err(files::cannot_open)?;
        document.meet_kernel(self.page.shared.desk.sessions()).await?;
        let mut views = document.watch();
        views.borrow_and_update();
        let (feed, whole) = Feed::open(document, &self.name, clients, &around(&self.page)).await?;
        let key = SessionKey::of_notebook(feed.document.path());
        // There may be no kernel yet.
        let _ = self.page.shared.desk.sessions().attach(&self.owner, &key);
        (self.feed, self.views) = (Some(feed), Some(views));
        Ok(Answer::Whole(Box::new(whole)))
    }

    fn look(&mut self, looking: Looking) {
        if let Some(feed) = &self.feed {
            self.page.presence.looks(feed.document.path(), &self.name, &self.actor, &looking);
            self.report(feed.document.path(), &looking);
        }
    }
}

fn around(page: &Page) -> Around<'_> {
    Around { sessions: page.shared.desk.sessions(), presence: &page.presence }
}

/// Resolves when there is something newer, but not before a time.
async fn changed(views: &mut Option<watch::Receiver<Arc<View>>>, not_before: Instant) {
    tokio::time::sleep_until(not_before).await;
    match views {
        Some(receiver) => {
            if receiver.changed().await.is_err() {
                // Closed: that is told once, by the news that cannot be had any more.
                *views = None;
            }
        }
        None => std::future::pending().await,
    }
}

async fn tell(socket: &mut WebSocket, down: &Down) -> Result<(), axum::Error> {
    let text = serde_json::to_string(down).unwrap_or_default();
    send(socket, Message::Text(text.into())).await
}

/// Sends, unless the page does not read.
async fn send(socket: &mut WebSocket, message: Message) -> Result<(), axum::Error> {
    timeout(READING, socket.send(message)).await.map_err(axum::Error::new)?
}

async fn carry_out(
    page: &Page,
    document: Result<Document, Failure>,
    author: Author,
    ask: Ask,
) -> Result<Answer, Failure> {
    let done = |_: ()| Answer::Done;
    match ask {
        Ask::Files { folder } => {
            let folder = folder.map_or_else(|| page.folder(), PathBuf::from);
            blocking(move || files::list(&folder)).await.map(Answer::Folder)
        }
        Ask::Create { folder, name } => {
            let store = page.store();
            let made = blocking(move || files::create(&store, Path::new(&folder), &name)).await?;
            Ok(Answer::Created(made.to_string_lossy().into_owned()))
        }
        Ask::Submit(submission) => match document?.submit(submission, author).await {
            Ok(version) => Ok(Answer::Version(version)),
            Err(DocumentError::Refused(Refusal::Behind { version, changes })) => Ok(Answer::Behind {
                version,
                changes: changes.into_iter().map(Arc::unwrap_or_clone).collect(),
            }),
            Err(DocumentError::Refused(Refusal::TooFar { .. })) => Ok(Answer::TooFar),
            Err(error) => Err(error.into()),
        },
        Ask::Cells { cells } => document?.contents(cells).await.map(Answer::Cells).map_err(Failure::from),
        Ask::Interrupt => page.bench(&page.asker(), &page.folder()).interrupt(&document?).map(done),
        Ask::Restart => page.bench(&page.asker(), &page.folder()).restart(&document?).await.map(done),
        Ask::Complete { code, cursor } => {
            let key = SessionKey::of_notebook(document?.path());
            let found = page.shared.desk.sessions().complete(&key, code, cursor).await.unwrap_or_default();
            Ok(Answer::Completion { matches: found.matches, start: found.start, end: found.end })
        }
        Ask::Inspect { code, cursor } => {
            let key = SessionKey::of_notebook(document?.path());
            let found = page.shared.desk.sessions().inspect(&key, code, cursor).await.unwrap_or_default();
            let text = found.data.get_text("text/plain").filter(|_| found.found);
            let plain = text.map(|text| cellist_output::clean(text.as_bytes(), cellist_output::Ansi::Remove));
            Ok(Answer::Documentation(plain))
        }
        Ask::Judge { verdict, scope } => {
            document?.judge(verdict, scope, author).await.map(Answer::Version).map_err(Failure::from)
        }
        Ask::SetReview(is_on) => document?.set_review(is_on).await.map(done).map_err(Failure::from),
        Ask::History => {
            document?.history().await.map(|all| Answer::History(turns(all))).map_err(Failure::from)
        }
        Ask::Undo { turn } => {
            document?.undo(Undo::Turn(turn), author).await.map(|_| Answer::Done).map_err(Failure::from)
        }
        Ask::Save => document?.save().await.map(done).map_err(Failure::from),
        Ask::Open { .. } | Ask::Run { .. } | Ask::Present(_) | Ask::Chat(_) => Ok(Answer::Done),
    }
}

/// A fault of ours is told to the page that asked.
fn told_if_failed<T>(done: Result<Result<T, Failure>, Panicked>) -> Result<T, Failure> {
    done.unwrap_or_else(|panicked| Err(Failure::internal(panicked)))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    aside(work).await.map_err(Failure::internal)?
}

/// Whoever works at a page.
pub(super) fn person(name: Option<&str>) -> Actor {
    let mut actor = Actor::new(ActorKind::Person, "page");
    actor.name = name.unwrap_or("you").to_owned();
    actor
}
