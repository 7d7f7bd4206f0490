//! Simulates three clients and another program on one notebook. Thousands of edits; messages that are late,
//! repeated or lost; broken connections; writes to the file from outside. Everything follows from a seed, which
//! `CELLIST_SEED` sets.

mod ops;
mod real;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use cellist_notebook::{CellId, CellType, Ids, Notebook, OnConflict, merge};

use super::replica::Replica;
use super::state::State;
use super::{
    Actor, ActorKind, Author, CellText, Change, ChangeSet, Content, Op, Submission, SubmissionRefusal,
    Verdict, journal::Journal, review::Review, units,
};
use ops::{some_op, typed};

/// Deterministic pseudo-random numbers.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit.max(1) as u64) as usize
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// Letters that are typed once each, so that every one can be found again. Some take one UTF-16 unit, some two.
#[derive(Default)]
struct Letters {
    typed: u32,
    deleted: HashSet<char>,
    /// Deleted cells, as they were then.
    gone: Vec<CellText>,
}

impl Letters {
    fn next(&mut self) -> char {
        self.typed += 1;
        Letters::letter(self.typed)
    }

    fn letter(number: u32) -> char {
        // Chinese characters; every third is from beyond the Basic Multilingual Plane.
        let base = if number.is_multiple_of(3) { 0x2_0000 } else { 0x4e00 };
        char::from_u32(base + number % 20_000 + if base > 0xffff { number / 20_000 * 20_000 } else { 0 })
            .unwrap()
    }

    fn delete(&mut self, text: &str) {
        self.deleted.extend(text.chars());
    }
}

/// A message between a client and the notebook, with its connection number.
enum LinkMessage {
    Submit { client: usize, connection: u64, submission: Submission },
    Answer { client: usize, connection: u64, answer: Result<u64, SubmissionRefusal> },
    Told { client: usize, connection: u64, changes: Vec<Arc<Change>> },
}

struct SimulatedClient {
    replica: Replica,
    author: Author,
    connection: u64,
    is_connected: bool,
}

struct World {
    chance: Chance,
    letters: Letters,
    state: State,
    clients: Vec<SimulatedClient>,
    /// Messages in transit. Any link may deliver next, but each keeps its order.
    links: Vec<VecDeque<LinkMessage>>,
    told: Vec<u64>,
    /// The file, and its content as known to the owner.
    file: Notebook,
    base: Arc<Notebook>,
    /// A running save: the notebook being saved.
    saving: Option<(Arc<Notebook>, Arc<Notebook>)>,
    clock: u64,
    marked: usize,
    /// The initial cells. Each has its own id as metadata.
    first: HashSet<CellId>,
}

const MARK: &str = "mark";

const CLIENTS: usize = 3;

impl World {
    fn new(seed: u64) -> World {
        let mut notebook = Notebook::empty(Ids::seeded(seed));
        for index in 0..4 {
            notebook.insert(index, CellType::Code, "x = 1\ny = 2\n");
            let id = notebook.cells()[index].id().to_string();
            notebook.set_cell_metadata(index, MARK, &id.into());
        }
        let first = notebook.cells().iter().map(|cell| cell.id().clone()).collect();
        let state = State::new(notebook.clone(), 1000, Journal::default(), Review::default());
        let client = |number: usize| {
            let kind = if number == 2 { ActorKind::Agent } else { ActorKind::Person };
            let name = format!("client{number}");
            SimulatedClient {
                replica: Replica::new(&name, 1000, &notebook),
                author: Actor::new(kind, &name).into(),
                connection: 0,
                is_connected: true,
            }
        };
        World {
            chance: Chance(seed),
            letters: Letters::default(),
            base: Arc::clone(state.notebook()),
            state,
            clients: (0..CLIENTS).map(client).collect(),
            links: (0..2 * CLIENTS).map(|_| VecDeque::new()).collect(),
            told: vec![1000; CLIENTS],
            file: notebook,
            saving: None,
            clock: 0,
            marked: 0,
            first,
        }
    }

    /// Takes one random step.
    fn step(&mut self) {
        self.clock += self.chance.below(200) as u64;
        let client = self.chance.below(CLIENTS);
        match self.chance.below(20) {
            0..=5 => self.edit(client),
            6..=8 => self.send(client),
            9..=14 => self.deliver(),
            15 => self.tell(client),
            16 => self.save(),
            17 if self.chance.one_in(3) => self.write_file(),
            18 if self.chance.one_in(4) => self.connection(client),
            19 if self.chance.one_in(10) => self.judge(),
            _ => self.tell(client),
        }
    }

    /// A client edits its copy.
    fn edit(&mut self, client: usize) {
        let World { chance, letters, clients, .. } = self;
        let replica = &mut clients[client].replica;
        if let Some(op) = some_op(chance, letters, replica) {
            replica.act(op).unwrap();
        }
    }

    fn send(&mut self, client: usize) {
        let SimulatedClient { replica, connection, is_connected, .. } = &mut self.clients[client];
        if !*is_connected {
            return;
        }
        if let Some(submission) = replica.outgoing() {
            let connection = *connection;
            let link = &mut self.links[2 * client];
            link.push_back(LinkMessage::Submit { client, connection, submission });
        }
    }

    fn deliver(&mut self) {
        let link = self.chance.below(self.links.len());
        let Some(message) = self.links[link].pop_front() else { return };
        match message {
            LinkMessage::Submit { client, connection, submission } => {
                let author = self.clients[client].author.clone();
                let answer = self.state.submit(submission, &author, self.clock);
                self.links[2 * client + 1].push_back(LinkMessage::Answer { client, connection, answer });
            }
            LinkMessage::Answer { client, connection, answer } => {
                let of = &mut self.clients[client];
                if of.connection != connection || !of.is_connected {
                    return;
                }
                match answer {
                    Ok(_) => {}
                    Err(SubmissionRefusal::Behind { changes, .. }) => {
                        of.replica.unsent();
                        for change in changes {
                            of.replica.receive(&change).unwrap();
                        }
                    }
                    // The id of a new cell was taken meanwhile; the other cell arrives as a change.
                    Err(SubmissionRefusal::BadName { .. } | SubmissionRefusal::NoSuchCell { .. }) => {
                        of.replica.unsent()
                    }
                    Err(refusal) => panic!("{refusal}"),
                }
            }
            LinkMessage::Told { client, connection, changes } => {
                let of = &mut self.clients[client];
                if of.connection == connection && of.is_connected {
                    for change in changes {
                        of.replica.receive(&change).unwrap();
                    }
                }
            }
        }
    }

    /// The owner sends a client the newest changes, sometimes twice.
    fn tell(&mut self, client: usize) {
        let from =
            if self.chance.one_in(10) { self.clients[client].replica.version() } else { self.told[client] };
        let changes = self.state.since(from).unwrap();
        if changes.is_empty() {
            return;
        }
        self.told[client] = self.state.version();
        let connection = self.clients[client].connection;
        self.links[2 * client + 1].push_back(LinkMessage::Told { client, connection, changes });
    }

    /// A connection breaks, with the replies in transit and perhaps the requests; or it is restored.
    fn connection(&mut self, client: usize) {
        let of = &mut self.clients[client];
        if of.is_connected {
            of.is_connected = false;
            of.replica.unsent();
            self.links[2 * client + 1].clear();
            if self.chance.one_in(2) {
                self.links[2 * client].clear();
            }
            return;
        }
        of.is_connected = true;
        of.connection += 1;
        if self.chance.one_in(4) {
            // Away for so long that the changes are no longer kept.
            let heard = self.state.heard().get(&format!("client{client}")).copied();
            // A request still in transit must not arrive after the resync.
            self.links[2 * client].clear();
            of.replica.resync(self.state.version(), self.state.notebook(), heard).unwrap();
        } else {
            for change in self.state.since(of.replica.version()).unwrap() {
                of.replica.receive(&change).unwrap();
            }
        }
        self.told[client] = self.state.version();
    }

    /// A save begins or ends.
    fn save(&mut self) {
        let Some((base, ours)) = self.saving.take() else {
            self.saving = Some((Arc::clone(&self.base), Arc::clone(self.state.notebook())));
            return;
        };
        let merged = if self.file.revision() == base.revision() {
            Notebook::clone(&ours)
        } else {
            let merged = merge(&base, &ours, &self.file, OnConflict::Mark).unwrap();
            self.marked += merged.marked.len();
            merged.notebook
        };
        // As if read from disk again.
        self.file = Notebook::parse(merged.to_bytes(), Ids::seeded(self.clock)).unwrap();
        if merged.revision() == ours.revision() {
            self.base = ours;
        } else {
            self.absorb(&ours, merged);
        }
    }

    fn absorb(&mut self, base: &Notebook, mut theirs: Notebook) {
        let (remarks, names) = self.state.absorb(base, &theirs, self.clock).unwrap();
        theirs.take_names(&names);
        self.marked += remarks.iter().filter(|remark| remark.contains("conflict")).count();
        self.base = Arc::new(theirs);
    }

    /// Another program changes the file; the owner notices now or with the next save.
    fn write_file(&mut self) {
        let count = self.file.cells().len();
        match self.chance.below(4) {
            0 => {
                let text: String = (0..3).map(|_| self.letters.next()).collect();
                self.file.insert(self.chance.below(count + 1), CellType::Code, &text);
            }
            1 if count > 3 => {
                let at = self.chance.below(count);
                let gone = self.file.remove(at);
                self.letters.delete(&gone.source());
            }
            _ if count > 0 => {
                let at = self.chance.below(count);
                let source = self.file.cells()[at].source().into_owned();
                let change = typed(&mut self.chance, &mut self.letters, &source);
                self.file.set_source(at, &change.apply(&source).unwrap());
            }
            _ => {}
        }
        self.file = Notebook::parse(self.file.to_bytes(), Ids::seeded(self.clock)).unwrap();
        if self.saving.is_none() && self.chance.one_in(2) {
            let (base, theirs) = (Arc::clone(&self.base), self.file.clone());
            self.absorb(&base, theirs);
        }
    }

    /// A person keeps an agent's changes.
    fn judge(&mut self) {
        let Some(cell) = self.state.review().cells.keys().next().cloned() else { return };
        let author = self.clients[0].author.clone();
        self.state.judge(Verdict::Keep, &super::Scope::Cell { cell }, &author, self.clock).unwrap();
    }

    /// Delivers everything that is pending.
    fn settle(&mut self) {
        for _ in 0..1000 {
            for client in 0..CLIENTS {
                if !self.clients[client].is_connected {
                    self.connection(client);
                }
                self.send(client);
                self.tell(client);
            }
            while self.links.iter().any(|link| !link.is_empty()) {
                self.deliver();
            }
            let is_quiet = self.clients.iter().all(|client| {
                client.replica.is_settled() && client.replica.version() == self.state.version()
            });
            let is_saved = self.file.revision() == self.state.notebook().revision();
            if is_quiet && is_saved && self.saving.is_none() {
                return;
            }
            self.save();
        }
        let answers: Vec<String> = (self.clients.iter_mut())
            .map(|client| match client.replica.outgoing() {
                Some(submission) => format!("{submission:?}"),
                None => format!("{:?}", client.replica.is_settled()),
            })
            .collect();
        panic!("it does not come to rest: {answers:#?}");
    }

    fn check(&self) {
        self.clients.iter().for_each(|client| assert_same(&client.replica, self.state.notebook()));
        let in_file = Notebook::parse(self.file.to_bytes(), Ids::seeded(0)).unwrap();
        assert!(in_file.to_bytes() == self.state.notebook().to_bytes(), "the file is another");
        assert_no_letter_lost(&self.letters, self.state.notebook(), self.marked > 0);
        for cell in self.state.notebook().cells().iter().filter(|cell| self.first.contains(cell.id())) {
            assert_eq!(cell.metadata()[MARK], cell.id().as_str(), "a cell came back without its metadata");
        }
    }
}

/// Fails unless a client shows the cells of a notebook.
#[track_caller]
fn assert_same(replica: &Replica, notebook: &Notebook) {
    let cells = notebook.cells().iter();
    let ours: Vec<(String, CellType, String)> =
        cells.map(|cell| (cell.id().to_string(), cell.cell_type(), cell.source().into_owned())).collect();
    let theirs: Vec<(String, CellType, String)> =
        replica.cells().iter().map(|cell| (cell.id.to_string(), cell.kind, cell.source.clone())).collect();
    let differing = theirs.iter().zip(&ours).find(|(theirs, ours)| theirs != ours);
    assert!(theirs == ours, "a client has another copy: {differing:?}");
}

/// Fails unless each typed letter is present, or was deleted by a client that saw it. Letters in both versions of a
/// conflict appear twice. A cell deleted while two others typed in it may come back once for each.
#[track_caller]
fn assert_no_letter_lost(letters: &Letters, notebook: &Notebook, may_repeat: bool) {
    let mut found: HashMap<char, usize> = HashMap::new();
    let sources: String = notebook.cells().iter().map(|cell| cell.source().into_owned()).collect();
    sources.chars().for_each(|letter| *found.entry(letter).or_default() += 1);
    for number in 1..=letters.typed {
        let letter = Letters::letter(number);
        let count = found.get(&letter).copied().unwrap_or_default();
        let was_deleted = letters.deleted.contains(&letter);
        assert!(count > 0 || was_deleted, "letter {number} is lost");
        assert!(count <= 1 || may_repeat || was_deleted, "letter {number} is there {count} times");
    }
}

fn simulate(seed: u64, steps: usize) -> (u32, usize) {
    let mut world = World::new(seed);
    for _ in 0..steps {
        world.step();
    }
    world.settle();
    world.check();
    (world.letters.typed, world.marked)
}

/// Number of seeds if none is set.
const SEEDS: u64 = 40;

#[test]
fn all_copies_and_the_file_converge_and_no_letter_is_lost() {
    let seeds: Vec<u64> = match std::env::var("CELLIST_SEED") {
        // One number, or a range such as 0-1000.
        Ok(seeds) => match seeds.split_once('-') {
            Some((first, last)) => (first.parse().unwrap()..=last.parse().unwrap()).collect(),
            None => vec![seeds.parse().unwrap()],
        },
        Err(_) => (0..SEEDS).collect(),
    };
    let mut typed = 0;
    for seed in seeds {
        let outcome = std::panic::catch_unwind(|| simulate(seed, 3_000));
        match outcome {
            Ok((letters, _)) => typed += letters,
            Err(_) => panic!("with CELLIST_SEED={seed}"),
        }
    }
    assert!(typed > 0);
}
