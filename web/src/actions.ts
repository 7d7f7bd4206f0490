// Everything that a person can do, by name. Keys, buttons and menus call these.

import { ChangeSet, Text } from '@codemirror/state'
import { batch } from '@preact/signals'
import { refocus } from './cell/focus'
import { toJSON } from './net/change'
import type { Cell, CellKind, Op, Scope } from './net/protocol'
import { act, ask, freshName, settled, sourceOf } from './net/sync'
import * as assist from './state/assist'
import * as doc from './state/doc'
import { applicable, reversed, type Step } from './state/undo'
import { active, anchor, follows, hasNumbers, isEditing, question, said, say, selected, type Sheet, sheet } from './state/view'

const index = () => doc.order.peek().indexOf(active.peek() ?? '')
const before = (id: string): string | null => doc.order.peek()[doc.order.peek().indexOf(id) - 1] ?? null

/** Looks at a cell: it is active, and the keyboard is on it. */
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

export function insert(place: 'above' | 'below', kind: CellKind = 'code', edits = false, source = ''): string {
  const cell = freshName()
  const here = active.peek()
  const after = place === 'below' ? here : here ? before(here) : null
  remember({ op: 'insert', cell, after: after ?? (place === 'below' ? doc.order.peek().at(-1) ?? null : null), kind, source })
  select(cell, edits)
  return cell
}

/** What undoes and what redoes operations on cells, the newest last. */
const undoable: Step[][] = []
const undone: Step[][] = []

function remember(...ops: Op[]): void {
  undoable.push(reversed(doc.list(), ops))
  undone.length = 0
  act(...ops)
}

function step(from: Step[][], to: Step[][], nothing: string): void {
  const steps = from.pop()
  if (!steps) return say(nothing)
  const ops = applicable(doc.list(), steps)
  to.push(reversed(doc.list(), ops))
  act(...ops)
  const back = ops.findLast((op) => op.op === 'insert')
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
  remember(...ops)
  if (doc.order.peek().length === 0) insert('below')
  else select(doc.order.peek()[Math.min(at, doc.order.peek().length - 1)] ?? null)
  say(gone.length === 1 ? 'Cell deleted' : `${gone.length} cells deleted`, { name: 'Restore', then: undoCells })
}

let clipboard: Cell[] = []

export function copy(): void {
  clipboard = doc.list().filter(({ id }) => selected.peek().includes(id))
  said.value = `${clipboard.length} copied`
}

export function cut(): void {
  copy()
  remove()
}

export function paste(place: 'above' | 'below'): void {
  if (clipboard.length === 0) return
  const here = active.peek()
  let after = place === 'below' ? here : here ? before(here) : null
  const ops = clipboard.map((cell): Op => {
    const op: Op = { op: 'insert', cell: freshName(), after, kind: cell.kind, source: cell.source }
    after = op.cell
    return op
  })
  remember(...ops)
  select(ops.at(-1)!.cell)
}

export function shift(by: -1 | 1): void {
  const cells = selected.peek()
  const all = doc.order.peek()
  const [first, last] = [all.indexOf(cells[0] ?? ''), all.indexOf(cells.at(-1) ?? '')]
  if (first < 0 || (by < 0 && first === 0) || (by > 0 && last === all.length - 1)) return
  if (by < 0) remember({ op: 'move', cell: all[first - 1]!, after: cells.at(-1)! })
  else remember({ op: 'move', cell: all[last + 1]!, after: first > 0 ? all[first - 1]! : null })
}

export function retype(kind: CellKind): void {
  const ops = selected.peek().filter((id) => doc.cells.get(id)?.kind.peek() !== kind)
  remember(...ops.map((cell): Op => ({ op: 'retype', cell, kind })))
}

export function heading(level: number): void {
  const id = active.peek()
  if (!id) return
  retype('markdown')
  const source = sourceOf(id)
  const mark = `${'#'.repeat(level)} `
  const had = /^#{1,6} /.exec(source)?.[0].length ?? 0
  write(id, mark + source.slice(had))
}

/** Makes the text of a cell another, as an edit that merges with what others type. */
export function write(id: string, text: string): void {
  const source = sourceOf(id)
  if (source === text) return
  const change = ChangeSet.of({ from: 0, to: source.length, insert: Text.of(text.split('\n')) }, source.length)
  act({ op: 'change', cell: id, change: toJSON(change) })
}

/** Changes the text of a cell in a way that can be undone. */
export function change(id: string, changes: ChangeSet): void {
  if (!changes.empty) remember({ op: 'change', cell: id, change: toJSON(changes) })
}

export function split(at: number): void {
  const id = active.peek()
  const cell = id ? doc.cells.get(id) : null
  if (!id || !cell) return
  const source = cell.source
  const [head, tail] = [source.slice(0, at).replace(/\n$/, ''), source.slice(at).replace(/^\n/, '')]
  const name = freshName()
  const cutting = ChangeSet.of({ from: head.length, to: source.length }, source.length)
  remember(
    { op: 'change', cell: id, change: toJSON(cutting) },
    { op: 'insert', cell: name, after: id, kind: cell.kind.peek(), source: tail },
  )
  select(name, true)
}

export function merge(): void {
  let cells = selected.peek()
  if (cells.length === 1) cells = doc.order.peek().slice(index(), index() + 2)
  if (cells.length < 2) return
  const [first, ...rest] = cells as [string, ...string[]]
  const source = sourceOf(first)
  const more = rest.map((id) => `\n\n${sourceOf(id)}`).join('')
  const grow = ChangeSet.of({ from: source.length, insert: Text.of(more.split('\n')) }, source.length)
  remember({ op: 'change', cell: first, change: toJSON(grow) }, ...rest.map((cell): Op => ({ op: 'delete', cell })))
  select(first)
}

export const clearOutputs = () => act(...selected.peek().map((cell): Op => ({ op: 'clear', cell })))

/** Runs cells, from what they say when all that was typed has arrived. */
export async function runCells(cells: string[]): Promise<void> {
  const code = cells.filter((id) => doc.cells.get(id)?.kind.peek() === 'code')
  if (code.length === 0) return
  await settled()
  await ask({ run: { cells: code } })
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
export const interrupt = () => void ask('interrupt')

export function restart(): void {
  question.value = {
    text: 'Restart the kernel? Everything that it has in memory is lost.',
    yes: 'Restart',
    then: () => void ask('restart'),
  }
}

export async function save(): Promise<void> {
  await settled()
  if ((await ask('save')) !== null) said.value = 'Saved'
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
  said.value = follows.value ? 'Following the agent' : 'Not following the agent'
}

/** Goes to the next or the previous cell that waits for review. */
export function toChange(by: -1 | 1): void {
  const all = doc.waiting.peek().filter((id) => doc.cells.has(id))
  if (all.length === 0) return say('No changes wait for review')
  const here = index()
  const places = all.map((id) => doc.order.peek().indexOf(id))
  const next = by > 0 ? places.find((place) => place > here) : places.findLast((place) => place < here)
  const to = next ?? (by > 0 ? places[0]! : places.at(-1)!)
  select(doc.order.peek()[to]!)
}

export async function judge(verdict: 'keep' | 'undo', scope: Scope): Promise<void> {
  await settled()
  if ((await ask({ judge: { verdict, scope } })) === null) return
  said.value = verdict === 'keep' ? 'Kept' : 'Undone'
}

export function judgeActive(verdict: 'keep' | 'undo', isAll: boolean): void {
  if (isAll) return void judge(verdict, 'all')
  const cell = active.peek()
  if (assist.proposed.peek() === cell && assist.parts.peek()?.judgeProposal(verdict === 'keep')) return
  if (cell && doc.review.peek().cells[cell]) void judge(verdict, { cell: { cell } })
}

/** Shows the assistant, or hides it; a keyboard that was there goes back to the notebook. */
export function toggleAssistant(): void {
  const hadKeyboard = document.activeElement?.closest('.assistant') != null
  assist.setOpen(!assist.isOpen.peek())
  if (hadKeyboard && !assist.isOpen.peek()) refocus()
}

/** Opens a line below the active cell for a word about it. */
export function talkInline(): void {
  const cell = active.peek()
  if (cell) assist.talkInline(cell)
}

export function scroll(by: -1 | 1): void {
  document.querySelector('main')?.scrollBy({ top: by * innerHeight * 0.8 })
}

export function toggleSheet(which: Sheet): void {
  sheet.value = sheet.peek() === which ? null : which
}
