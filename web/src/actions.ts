// The actions of the user. Keys, buttons and the palette call these.

import { ChangeSet, Text } from '@codemirror/state'
import { batch } from '@preact/signals'
import { refocus } from './cell/focus'
import type { Op } from './net/cells'
import { toJSON } from './net/change'
import type { CellType, Content, RunStop, Scope, Verdict } from './net/protocol'
import { act, ask, freshName, notebook, settled, sourceOf, tell } from './net/sync'
import * as assistant from './state/assistant'
import { renamed, withNames } from './state/attachments'
import { type Clip, type Copied, copied, hold, share, storedId } from './state/clipboard'
import * as doc from './state/doc'
import { applicable, asOp, reversed, type Step } from './state/undo'
import {
  active,
  anchor,
  announcement,
  follows,
  hasNumbers,
  isEditing,
  notify,
  question,
  selected,
  type Sheet,
  sheet,
} from './state/view'

const index = () => doc.order.peek().indexOf(active.peek() ?? '')
const before = (id: string): string | null => doc.order.peek()[doc.order.peek().indexOf(id) - 1] ?? null

/** Makes a cell active and gives it the keyboard focus. */
export function select(id: string | null, edits = false): void {
  batch(() => {
    active.value = id
    anchor.value = null
    isEditing.value = edits && id !== null
  })
}

export function move(by: number, extends_ = false): void {
  const to = doc.order.peek()[Math.max(0, Math.min(doc.order.peek().length - 1, index() + by))]
  if (to === undefined) return
  batch(() => {
    if (extends_) anchor.value ??= active.peek()
    else anchor.value = null
    active.value = to
    isEditing.value = false
  })
}

export function selectAll(): void {
  batch(() => {
    anchor.value = doc.order.peek()[0] ?? null
    active.value = doc.order.peek().at(-1) ?? null
  })
}

export function insert(
  place: 'above' | 'below',
  kind: CellType = 'code',
  edits = false,
  source = '',
): string {
  const cell = freshName()
  const here = active.peek()
  const after = place === 'below' ? here : here ? before(here) : null
  remember({
    op: 'insert',
    cell,
    after: after ?? (place === 'below' ? (doc.order.peek().at(-1) ?? null) : null),
    kind,
    source,
  })
  select(cell, edits)
  return cell
}

/** Steps that undo and redo cell operations, newest last. */
const undoable: Step[][] = []
const undone: Step[][] = []

function remember(...ops: Op[]): void {
  if (ops.length === 0) return
  undoable.push(reversed(doc.list(), ops, doc.hasRun))
  undone.length = 0
  act(...ops)
}

function step(from: Step[][], to: Step[][], nothing: string): void {
  const steps = from.pop()
  if (!steps) return notify(nothing)
  const possible = applicable(doc.list(), steps)
  to.push(reversed(doc.list(), possible, doc.hasRun))
  act(...possible.map(asOp))
  const back = possible.findLast((step) => step.op === 'insert')
  if (back) select(back.cell)
  else if (!doc.cells.has(active.peek() ?? '')) select(doc.order.peek()[0] ?? null)
}

export const undoCells = () => step(undoable, undone, 'Nothing to undo')
export const redoCells = () => step(undone, undoable, 'Nothing to redo')

export function remove(): void {
  const gone = selected.peek()
  if (gone.length === 0) return
  const at = doc.order.peek().indexOf(gone[0]!)
  const ops = gone.map((cell): Op => ({ op: 'delete', cell }))
  // Keep at least one cell in the notebook.
  if (gone.length === doc.order.peek().length)
    ops.push({ op: 'insert', cell: freshName(), after: null, kind: 'code', source: '' })
  remember(...ops)
  select(doc.order.peek()[Math.min(at, doc.order.peek().length - 1)] ?? null)
  notify(gone.length === 1 ? 'Cell deleted' : `${gone.length} cells deleted`, {
    name: 'Restore',
    then: undoCells,
  })
}

/**
 * Copies the selected cells: at once for this tab, and whole for other tabs when the host has sent their
 * JSON.
 */
export function copy(): void {
  const path = doc.file.peek()?.path
  const cells = doc.list().filter(({ id }) => selected.peek().includes(id))
  if (!path || cells.length === 0) return
  const clip = hold(
    path,
    cells.map((cell): Copied => ({ ...cell, json: null })),
  )
  announcement.value = cells.length === 1 ? '1 cell copied' : `${cells.length} cells copied`
  void complete(clip)
}

async function complete(clip: Clip): Promise<void> {
  const cells = await ask(notebook({ cells: clip.cells.map(({ id }) => id) }), 'cells')
  if (cells) for (const [at, cell] of clip.cells.entries()) cell.json = cells[at] ?? null
  if (copied() === clip) share(clip)
}

export function cut(): void {
  copy()
  remove()
}

/** Pastes cells copied here or in another tab, or the text of the system clipboard. */
export function paste(place: 'above' | 'below', clip: Clip | string | null = copied()): void {
  if (clip === null) return
  const here = active.peek()
  let after = place === 'below' ? here : here ? before(here) : null
  const taken = new Set(doc.order.peek())
  const cells =
    typeof clip === 'string'
      ? [{ id: '', kind: 'code' as const, source: plain(clip), json: null }]
      : clip.cells
  const isHere = typeof clip !== 'string' && clip.path === doc.file.peek()?.path
  const ops = cells.map((cell): Op => {
    const wanted = isHere ? cell.id : storedId(cell)
    const name = wanted && !taken.has(wanted) ? wanted : freshName()
    taken.add(name)
    const content = contentOf(cell, isHere)
    const op: Op = {
      op: 'insert',
      cell: name,
      after,
      kind: cell.kind,
      source: cell.source,
      ...(content && { content }),
    }
    after = name
    return op
  })
  remember(...ops)
  select(ops.at(-1)!.cell)
}

/** Normalizes line endings to those of notebooks. */
const plain = (text: string) => text.replace(/\r\n?/g, '\n').replace(/\n$/, '')

function contentOf({ id, json }: Copied, isHere: boolean): Content | null {
  if (json !== null) return { json }
  return isHere ? { cell: { cell: id, outputs: true } } : null
}

export function shift(by: -1 | 1): void {
  const cells = selected.peek()
  const all = doc.order.peek()
  const [first, last] = [all.indexOf(cells[0] ?? ''), all.indexOf(cells.at(-1) ?? '')]
  if (first < 0 || (by < 0 && first === 0) || (by > 0 && last === all.length - 1)) return
  if (by < 0) remember({ op: 'move', cell: all[first - 1]!, after: cells.at(-1)! })
  else remember({ op: 'move', cell: all[last + 1]!, after: first > 0 ? all[first - 1]! : null })
}

export function retype(kind: CellType): void {
  const ops = selected.peek().filter((id) => doc.cells.get(id)?.kind.peek() !== kind)
  remember(...ops.map((cell): Op => ({ op: 'retype', cell, kind })))
}

export function heading(level: number): void {
  const id = active.peek()
  const cell = id ? doc.cells.get(id) : null
  if (!id || !cell) return
  const mark = `${'#'.repeat(level)} `
  const had = /^#{1,6} /.exec(cell.source)?.[0].length ?? 0
  const change = ChangeSet.of({ from: 0, to: had, insert: mark }, cell.source.length)
  const ops: Op[] = [{ op: 'change', cell: id, change: toJSON(change) }]
  if (cell.kind.peek() !== 'markdown') ops.unshift({ op: 'retype', cell: id, kind: 'markdown' })
  remember(...ops)
}

/** Replaces the text of a cell, as an edit that merges with edits of other clients. */
export function write(id: string, text: string): void {
  const source = sourceOf(id)
  if (source === text) return
  const change = ChangeSet.of(
    { from: 0, to: source.length, insert: Text.of(text.split('\n')) },
    source.length,
  )
  act({ op: 'change', cell: id, change: toJSON(change) })
}

/** Changes the text of a cell; cell undo can revert it. */
export function change(id: string, changes: ChangeSet): void {
  if (!changes.empty) remember({ op: 'change', cell: id, change: toJSON(changes) })
}

/** Splits the active cell. The lower part keeps the outputs; both parts keep metadata and attachments. */
export function split(at: number): void {
  const id = active.peek()
  const cell = id ? doc.cells.get(id) : null
  if (!id || !cell) return
  const source = cell.source
  const [head, tail] = [source.slice(0, at).replace(/\n$/, ''), source.slice(at).replace(/^\n/, '')]
  const cutting = ChangeSet.of({ from: 0, to: source.length - tail.length }, source.length)
  const content = { cell: { cell: id, outputs: false } }
  remember(
    { op: 'insert', cell: freshName(), after: before(id), kind: cell.kind.peek(), source: head, content },
    { op: 'change', cell: id, change: toJSON(cutting) },
  )
  select(id, true)
}

export async function merge(): Promise<void> {
  let cells = selected.peek()
  if (cells.length === 1) cells = doc.order.peek().slice(index(), index() + 2)
  if (cells.length < 2) return
  const hasPictures = cells.slice(1).some((id) => sourceOf(id).includes('attachment:'))
  const whole = hasPictures ? await ask(notebook({ cells }), 'cells', true) : null
  mergeCells(cells, whole ? renamed(whole) : [])
}

/** Merges cells into the first of them. `names` maps the attachments of the others to their new names. */
function mergeCells(cells: string[], names: Map<string, string>[]): void {
  const [first, ...rest] = cells as [string, ...string[]]
  const source = sourceOf(first)
  const texts = rest.map((id, at) => (names[at] ? withNames(sourceOf(id), names[at]) : sourceOf(id)))
  const more = texts.map((text) => `\n\n${text}`).join('')
  const grow = ChangeSet.of({ from: source.length, insert: Text.of(more.split('\n')) }, source.length)
  remember(
    { op: 'change', cell: first, change: toJSON(grow) },
    { op: 'absorb', cell: first, from: rest },
    ...rest.map((cell): Op => ({ op: 'delete', cell })),
  )
  select(first)
}

export const clearOutputs = () =>
  remember(
    ...selected
      .peek()
      .filter(doc.hasRun)
      .map((cell): Op => ({ op: 'clear', cell })),
  )
export const clearAll = () =>
  remember(
    ...doc.order
      .peek()
      .filter(doc.hasRun)
      .map((cell): Op => ({ op: 'clear', cell })),
  )

/** Runs cells once the host has all edits. */
export async function runCells(cells: string[]): Promise<void> {
  // An empty cell would stay queued.
  const runs = (id: string) => doc.cells.get(id)?.kind.peek() === 'code' && sourceOf(id).trim() !== ''
  const code = cells.filter(runs)
  if (code.length === 0) return
  await settled()
  const stopped = await ask(notebook({ run: code }), 'ran')
  if (code.length > 1 && stopped) tellStopped(stopped)
}

/** Reports the cell that stopped a run of several cells; it may be off screen. */
function tellStopped({ cell, error, not_run }: RunStop): void {
  const rest = not_run === 0 ? '' : `; ${not_run} ${not_run === 1 ? 'cell' : 'cells'} not run`
  if (cell === null) return notify(`Stopped: ${error}${rest}`)
  const place = doc.order.peek().indexOf(cell)
  notify(`Stopped at cell ${place}: ${error}${rest}`, { name: 'Show', then: () => select(cell) })
}

export function run(then: 'stay' | 'next' | 'insert'): void {
  const cells = selected.peek()
  const last = cells.at(-1)
  if (!last) return
  void runCells(cells)
  if (then === 'stay') return select(last)
  select(last)
  if (then === 'insert') insert('below', 'code', true)
  else if (last === doc.order.peek().at(-1)) insert('below', 'code', true)
  else move(1)
}

export const runAll = () => void runCells(doc.order.peek().slice())
export const runBelow = () => void runCells(doc.order.peek().slice(Math.max(0, index())))
export const interrupt = () => void tell(notebook('interrupt'))

export function restart(): void {
  question.value = {
    text: 'Restart the kernel? All variables will be lost.',
    yes: 'Restart',
    then: () => void tell(notebook('restart')),
  }
}

export async function save(): Promise<void> {
  await settled()
  if (await tell(notebook('save'))) announcement.value = 'Saved'
}

export function toggleOutput(): void {
  for (const id of selected.peek()) {
    const folded = doc.cells.get(id)?.isFolded
    if (folded) folded.value = !folded.value
  }
}

export function toggleNumbers(): void {
  hasNumbers.value = !hasNumbers.value
  localStorage.setItem('cellist:numbers', hasNumbers.value ? 'on' : 'off')
}

export function toggleFollow(): void {
  follows.value = !follows.value
  announcement.value = follows.value ? 'Following the agent' : 'Not following the agent'
}

/** Selects the next or the previous cell under review. */
export function toChange(by: -1 | 1): void {
  const all = doc.waiting.peek().filter((id) => doc.cells.has(id))
  if (all.length === 0) return notify('No changes to review')
  const here = index()
  const places = all.map((id) => doc.order.peek().indexOf(id))
  const next = by > 0 ? places.find((place) => place > here) : places.findLast((place) => place < here)
  const to = next ?? (by > 0 ? places[0]! : places.at(-1)!)
  select(doc.order.peek()[to]!)
}

export async function judge(verdict: Verdict, scope: Scope): Promise<void> {
  await settled()
  if (!(await tell(notebook({ judge: { verdict, scope, author: null } })))) return
  announcement.value = verdict === 'keep' ? 'Kept' : 'Undone'
}

export function judgeActive(verdict: Verdict, isAll: boolean): void {
  if (isAll) return void judge(verdict, 'all')
  const cell = active.peek()
  if (assistant.proposed.peek() === cell && assistant.parts.peek()?.judgeProposal(verdict === 'keep')) return
  if (cell && doc.review.peek().cells[cell]) void judge(verdict, { cell: { cell } })
}

/** Shows or hides the assistant. Focus inside it returns to the notebook. */
export function toggleAssistant(): void {
  const hadKeyboard = document.activeElement?.closest('.assistant') != null
  assistant.setOpen(!assistant.isOpen.peek())
  if (hadKeyboard && !assistant.isOpen.peek()) refocus()
}

/** Opens the inline chat below the active cell. */
export function openInlineChat(): void {
  const cell = active.peek()
  if (cell) assistant.openInlineChat(cell)
}

export function scroll(by: -1 | 1): void {
  document.querySelector('main')?.scrollBy({ top: by * innerHeight * 0.8 })
}

export function toggleSheet(which: Sheet): void {
  sheet.value = sheet.peek() === which ? null : which
}
