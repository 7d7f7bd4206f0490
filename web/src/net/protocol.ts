// What travels between the page and the host, as the host's page module reads and writes it.

export type CellKind = 'code' | 'markdown' | 'raw'
/** A change of one text, as CodeMirror writes it. */
export type ChangeJSON = (number | [number, ...string[]])[]

export type ActorKind = 'person' | 'agent' | 'disk'
export interface Actor { id: string; name: string; kind: ActorKind }
export interface Tag { client: string; number: number }

export type Op =
  | { op: 'insert'; cell: string; after: string | null; kind: CellKind; source: string; content?: Content }
  | { op: 'delete'; cell: string }
  | { op: 'move'; cell: string; after: string | null }
  | { op: 'retype'; cell: string; kind: CellKind }
  | { op: 'change'; cell: string; change: ChangeJSON }
  | { op: 'clear'; cell: string }
  /** Adds metadata, attachments and outputs of other cells to the one that they are merged into. */
  | { op: 'absorb'; cell: string; from: string[] }
  /** Takes back the last `clear` or `absorb` of a cell, or the loss of its outputs by the last `retype`. */
  | { op: 'refit'; cell: string }
/** Where an inserted cell gets all but its source: from a cell that is or was in the notebook, or from the JSON of a whole cell. */
export type Content = { cell: { cell: string; outputs: boolean } } | { json: string }

export type Effect =
  | { effect: 'inserted'; cell: string; after: string | null; kind: CellKind; source: string }
  | { effect: 'deleted'; cell: string }
  | { effect: 'moved'; cell: string; after: string | null }
  | { effect: 'retyped'; cell: string; kind: CellKind }
  | { effect: 'changed'; cell: string; change: ChangeJSON }
  | { effect: 'outputs'; cell: string }
  | { effect: 'metadata'; cell: string | null }

export interface Change { version: number; actor: Actor; turn: string | null; tag: Tag | null; effects: Effect[] }
export interface Submission { base: number; tag: Tag; ops: Op[] }

/** A value of an output: there, or to be fetched because it is large or an image. */
export type Value = { text: string } | { json: unknown } | { address: string; bytes: number }
export type Output =
  | { kind: 'stream'; name: string; text: string; folded: Folded | null }
  | { kind: 'data'; data: Record<string, Value>; is_result: boolean }
  | { kind: 'error'; name: string; message: string; traceback: string; folded: Folded | null }
/** How much of a text was left out in the middle, and where all of it is. */
export interface Folded { bytes: number; address: string }

export type Activity = 'pending' | 'running' | 'idle'
export type RunStatus = 'ok' | 'error' | 'timeout' | 'cancelled'
export interface LastRun { order: number | null; status: RunStatus; duration_ms: number; ended_ms: number }
/** Why what it showed does not hold any more, in words. */
export interface CellState { activity: Activity; last: LastRun | null; stale: string[] }
export interface Shown { outputs: Output[]; count: number | null }

export type Was =
  | { was: 'absent' }
  | { was: 'there'; kind: CellKind; source: string; place?: { after: string | null } }
  | { was: 'deleted'; after: string | null; kind: CellKind; source: string }
export interface Unreviewed { actor: Actor; turns: string[]; was: Was }
export interface Review { is_on: boolean; cells: Record<string, Unreviewed> }

export interface Cell { id: string; kind: CellKind; source: string }
export interface Kernel {
  state: 'none' | 'starting' | 'idle' | 'busy' | 'silent' | 'dead'; name: string; id: string | null
  /** Whether its code was interrupted and has not stopped. */
  stuck?: boolean
  /** How long it stays after the last page, agent or terminal has left, in milliseconds. */
  stays?: number | null
  /** Why the last one is gone, where there is none. */
  gone?: string | null
}
/** Someone who is here, and what they look at. */
export interface Present { actor: Actor; cells: string[]; doing: 'looking' | 'editing' | 'reading' | 'running' }
/** What someone did in one go. */
export interface Turn { turn: string; actor: Actor; until: number; deeds: string[]; is_undone: boolean }

/** All of a notebook. */
export interface Whole {
  path: string
  name: string
  language: string
  version: number
  cells: Cell[]
  shown: Record<string, Shown>
  states: Record<string, CellState>
  review: Review
  status: Status
  kernel: Kernel
  present: Present[]
  /** The last submission of each client that was asked about. */
  heard: Record<string, number>
}
export interface Status { saved: number; problem: string | null; notices: string[] }
/** What is new. What is left out is as it was. */
export interface News {
  changes?: Change[]
  shown?: Record<string, Shown>
  states?: Record<string, CellState | null>
  review?: Review
  status?: Status
  kernel?: Kernel
  present?: Present[]
  /** Taken instead of changes when those are not known any more. */
  is_behind?: boolean
}

export type Scope = { text: { cell: string; was: string } } | { cell: { cell: string } } | { turn: { turn: string } } | 'all'
export type Ask =
  | { open: { path: string; clients: string[] } }
  | { submit: Submission }
  /** Answered with all of these cells as JSON, as they stand or as they were when they were deleted. */
  | { cells: { cells: string[] } }
  | { run: { cells: string[] } }
  | 'interrupt'
  | 'restart'
  | { complete: { code: string; cursor: number } }
  | { inspect: { code: string; cursor: number } }
  | { judge: { verdict: 'keep' | 'undo'; scope: Scope } }
  | { set_review: boolean }
  | 'history'
  | { undo: { turn: string } }
  | 'save'
  | { present: { cell: string | null; selected: string[]; editing: boolean } }
  | { files: { folder: string | null } }
  | { create: { folder: string; name: string } }
  | { chat: ChatAsk }

export type Mode = 'ask' | 'edit' | 'agent'
export type Verdict = 'once' | 'always' | 'no'
/** What a person says, with all that goes along. */
export interface Message {
  words: string
  mode: Mode
  /** Whether the page's own notebook is attached. */
  is_attached: boolean
  /** Other notebooks, by their paths. */
  attached: string[]
  /** Cells that are sent whole. */
  selected: string[]
  /** Cells whose outputs go along. */
  outputs: string[]
}
export type ChatAsk =
  /** Answered with a chat; from then on all that is told in it comes, from the beginning. */
  | { open: { is_new: boolean } }
  /** Answered with a chat as it can be used now, and nothing more. */
  | 'about'
  | { send: Message }
  /** Answered with what would be sent now. */
  | { preview: Message }
  | { withdraw: { number: number } }
  | { stop: 'answer' | 'kernel' }
  | { approve: { call: string; verdict: Verdict } }
  /** Takes back what this answer and all later ones changed; answered with what that was, in words. */
  | { restore: { turn: string } }
  /** Says something about one cell; answered with the name of the conversation about it. */
  | { inline: { cell: string; message: Message } }
  | { inline_stop: string }

/** The conversation about a notebook, and what one can say in it. */
export interface Chat {
  chat: string
  account: { provider: string; model: string } | { problem: string; hint: string }
  run_code: 'ask' | 'allow'
  /** Tools that a message may name, as '#runNotebookCells', and the mode that each needs. */
  references: { name: string; mode: Mode }[]
  /** Notebooks that may be attached. */
  notebooks: string[]
}
/** What a model would be sent. */
export interface Seen {
  instructions: string
  messages: { role: 'person' | 'model'; text: string }[]
  tools: { name: string; description: string }[]
  bytes: number
  notes: string[]
  notebook_mode: boolean
}
export interface Usage { input: number; cached: number; output: number; cost: number | null }
export type Ending = 'done' | 'stopped' | 'too_long' | 'too_many_steps' | 'refused' | { failed: { message: string; hint: string } }
/** What the host did to a cell. */
export interface Deed { cell: string; deed: 'added' | 'changed' | 'deleted' | 'moved' | 'ran'; added: number; removed: number }
/** A message whose answer begins. */
export interface Asked {
  words: string
  mode: Mode
  model: string
  /** Under which name what it changes can be taken back. */
  turn: string
  notebook_mode: boolean
  notes: string[]
  attached: string[]
  selected: string[]
  outputs: string[]
}
/** What came of a call, as the model reads it, and what it really did. */
export interface Result {
  id: string
  text: string
  images: number
  is_failure: boolean
  duration_ms: number
  deeds: Deed[]
  /** The mode that it would have needed, where it was refused because of that. */
  needs_mode: Mode | null
}
/** Something that is told of a conversation. All of it, in order, is what happened. */
export type Told =
  | { asked: Asked }
  | { text: string }
  | { call: { id: string; tool: string; arguments: unknown } }
  /** With a path, the question is whether that file may change. */
  | { question: { id: string; path?: string } }
  | { verdict: { id: string; verdict: Verdict } }
  | { result: Result }
  | { proposal: { cell: string; source: string } }
  /** The provider failed and is asked again. The words since the last call do not count. */
  | { again: { message: string; after_ms: number } }
  | { ended: { ending: Ending; usage: Usage } }
  | { undone: { turn: string } }
export interface ChatNews {
  chat: string
  /** The cell that it is about, where that is only one. */
  inline: string | null
  /** The place of the first that is told. */
  from: number
  told: Told[]
  is_answering: boolean
  waiting: { number: number; words: string }[]
  /** Whether code still runs that an answer began and did not wait for, while none is under way. */
  runs_on: boolean
}

/** How a run ended before its end: the cell that ended it, null when the run was stopped between cells, and how many cells were not run. */
export interface Stopped { cell: string | null; error: string; not_run: number }
export interface Folder { path: string; parent: string | null; folders: string[]; notebooks: string[] }
export type Answer =
  | { whole: Whole }
  | { version: number }
  | { behind: { version: number; changes: Change[] } }
  | 'too_far'
  | { completion: { matches: string[]; start: number; end: number } }
  | { documentation: string | null }
  | { cells: (string | null)[] }
  | { ran: Stopped | null }
  | { folder: Folder }
  | { created: string }
  | { history: Turn[] }
  | { chat: Chat }
  | { seen: Seen }
  | { inline: string }
  | { restored: string }
  | 'done'
export interface Failure { kind: string; message: string; hint: string | null }
export type Down =
  | { done: { id: number; result: { Ok: Answer } | { Err: Failure } } }
  | { news: News }
  | { chat: ChatNews }
