// The open notebook as signals, one set per cell, so that a change redraws its cell alone.

import type { ChangeSet } from '@codemirror/state'
import { batch, computed, type Signal, signal } from '@preact/signals'
import type {
  Actor,
  CellCondition,
  SentCellOutputs,
  CellText,
  CellType,
  Failure,
  NotebookKernel,
  NotebookUpdate,
  NotebookStatus,
  FullNotebook,
  PageOutput,
  Participant,
  Review,
  Unreviewed,
} from '../net/protocol'

/** A cell. Its text is a plain value: its editor applies changes, all other views follow `textVersion`. */
export interface CellModel {
  id: string
  kind: Signal<CellType>
  source: string
  textVersion: Signal<number>
  outputs: Signal<PageOutput[]>
  count: Signal<number | null>
  state: Signal<CellCondition>
  review: Signal<Unreviewed | null>
  /** The start of its run, by this page's clock. */
  startedAt: Signal<number | null>
  /** The author of a change a moment ago. */
  touched: Signal<Actor | null>
  isFolded: Signal<boolean>
  /** Applies changes by other clients to the editor, if there is one. */
  editor: { take: (change: ChangeSet) => void; reset: (text: string) => void } | null
}

export type Connection = 'connecting' | 'open' | 'lost' | 'locked' | 'unverified'

const REST: CellCondition = { activity: 'idle', last: null, stale: [] }

export const cells = new Map<string, CellModel>()
/** Recently deleted cells. A restored cell shows its outputs at once, until the host sends them. */
const gone = new Map<string, CellModel>()
const MOST_GONE = 200
export const order = signal<string[]>([])
export const connection = signal<Connection>('connecting')

/** Calls back when the connection is verified: without it another program may own the port. */
export function whenOpen(then: () => void): void {
  if (connection.peek() === 'open') return then()
  const stop = connection.subscribe((now) => {
    if (now !== 'open') return
    queueMicrotask(() => stop())
    then()
  })
}

export const opened = () => new Promise<void>((resolve) => whenOpen(resolve))
/** The reason that the notebook cannot be opened. */
export const openError = signal<Failure | null>(null)
export const file = signal<{ path: string; name: string; language: string } | null>(null)
export const status = signal<NotebookStatus>({ saved: 0, problem: null, notices: [] })
export const version = signal(0)
export const isSettled = signal(true)
export const kernel = signal<NotebookKernel>({
  state: 'none',
  name: '',
  id: null,
  stuck: false,
  stays: null,
  gone: null,
})
export const present = signal<Participant[]>([])
export const review = signal<Review>({ is_on: true, cells: {} })

export const isSaved = computed(() => isSettled.value && status.value.saved >= version.value)
/** Cells under review: existing ones in order, then deleted ones. */
export const waiting = computed(() => {
  const all = review.value.cells
  const there = order.value.filter((id) => all[id])
  return [...there, ...Object.keys(all).filter((id) => all[id]!.was.was === 'deleted')]
})
/** Cells deleted by agents, by the cell that they followed. */
export const deletedCells = computed(() => {
  const deletedCells = new Map<string | null, { id: string; change: Unreviewed }[]>()
  for (const [id, change] of Object.entries(review.value.cells)) {
    if (change.was.was !== 'deleted') continue
    let after = change.was.after
    // The neighbour may be deleted too.
    for (let depth = 0; after !== null && !cells.has(after) && depth < 1000; depth++) {
      const before: Unreviewed | undefined = review.value.cells[after]
      after = before?.was.was === 'deleted' ? before.was.after : null
    }
    deletedCells.set(after, [...(deletedCells.get(after) ?? []), { id, change }])
  }
  return deletedCells
})

/** The index of each cell. */
export const indexes = computed(() => new Map(order.value.map((id, at) => [id, at])))
/** The participants at each cell. */
export const participantsAt = computed(() => {
  const at = new Map<string, Participant[]>()
  for (const one of present.value) for (const id of one.cells) at.set(id, [...(at.get(id) ?? []), one])
  return at
})
/** The turns under review, with the number of cells that each changed. */
export const turns = computed(() => {
  const turns = new Map<string, { turn: string; actor: Actor; count: number }>()
  for (const { actor, turns: of } of Object.values(review.value.cells)) {
    for (const turn of of) {
      const known = turns.get(turn)
      if (known) known.count++
      else turns.set(turn, { turn, actor, count: 1 })
    }
  }
  return [...turns.values()]
})

/** Whether a cell has outputs or an execution count. */
export function hasRun(id: string): boolean {
  const cell = cells.get(id)
  return cell !== undefined && (cell.outputs.peek().length > 0 || cell.count.peek() !== null)
}

/** The cells as plain values. */
export function list(): CellText[] {
  return order.peek().flatMap((id) => {
    const cell = cells.get(id)
    return cell ? [{ id, kind: cell.kind.peek(), source: cell.source }] : []
  })
}

function fresh(cell: CellText): CellModel {
  return {
    id: cell.id,
    kind: signal(cell.kind),
    source: cell.source,
    textVersion: signal(0),
    outputs: signal([]),
    count: signal(null),
    state: signal(REST),
    review: signal(null),
    startedAt: signal(null),
    touched: signal(null),
    isFolded: signal(false),
    editor: null,
  }
}

/** Shows a list of cells. An editor is reset only if its text differs. */
export function showList(list: readonly CellText[]): void {
  batch(() => {
    const there = new Set(list.map((cell) => cell.id))
    for (const [id, cell] of cells) {
      if (there.has(id)) continue
      cells.delete(id)
      gone.delete(id)
      gone.set(id, cell)
    }
    for (const id of gone.keys()) {
      if (gone.size <= MOST_GONE) break
      gone.delete(id)
    }
    for (const cell of list) {
      const known = cells.get(cell.id) ?? gone.get(cell.id)
      gone.delete(cell.id)
      if (!known) cells.set(cell.id, fresh(cell))
      else {
        cells.set(cell.id, known)
        known.kind.value = cell.kind
        if (known.source !== cell.source) {
          known.source = cell.source
          known.editor?.reset(cell.source)
          known.textVersion.value++
        }
      }
    }
    const ids = list.map((cell) => cell.id)
    const old = order.peek()
    if (ids.length !== old.length || ids.some((id, index) => id !== old[index])) order.value = ids
    updateReviews()
  })
}

/** Shows a change of a text, by another client or by the editor here. */
export function showText(id: string, source: string, change: ChangeSet | null): void {
  const cell = cells.get(id)
  if (!cell) return
  cell.source = source
  if (change) cell.editor?.take(change)
  cell.textVersion.value++
}

export function receiveWhole(whole: FullNotebook): void {
  batch(() => {
    file.value = { path: whole.path, name: whole.name, language: whole.language }
    receive(whole)
    for (const [id, cell] of cells) {
      if (!whole.outputs[id]) {
        cell.outputs.value = []
        cell.count.value = null
      }
      if (!whole.conditions[id]) setState(cell, REST)
    }
  })
}

/** Applies all news other than texts. */
export function receive(news: NotebookUpdate): void {
  batch(() => {
    for (const [id, { outputs, count }] of Object.entries(news.outputs ?? {})) {
      const cell = cells.get(id)
      if (!cell) continue
      cell.outputs.value = bounded(outputs)
      cell.count.value = count
    }
    for (const [id, condition] of Object.entries(news.conditions ?? {})) {
      const cell = cells.get(id)
      if (cell) setState(cell, condition ?? REST)
    }
    if (news.status) status.value = news.status
    if (news.kernel) kernel.value = news.kernel
    if (news.participants) present.value = news.participants
    if (news.review) {
      review.value = news.review
      updateReviews()
    }
  })
}

/** The bounded form of outputs, which a page requests. */
const bounded = (outputs: SentCellOutputs['outputs']): PageOutput[] =>
  'bounded' in outputs ? outputs.bounded : []

function setState(cell: CellModel, state: CellCondition): void {
  const isRunning = state.activity === 'running'
  if (isRunning && cell.startedAt.peek() === null) cell.startedAt.value = Date.now()
  if (!isRunning) cell.startedAt.value = null
  cell.state.value = state
}

/** Updates the review of each cell. */
function updateReviews(): void {
  const all = review.peek().cells
  for (const [id, cell] of cells) {
    const now = all[id] ?? null
    if (JSON.stringify(cell.review.peek()) !== JSON.stringify(now)) cell.review.value = now
  }
}
