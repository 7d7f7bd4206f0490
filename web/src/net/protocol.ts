// The requests and replies between the page and the host. Generated from the Rust definitions by a test of
// crates/host: `CELLIST_WRITE_PROTOCOL=1 cargo test -p cellist-host --test it` writes this file.

/** Activity of a cell. */
export type Activity = 'pending' | 'running' | 'idle'

/** An author of changes to a notebook. */
export interface Actor { id: string; name: string; kind: ActorKind }

/** The kind of an actor. */
export type ActorKind = 'person' | 'agent' | 'disk'

/** Why an answer ended. */
export type AnswerEnding =
  /** The model finished. */
  | 'done'
  /** The user stopped it. */
  | 'stopped'
  /** A response of the model reached its limit of tokens. */
  | 'too_long'
  /** The answer reached its limit of requests to the model. */
  | 'too_many_steps'
  /** The provider refused to continue. */
  | 'refused'
  /** The provider failed. */
  | { failed: { message: string; hint: string } }

/** The user's decision about running code or changing a protected file. */
export type Approval = 'once' | 'always' | 'no'

/** The author of a change: an actor and a turn. */
export interface Author { actor: Actor; turn: string | null }

/** The condition of a code cell. */
export interface CellCondition { activity: Activity; last: LastRun | null; stale: string[] }

/** A change of one cell by one tool call. */
export interface CellEdit { cell: string; deed: CellEditKind; added: number; removed: number }

/** The kind of a cell's change. */
export type CellEditKind = 'added' | 'changed' | 'deleted' | 'moved' | 'ran'

/** A cell as a client sees it. */
export interface CellText { id: string; kind: CellType; source: string }

/** The three kinds of cells that nbformat 4 knows. */
export type CellType = 'code' | 'markdown' | 'raw'

/** A version of a notebook, as effects on the one before. */
export interface Change { version: number; actor: Actor; turn: string | null; tag: Tag | null; effects: Effect[] }

/** The model that answers, or the reason why there is none. */
export type ChatAccount =
  | { provider: string; model: string }
  | { problem: string; hint: string }

/** A request about a conversation. */
export type ChatAction =
  /** Opens the conversation about a notebook or one of its cells. Starts one if there is none. */
  | { open: { notebook: string; cell: string | null; is_new: boolean } }
  /** Returns the model, tools and notebooks for messages about a notebook. */
  | { setup: { notebook: string } }
  /** Sends a message, with the settings and keys of the page's user. */
  | { say: { chat: string; message: ChatMessage } }
  /** Returns the prompt for a message, without sending it. */
  | { preview: { chat: string; message: ChatMessage } }
  /** Removes a message from the queue. */
  | { withdraw: { chat: string; message: MessageId } }
  /** Stops the current answer. */
  | { stop: { chat: string; stop: StopScope } }
  /** Answers the question whether a tool call may run code. */
  | { approve: { chat: string; call: string; verdict: Approval } }
  /** Returns the transcript from a position on. With a mark, waits for a change, at most a minute. */
  | { hear: { chat: string; from: number; mark: number | null } }
  /** Undoes the changes of an answer and of all later answers. */
  | { restore: { chat: string; turn: string } }
  /** Ends a conversation about one cell. */
  | { end: { chat: string } }

/** A message of the user, with its attached cells and notebooks. */
export interface ChatMessage {
  id: MessageId
  words: string
  mode: Mode
  is_attached: boolean
  attached: string[]
  selected: string[]
  outputs: string[]
}

/** The reply to a request about a conversation. */
export type ChatReply =
  /** The conversation. */
  | { open: { chat: string; told: number } }
  /** The model, tools and notebooks that a message can use. */
  | { setup: ChatSetup }
  /** The transcript from the requested position on. */
  | { heard: ConversationUpdate }
  /** The prompt of a message. */
  | { preview: PromptPreview }
  /** The undone changes. */
  | { restored: { summary: string; is_any: boolean } }
  /** Whether the request had an effect. */
  | { done: boolean }

/** The models, tools and notebooks that a message can use. */
export interface ChatSetup { account: ChatAccount; run_code: RunCode; references: ToolReference[]; notebooks: string[] }

/** A frame from a client to the host. */
export type ClientFrame =
  /** A request. */
  | { ask: { id: number; request: Request } }
  /** Interrupts the code of a request, again with each cancel. The reply still comes. */
  | { cancel: { id: number; force: boolean } }

/** Source of everything in an inserted cell except its text. */
export type Content =
  /** A cell of this notebook, as it is or as it was when last deleted. A cell restored from its own tombstone has the same bytes. */
  | { cell: { cell: string; outputs: boolean } }
  /** The JSON of a whole cell. It is validated and formatted like this notebook. */
  | { json: string }

/** The transcript from a position on, and the state of the conversation. */
export interface ConversationUpdate {
  told: TranscriptEntry[]
  next: number
  answering: MessageId | null
  waiting: QueuedMessage[]
  runs_on: boolean
  mark: number
  is_over: boolean
}

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

/** A failed request, as sent to clients. Programs match on `kind`, never on the message. */
export interface Failure {
  class: FailureClass
  kind: string
  message: string
  hint: string | null
  conflicts?: unknown[]
}

/** The class of a failure. */
export type FailureClass = 'bad_input' | 'no_kernel' | 'not_saved' | 'interrupted'

/** The number of bytes that are left out in the middle of a text, and the address of the whole text. */
export interface FoldedText { bytes: number; address: string }

/** The notebooks and folders of a folder. */
export interface FolderListing { path: string; parent: string | null; folders: string[]; notebooks: string[] }

/** A whole notebook, with its outputs, kernel and participants. */
export interface FullNotebook {
  path: string
  name: string
  language: string
  version: number
  cells: CellText[]
  outputs: Record<string, SentCellOutputs>
  conditions: Record<string, CellCondition>
  review: Review
  status: NotebookStatus
  kernel: NotebookKernel
  participants: Participant[]
  heard: Record<string, number>
}

/** A frame from the host to a client. */
export type HostFrame =
  /** The reply, which is the last frame about a request. */
  | { done: { id: number; result: { Ok: Reply } | { Err: Failure } } }

/** The result of a run. */
export interface LastRun {
  order: number | null
  success: boolean
  status: Status
  duration_ms: number
  ended_ms: number
}

/** The client's name for a message, by which it recognizes the message in the transcript. */
export type MessageId = string

/** The author of a message. */
export type MessageRole = 'person' | 'model'

/** Limits the actions of an agent. A user sets it at the start; no tool can change it. */
export type Mode = 'ask' | 'edit' | 'agent'

/** An action on a notebook. A notebook that is not open is opened for it. */
export type NotebookAction =
  /** Returns the whole notebook, and keeps it open until the client disconnects. */
  | { follow: { clients: string[]; outputs: OutputForm } }
  /** Returns the changes since the last reply. Waits until there are some. */
  | 'news'
  /** Reports the active and selected cells of a page. */
  | { present: PageFocus }
  /** Applies the changes of a client that keeps a replica. */
  | { submit: { submission: Submission; author: Author | null } }
  /** Undoes changes. Saved before the reply. */
  | { undo: { undo: Undo; author: Author | null } }
  /** Keeps or reverts changes that wait for review. */
  | { judge: { verdict: Verdict; scope: Scope; author: Author | null } }
  /** Switches review on or off. */
  | { set_review: boolean }
  /** Returns the newest turns, for the history view. */
  | 'turns'
  /** Returns cells as JSON. A deleted cell is returned as it was when it was deleted. */
  | { cells: string[] }
  /** Completes code, by the notebook's kernel. */
  | { complete: { code: string; cursor: number } }
  /** Describes the name at the cursor, by the notebook's kernel. */
  | { inspect: { code: string; cursor: number } }
  /** Runs cells in the notebook's session, after the runs that are queued there. */
  | { run: string[] }
  /** Interrupts the running cells, and removes the queued ones. */
  | 'interrupt'
  /** Restarts the notebook's kernel. */
  | 'restart'
  /** Saves the notebook. Replies when all earlier changes are on disk. */
  | 'save'

/** The kernel of a notebook. */
export interface NotebookKernel {
  state: NotebookKernelState
  name: string
  id: string | null
  stuck: boolean
  stays: number | null
  gone: string | null
}

/** The state of a notebook's kernel. */
export type NotebookKernelState = 'none' | 'starting' | 'idle' | 'busy' | 'silent' | 'dead'

/** The reply to an action on a notebook. */
export type NotebookReply =
  /** The whole notebook, for a client that follows it. */
  | { whole: FullNotebook }
  /** The changes since the last reply. */
  | { news: NotebookUpdate }
  /** The newest turns, newest first. */
  | { turns: TurnSummary[] }
  /** The cells as JSON; `null` for an unknown one. */
  | { cells: (string | null)[] }
  /** The reason why a run ended before its last cell, if it did. */
  | { ran: RunStop | null }
  /** The completions. Empty if the kernel is busy or missing. */
  | { completion: { matches: string[]; start: number; end: number } }
  /** The description of a name, as plain text. */
  | { inspection: string | null }
  /** The submission was refused: its cells have changed meanwhile. */
  | { behind: { version: number; changes: Change[] } }
  /** The submission was refused: the client is too far behind and must follow the notebook again. */
  | 'too_far'
  /** The change was applied in this version. */
  | { version: number }
  /** The action has succeeded. */
  | 'done'

/** A request about a notebook. */
export interface NotebookRequest { path: string; ask: NotebookAction }

/** The save state of a notebook. */
export interface NotebookStatus { saved: number; problem: string | null; notices: string[] }

/** The changes of a notebook since the last update. A missing field is unchanged. */
export interface NotebookUpdate {
  changes?: Change[]
  outputs?: Record<string, SentCellOutputs>
  conditions?: Record<string, CellCondition | null>
  review?: Review
  status?: NotebookStatus
  kernel?: NotebookKernel
  participants?: Participant[]
  is_behind?: boolean
}

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

/** The active and selected cells of a page. */
export interface PageFocus { cell: string | null; selected: string[]; editing: boolean }

/** One output for a page. */
export type PageOutput =
  | { stream: { name: string; text: string; folded: FoldedText | null } }
  | { data: { data: Record<string, PageValue>; is_result: boolean } }
  | { error: { name: string; message: string; traceback: string; folded: FoldedText | null } }

/** One representation of an output. */
export type PageValue =
  | { text: string }
  | { json: unknown }
  /** Fetched on display. */
  | { stored: { address: string; bytes: number } }

/** A user or an agent at a notebook. */
export interface Participant { actor: Actor; cells: string[]; doing: ParticipantActivity }

/** The activity of a participant. */
export type ParticipantActivity = 'looking' | 'editing' | 'reading' | 'running'

/** A message of the prompt. */
export interface PreviewMessage { role: MessageRole; text: string }

/** A tool of the prompt. */
export interface PreviewTool { name: string; description: string }

/** A whole prompt, as the provider would receive it. */
export interface PromptPreview {
  instructions: string
  messages: PreviewMessage[]
  tools: PreviewTool[]
  bytes: number
  notes: string[]
  notebook_mode: boolean
}

/** A message that waits until earlier answers have ended. */
export interface QueuedMessage { message: MessageId; words: string }

/** The reply to a request. Each request has one kind of reply; a failure is separate. */
export type Reply =
  /** The reply of a notebook. */
  | { notebook: NotebookReply }
  /** The reply of a conversation. */
  | { chat: ChatReply }
  /** The notebooks and folders of a folder. */
  | { folder: FolderListing }
  /** The path of a new notebook. */
  | { created: string }

/** A request of a client. */
export type Request =
  /** Reads, changes or runs a notebook. */
  | { notebook: NotebookRequest }
  /** Lists the notebooks and folders of a folder, by default of the page's folder. */
  | { files: { folder: string | null } }
  /** Creates a notebook with one empty cell, under a free name. */
  | { create: { folder: string; name: string } }
  /** Reads or continues a conversation with the assistant. */
  | { chat: ChatAction }

/** All changes that wait for review. */
export interface Review { is_on: boolean; is_chosen?: boolean; cells: Record<string, Unreviewed> }

/** Whether the assistant asks before it runs code. */
export type RunCode = 'ask' | 'allow'

/** The reason why a run ended before its last cell. */
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

/** The outputs of a cell, and its execution count. */
export interface SentCellOutputs { outputs: SentOutputs; count: number | null }

/** Outputs in the requested form. */
export type SentOutputs =
  | { whole: unknown[] }
  | { bounded: PageOutput[] }

/** How a piece of code ended. */
export type Status = 'ok' | 'error' | 'timeout' | 'cancelled'

/** The previous position of a cell: behind another, or first. */
export interface Stood { after: string | null }

/** How much a stop ends. */
export type StopScope = 'answer' | 'kernel'

/** Several operations as one change. */
export interface Submission { base: number; tag: Tag | null; ops: Op[] }

/** Identifies a submission, so that its client recognizes it. */
export interface Tag { client: string; number: number }

/** A count of tokens. */
export interface TokenUsage { input: number; cached: number; output: number; cost: number | null }

/** A tool that a message may name. */
export interface ToolReference { name: string; mode: Mode }

/** One entry of a conversation's transcript. Entries are only appended. A client that reads all of them in order can show the whole conversation. */
export type TranscriptEntry =
  /** The answer to a message begins. */
  | { asked: { message: MessageId; words: string; mode: Mode; model: string; turn: string; notebook_mode: boolean; notes: string[]; attached: string[]; selected: string[]; outputs: string[] } }
  /** More text of the answer. */
  | { text: string }
  /** The model calls a tool. */
  | { call: { id: string; tool: string; arguments: unknown } }
  /** The call would run code, or change a file that other programs run. It waits for the user's approval. */
  | { question: { id: string; path?: string } }
  /** The user's decision. */
  | { verdict: { id: string; verdict: Approval } }
  /** The result of a call, as the model reads it. */
  | { result: { id: string; text: string; images: number; is_failure: boolean; duration_ms: number; deeds: CellEdit[]; needs_mode: Mode | null } }
  /** A proposed source for the one cell. The notebook is unchanged. */
  | { proposal: { cell: string; source: string } }
  /** The provider failed and is retried. The text since the last call is void. */
  | { again: { message: string; after_ms: number } }
  /** The answer has ended. */
  | { ended: { ending: AnswerEnding; usage: TokenUsage } }
  /** The changes of a turn were undone. */
  | { undone: { turn: string } }

/** The changes of one turn, for the history view. */
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

/** A decision about changes that wait for review. */
export type Verdict = 'keep' | 'undo'

/** A cell before agents changed it. Later changes by people elsewhere in the cell are applied here too. */
export type Was =
  /** It did not exist. */
  | { was: 'absent' }
  /** It existed. */
  | { was: 'there'; kind: CellType; source: string; place?: Stood }
  /** It existed and was deleted. */
  | { was: 'deleted'; after: string | null; kind: CellType; source: string; json: string }
