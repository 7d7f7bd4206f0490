// The requests and replies between the page and the host. Generated from the Rust definitions by a test of
// crates/host: `CELLIST_WRITE_PROTOCOL=1 cargo test -p cellist-host --test it` writes this file.

/** Activity of a cell. */
export type Activity = 'pending' | 'running' | 'idle'

/** An author of changes to a notebook. */
export interface Actor { id: string; name: string; kind: ActorKind }

/** The kind of an actor. */
export type ActorKind = 'person' | 'agent' | 'disk'

/** Whether code may run, or a file change. */
export type Approval = 'once' | 'always' | 'no'

/** The author of a change: an actor and a turn. */
export interface Author { actor: Actor; turn: string | null }

/** The condition of a code cell. */
export interface CellCondition { activity: Activity; last: LastRun | null; stale: string[] }

/** The outputs of a cell, and the number of the run that they are of. */
export interface CellOutputs { outputs: SentOutputs; count: number | null }

/** A cell as a client sees it. */
export interface CellText { id: string; kind: CellType; source: string }

/** The three kinds of cells that nbformat 4 knows. */
export type CellType = 'code' | 'markdown' | 'raw'

/** A version of a notebook, as effects on the one before. */
export interface Change { version: number; actor: Actor; turn: string | null; tag: Tag | null; effects: Effect[] }

/** The model that answers, or why there is none. */
export type ChatAccount =
  | { provider: string; model: string }
  | { problem: string; hint: string }

/** What may be asked of conversations. */
export type ChatAsk =
  /** The conversation about a notebook, or about one of its cells, which begins now if there is none. */
  | { open: { notebook: string; cell: string | null; is_new: boolean } }
  /** The models, tools and notebooks that a message about a notebook can use now. */
  | { setup: { notebook: string } }
  /** Says something, by the settings and keys of the client. */
  | { say: { chat: string; message: ChatMessage } }
  /** The prompt that a model would be sent now. */
  | { preview: { chat: string; message: ChatMessage } }
  /** Takes a message back that waits for its turn. */
  | { withdraw: { chat: string; message: MessageId } }
  /** Ends the answer that is under way. */
  | { stop: { chat: string; stop: Stop } }
  /** Says whether a call may run code. */
  | { approve: { chat: string; call: string; verdict: Approval } }
  /** What was told from a place on: at once, or for a client that names a mark as soon as there is more, or after a minute. */
  | { hear: { chat: string; from: number; mark: number | null } }
  /** Takes back the changes of an answer and of all later ones. */
  | { restore: { chat: string; turn: string } }
  /** Ends a conversation about one cell. */
  | { end: { chat: string } }

/** A message of a person, with the cells and notebooks that go along. */
export interface ChatMessage {
  id: MessageId
  words: string
  mode: Mode
  is_attached: boolean
  attached: string[]
  selected: string[]
  outputs: string[]
}

/** What is answered about conversations. */
export type ChatReply =
  /** The conversation. */
  | { open: { chat: string; told: number } }
  /** What a message can use. */
  | { setup: ChatSetup }
  /** What was told. */
  | { heard: Heard }
  /** The prompt that would be sent. */
  | { preview: Seen }
  /** What was taken back. */
  | { restored: { summary: string; is_any: boolean } }
  /** Whether it had any effect. */
  | { done: boolean }

/** The models, tools and notebooks that a message can use. */
export interface ChatSetup { account: ChatAccount; run_code: RunCode; references: ToolReference[]; notebooks: string[] }

/** What kind of failure it is. */
export type Class = 'bad_input' | 'no_kernel' | 'not_saved'

/** Source of everything in an inserted cell except its text. */
export type Content =
  /** A cell of this notebook, as it is or as it was when last deleted. A cell restored from its own tombstone has the same bytes. */
  | { cell: { cell: string; outputs: boolean } }
  /** The JSON of a whole cell. It is validated and formatted like this notebook. */
  | { json: string }

/** Something that was done to a cell. */
export interface Deed { cell: string; deed: DeedKind; added: number; removed: number }

/** What can be done to a cell. */
export type DeedKind = 'added' | 'changed' | 'deleted' | 'moved' | 'ran'

/** What a participant does. */
export type Doing = 'looking' | 'editing' | 'reading' | 'running'

/** From the host to a client. */
export type Down =
  /** The answer, which is the last that is said about a request. */
  | { done: { id: number; result: { Ok: Reply } | { Err: Failure } } }

/** An effect of a change, which a client can apply to its copy. */
export type Effect =
  /** A new cell after another, or first. */
  | { effect: 'inserted'; cell: string; after: string | null; kind: CellType; source: string }
  /** A cell was deleted. */
  | { effect: 'deleted'; cell: string }
  /** A cell was moved behind another, or to the start. */
  | { effect: 'moved'; cell: string; after: string | null }
  /** The type of a cell changed. */
  | { effect: 'retyped'; cell: string; kind: CellType }
  /** The source of a cell changed. */
  | { effect: 'changed'; cell: string; change: (number | [number, ...string[]])[] }
  /** The outputs or the execution count of a cell changed; the newest view has them. */
  | { effect: 'outputs'; cell: string }
  /** Other values of a cell, or of the notebook, changed; the newest view has them. */
  | { effect: 'metadata'; cell: string | null }

/** How an answer has ended. */
export type Ending =
  /** All is said. */
  | 'done'
  /** A person stopped it. */
  | 'stopped'
  /** The model's answer may not be longer. */
  | 'too_long'
  /** The model was asked as often as it may be. */
  | 'too_many_steps'
  /** The provider did not want to answer. */
  | 'refused'
  /** The provider failed. */
  | { failed: { message: string; hint: string } }

/** Why a request was not carried out, as it travels. */
export interface Failure { class: Class; kind: string; message: string; hint: string | null; conflicts?: unknown[] }

/** The cells that a person at a page has in front of them. */
export interface Focus { cell: string | null; selected: string[]; editing: boolean }

/** How much of a text was left out in the middle, and the address of all of it. */
export interface FoldedText { bytes: number; address: string }

/** The notebooks and folders of a folder. */
export interface FolderListing { path: string; parent: string | null; folders: string[]; notebooks: string[] }

/** What was told from a place on. */
export interface Heard {
  told: Told[]
  next: number
  answering: MessageId | null
  waiting: Waiting[]
  runs_on: boolean
  mark: number
  is_over: boolean
}

/** What the kernel of a notebook does. */
export type KernelState = 'none' | 'starting' | 'idle' | 'busy' | 'silent' | 'dead'

/** The result of a run. */
export interface LastRun {
  order: number | null
  success: boolean
  status: Status
  duration_ms: number
  ended_ms: number
}

/** The name that a client gives to a message, so that it knows it again. */
export type MessageId = string

/** Limits the actions of an agent. A user sets it at the start; no tool can change it. */
export type Mode = 'ask' | 'edit' | 'agent'

/** What may be asked of a notebook. It is opened for the question if it is not open. Without an author, a change is made by the client itself. */
export type NotebookAsk =
  /** Follows it: tells all of it, and keeps it open for as long as the client is there. */
  | { follow: { clients: string[]; outputs: OutputForm } }
  /** Tells what is new since the client was told last, as soon as there is something. */
  | 'news'
  /** Notes what a person has in front of them. */
  | { present: Focus }
  /** Changes it as a client does that has a copy of its own. */
  | { submit: { submission: Submission; author: Author | null } }
  /** Takes something back; on disk when the answer comes. */
  | { undo: { undo: Undo; author: Author | null } }
  /** Says what becomes of something that waits for review. */
  | { judge: { verdict: Verdict; scope: Scope; author: Author | null } }
  /** Switches review on or off. */
  | { set_review: boolean }
  /** Tells the newest turns, for people. */
  | 'turns'
  /** Tells these cells as JSON, each as it stands or as it was when it was deleted. */
  | { cells: string[] }
  /** Completes code, by the notebook's kernel. */
  | { complete: { code: string; cursor: number } }
  /** Describes the name at a place, by the notebook's kernel. */
  | { inspect: { code: string; cursor: number } }
  /** Runs cells in the notebook's session, after the cells that wait there already. */
  | { run: string[] }
  /** Interrupts the cells that run, and those that wait. */
  | 'interrupt'
  /** Gives the notebook a new kernel. */
  | 'restart'
  /** Answers when all that was changed so far is on disk. */
  | 'save'

/** The kernel of a notebook. */
export interface NotebookKernel {
  state: KernelState
  name: string
  id: string | null
  stuck: boolean
  stays: number | null
  gone: string | null
}

/** What is new of a notebook. Whatever is left out is as it was. */
export interface NotebookNews {
  changes?: Change[]
  outputs?: Record<string, CellOutputs>
  conditions?: Record<string, CellCondition | null>
  review?: Review
  status?: NotebookStatus
  kernel?: NotebookKernel
  participants?: Participant[]
  is_behind?: boolean
}

/** What is answered about a notebook. */
export type NotebookReply =
  /** All of it, for a client that follows it. */
  | { whole: NotebookWhole }
  /** What is new. */
  | { news: NotebookNews }
  /** The newest turns, newest first. */
  | { turns: TurnSummary[] }
  /** Cells as JSON; nothing for one that never was. */
  | { cells: (string | null)[] }
  /** Why a run ended before its last cell, if it did. */
  | { ran: RunStop | null }
  /** How code could go on; nothing where the kernel is busy, or there is none. */
  | { completion: { matches: string[]; start: number; end: number } }
  /** What is known of a name, as plain text. */
  | { inspection: string | null }
  /** Nothing was done: others have changed what the submission is about. */
  | { behind: { version: number; changes: Change[] } }
  /** So much has happened since that a client has to follow it anew. */
  | 'too_far'
  /** It is done, and this is the version that has it. */
  | { version: number }
  /** It is done. */
  | 'done'

/** How far a notebook is saved. */
export interface NotebookStatus { saved: number; problem: string | null; notices: string[] }

/** All of a notebook. */
export interface NotebookWhole {
  path: string
  name: string
  language: string
  version: number
  cells: CellText[]
  outputs: Record<string, CellOutputs>
  conditions: Record<string, CellCondition>
  review: Review
  status: NotebookStatus
  kernel: NotebookKernel
  participants: Participant[]
  heard: Record<string, number>
}

/** Something that is asked of a notebook. */
export interface OnNotebook { path: string; ask: NotebookAsk }

/** One operation on cells. Cells have ids, and positions refer to the cell before them. So an operation keeps its meaning when others change the rest. */
export type Op =
  /** Insert a cell after another, or first. It gets the id given, or a new one. Metadata, attachments, outputs and execution count come from `content`. */
  | { op: 'insert'; cell: string | null; after: string | null; kind: CellType; source: string; content?: Content }
  /** Delete a cell. */
  | { op: 'delete'; cell: string }
  /** Move a cell behind another, or to the start. */
  | { op: 'move'; cell: string; after: string | null }
  /** Change the type. */
  | { op: 'retype'; cell: string; kind: CellType }
  /** Change parts of the source. */
  | { op: 'change'; cell: string; change: (number | [number, ...string[]])[] }
  /** Replace the source. */
  | { op: 'write'; cell: string; source: string }
  /** Clear outputs and execution count. */
  | { op: 'clear'; cell: string }
  /** Merge the metadata, attachments and outputs of other cells, present or deleted, into a cell. */
  | { op: 'absorb'; cell: string; from: string[] }
  /** Undo the last `Clear`, `Absorb`, or loss of outputs by `Retype` of a cell. Values that changed since stay. */
  | { op: 'refit'; cell: string }

/** How outputs are sent to a client that follows a notebook. */
export type OutputForm = 'whole' | 'bounded'

/** One output for a page. */
export type PageOutput =
  | { stream: { name: string; text: string; folded: FoldedText | null } }
  | { data: { data: Record<string, PageValue>; is_result: boolean } }
  | { error: { name: string; message: string; traceback: string; folded: FoldedText | null } }

/** One representation of an output. */
export type PageValue =
  | { text: string }
  | { json: unknown }
  /** To be fetched when it is shown. */
  | { stored: { address: string; bytes: number } }

/** Someone who is at a notebook. */
export interface Participant { actor: Actor; cells: string[]; doing: Doing }

/** What is answered. */
export type Reply =
  /** What is answered about a notebook. */
  | { notebook: NotebookReply }
  /** What is answered about a conversation. */
  | { chat: ChatReply }
  /** The notebooks and folders of a folder. */
  | { folder: FolderListing }
  /** The path of a new notebook. */
  | { created: string }

/** What may be asked. */
export type Request =
  /** Something about a notebook. */
  | { notebook: OnNotebook }
  /** The notebooks and folders of a folder, or of the folder that the client works in. */
  | { files: { folder: string | null } }
  /** Makes a notebook with one empty cell, under a name that is free. */
  | { create: { folder: string; name: string } }
  /** Something about a conversation with the assistant. */
  | { chat: ChatAsk }

/** All changes that wait for review. */
export interface Review { is_on: boolean; is_chosen?: boolean; cells: Record<string, Unreviewed> }

/** Who says something. */
export type Role = 'person' | 'model'

/** Whether the assistant asks before it runs code. */
export type RunCode = 'ask' | 'allow'

/** Why a run ended before its last cell. */
export interface RunStop { cell: string | null; error: string; not_run: number }

/** The changes that a verdict covers. */
export type Scope =
  /** One hunk of a cell's source, counted from 0. */
  | { hunk: { cell: string; hunk: number } }
  /** A cell, up to this text. Keeping compares with the text from now on; undoing restores it. */
  | { text: { cell: string; was: string } }
  /** A cell. */
  | { cell: { cell: string } }
  /** All changes of one turn. */
  | { turn: { turn: string } }
  /** All changes. */
  | 'all'

/** All that a model would be sent. */
export interface Seen {
  instructions: string
  messages: SeenMessage[]
  tools: SeenTool[]
  bytes: number
  notes: string[]
  notebook_mode: boolean
}

/** Something that is said. */
export interface SeenMessage { role: Role; text: string }

/** A tool. */
export interface SeenTool { name: string; description: string }

/** Outputs in the form that the client asked for. */
export type SentOutputs =
  | { whole: unknown[] }
  | { bounded: PageOutput[] }

/** How a piece of code ended. */
export type Status = 'ok' | 'error' | 'timeout' | 'cancelled'

/** The previous position of a cell: behind another, or first. */
export interface Stood { after: string | null }

/** How an answer is ended. */
export type Stop = 'answer' | 'kernel'

/** Several operations as one change. */
export interface Submission { base: number; tag: Tag | null; ops: Op[] }

/** Identifies a submission, so that its client recognizes it. */
export interface Tag { client: string; number: number }

/** Something that is told of a conversation. All of it, in order, is what happened. */
export type Told =
  /** A message is being answered. */
  | { asked: { message: MessageId; words: string; mode: Mode; model: string; turn: string; notebook_mode: boolean; notes: string[]; attached: string[]; selected: string[]; outputs: string[] } }
  /** More words of the answer. */
  | { text: string }
  /** A tool is called. */
  | { call: { id: string; tool: string; arguments: unknown } }
  /** The call would run code, or change a file that other programs run, and waits for a word of the person. */
  | { question: { id: string; path?: string } }
  /** The word of the person. */
  | { verdict: { id: string; verdict: Approval } }
  /** What came of a call, as the model reads it. */
  | { result: { id: string; text: string; images: number; is_failure: boolean; duration_ms: number; deeds: Deed[]; needs_mode: Mode | null } }
  /** What the one cell could be; nothing is changed by that. */
  | { proposal: { cell: string; source: string } }
  /** The provider failed and is asked again. The words since the last call do not count. */
  | { again: { message: string; after_ms: number } }
  /** The answer has ended. */
  | { ended: { ending: Ending; usage: Usage } }
  /** What was changed in a turn was taken back. */
  | { undone: { turn: string } }

/** A tool that a message may name. */
export interface ToolReference { name: string; mode: Mode }

/** The changes of one turn. */
export interface TurnSummary { turn: string; actor: Actor; until: number; deeds: string[]; is_undone: boolean }

/** The changes to undo. */
export type Undo =
  /** The last change of any actor that is not undone. */
  | 'last'
  /** The last change of one actor. */
  | { last_of: string }
  /** All changes of a turn. */
  | { turn: string }
  /** One entry, which may itself be an undo. */
  | { entry: number }
  /** All changes of one actor since a revision read here. */
  | { since: { actor: string; revision: string } }

/** A cell changed by an agent. */
export interface Unreviewed { actor: Actor; turns: string[]; was: Was }

/** From a client to the host. */
export type Up =
  /** A request. */
  | { ask: { id: number; request: Request } }
  /** A request is not wanted any more; its answer still comes. */
  | { cancel: { id: number } }

/** How much was read and written, in tokens. */
export interface Usage { input: number; cached: number; output: number; cost: number | null }

/** A decision about changes that wait for review. */
export type Verdict = 'keep' | 'undo'

/** A message that waits for its turn. */
export interface Waiting { message: MessageId; words: string }

/** A cell before agents changed it. Later changes by people elsewhere in the cell are applied here too. */
export type Was =
  /** It did not exist. */
  | { was: 'absent' }
  /** It existed. */
  | { was: 'there'; kind: CellType; source: string; place?: Stood }
  /** It existed and was deleted. */
  | { was: 'deleted'; after: string | null; kind: CellType; source: string; json: string }
