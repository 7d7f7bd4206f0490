// The page's replica of an open notebook. It shows edits at once, sends them when possible, and converges
// with all other clients although messages may be late, repeated or lost. The model is
// `live/tests/it/replica.rs`.

import { ChangeSet, Text } from '@codemirror/state'
import { applyEffect, applyOp, between, isSameList, type Op, restores, textChanges } from './cells'
import { between as textBetween, fromJSON, toJSON } from './change'
import type { CellText as Cell, Change, Effect, Submission } from './protocol'

/** The visible effect of a change. */
export interface VisibleChange {
  /** Changes to shown texts, in order. */
  texts: { cell: string; change: ChangeSet }[]
  /** Whether cells were added, removed, moved or retyped. */
  isListChanged: boolean
}

/** Operations of this page under one submission number. */
interface OwnOps {
  number: number
  ops: Op[]
}

/** A change of the notebook. Own changes keep their operations, which may hold more than the effects. */
interface Logged {
  version: number
  number: number
  effects: Effect[]
  ops: Op[] | null
}

/** Edits to store so that nothing typed is lost with the page. */
export interface UnsavedEdits {
  client: string
  own: OwnOps[]
  /** The edited cells, as they were before. */
  cells: Cell[]
}

export class Replica {
  private confirmed: Cell[]
  private shown: Cell[]
  /**
   * The cells last known to be on disk. The log has the changes since, which a crash of the host would lose.
   */
  private safe: Cell[]
  private log: Logged[] = []
  private sent: Op[] = []
  private waiting: Op[] = []
  private number = 0
  private isSent = false
  private names = 0

  constructor(
    readonly client: string,
    public version: number,
    cells: Cell[],
  ) {
    this.confirmed = cells
    this.shown = cells
    this.safe = cells
  }

  cells(): readonly Cell[] {
    return this.shown
  }

  /** Whether the notebook has all operations of this page. */
  isSettled(): boolean {
    return this.sent.length === 0 && this.waiting.length === 0
  }

  freshName(): string {
    this.names += 1
    return `${this.client}-${this.names}`
  }

  /** Applies an operation locally. It must fit the shown cells. */
  act(op: Op): void {
    this.shown = applyOp(this.shown, op)
    const last = this.waiting.at(-1)
    if (op.op === 'change' && last?.op === 'change' && last.cell === op.cell) {
      const both = fromJSON(last.change).compose(fromJSON(op.change))
      this.waiting[this.waiting.length - 1] = { ...last, change: toJSON(both) }
    } else {
      this.waiting.push(op)
    }
  }

  /**
   * The next submission, if any. One is under way at a time; after a lost connection the same is sent again.
   */
  outgoing(): Submission | null {
    if (this.isSent) return null
    if (this.sent.length === 0) {
      if (this.waiting.length === 0) return null
      this.sent = this.waiting
      this.waiting = []
      this.number += 1
    }
    this.isSent = true
    return { base: this.version, tag: { client: this.client, number: this.number }, ops: this.sent }
  }

  /** Marks the submission as not sent: the connection is lost, or the host refused its base version. */
  unsent(): void {
    this.isSent = false
  }

  /** Drops and returns all operations that the host will never accept. */
  refused(): Op[] {
    const lost = [...this.sent, ...this.waiting]
    this.sent = []
    this.waiting = []
    this.isSent = false
    this.show()
    return lost
  }

  /** Reduces pasted cells to their sources; returns whether there were any. */
  simplify(): boolean {
    const whole = [...this.sent, ...this.waiting].filter(
      (op) => op.op === 'insert' && op.content && !restores(op, op.cell),
    )
    for (const op of whole) if (op.op === 'insert') delete op.content
    this.isSent = false
    return whole.length > 0
  }

  /** Applies a change; returns `null` when an earlier change is missing. */
  receive(change: Change): VisibleChange | null {
    if (change.version <= this.version) return { texts: [], isListChanged: false }
    if (change.version > this.version + 1) return null
    const isMine =
      this.sent.length > 0 && change.tag?.client === this.client && change.tag.number === this.number
    const ops = isMine ? this.sent : null
    if (isMine) {
      this.sent = []
      this.isSent = false
    }
    const shift = this.take(change.effects, isMine)
    this.version = change.version
    this.log.push({ version: change.version, number: change.tag?.number ?? 0, effects: change.effects, ops })
    return shift
  }

  /** Records that everything up to a version is on disk. */
  saved(version: number): void {
    const end = this.log.findIndex((logged) => logged.version > version)
    for (const { effects } of this.log.splice(0, end < 0 ? this.log.length : end)) {
      for (const effect of effects) this.safe = applyEffect(this.safe, effect)
    }
  }

  /**
   * Replaces the replica by the notebook on disk. `received` is the last submission number of this page in it.
   * Later submissions, which a host accepted and lost, are sent again.
   */
  resync(version: number, newest: Cell[], received: number | undefined): VisibleChange {
    const old = this.shown
    const own = this.own()
    this.confirmed = this.safe
    for (const { number, ops } of own) {
      if (number <= (received ?? 0)) for (const op of ops) this.confirmed = applyOp(this.confirmed, op)
    }
    this.sent = []
    this.waiting = own.filter(({ number }) => number > (received ?? 0)).flatMap(({ ops }) => ops)
    this.number = Math.max(this.number, received ?? 0)
    this.isSent = false
    this.show()
    this.take(between(this.confirmed, newest), false)
    this.waiting = this.fitting(old)
    this.show()
    this.safe = this.confirmed
    this.log = []
    this.version = version
    return { texts: textChanges(old, this.shown), isListChanged: !isSameList(old, this.shown) }
  }

  /**
   * The waiting operations whose cells exist. A crashed host may have lost cells of other clients; text typed
   * in them here brings them back.
   */
  private fitting(old: readonly Cell[]): Op[] {
    let cells = this.confirmed
    const fitting: Op[] = []
    const returned = new Set<string>()
    for (let op of this.waiting) {
      const isThere = cells.some(({ id }) => id === op.cell)
      if (op.op === 'insert' ? isThere : returned.has(op.cell) && op.op === 'change') continue
      if (op.op !== 'insert' && !isThere) {
        const was = op.op === 'change' ? old.find(({ id }) => id === op.cell) : undefined
        if (!was) continue
        returned.add(op.cell)
        op = {
          op: 'insert',
          cell: op.cell,
          after: cells.at(-1)?.id ?? null,
          kind: was.kind,
          source: was.source,
        }
      }
      cells = applyOp(cells, op)
      fitting.push(op)
    }
    return fitting
  }

  /** Applies the stored edits of another page after all changes since. */
  adopt(kept: UnsavedEdits, received: number | undefined): void {
    const newest = this.confirmed
    const known = new Map(kept.cells.map((cell) => [cell.id, cell]))
    const before = newest.map((cell) => known.get(cell.id) ?? cell)
    for (const cell of kept.cells) if (!newest.some(({ id }) => id === cell.id)) before.push(cell)
    const other = new Replica(kept.client, 0, before)
    other.names = 1_000_000
    for (const { number, ops } of kept.own) other.log.push({ version: 0, number, effects: [], ops })
    other.resync(this.version, newest, received)
    for (const op of other.waiting) this.act(op)
  }

  /** The edits to store, if any. */
  unsaved(): UnsavedEdits | null {
    const own = this.own()
    if (own.length === 0) return null
    const about = new Set(own.flatMap(({ ops }) => ops).map((op) => op.cell))
    return { client: this.client, own, cells: this.safe.filter((cell) => about.has(cell.id)) }
  }

  /**
   * All own operations that are not known to be on disk, rebased as if no other client had changed anything.
   */
  private own(): OwnOps[] {
    const all: Pick<Logged, 'number' | 'effects' | 'ops'>[] = [
      ...this.log,
      { number: this.number, effects: [], ops: this.sent },
      { number: this.number + 1, effects: [], ops: this.waiting },
    ]
    const own: OwnOps[] = []
    let cells = this.safe
    /** Changes by other clients to each text, after the own ones. */
    const others = new Map<string, ChangeSet>()
    const known = (cell: string) => {
      const text = cells.find(({ id }) => id === cell)?.source
      return text === undefined ? null : { text, theirs: others.get(cell) ?? ChangeSet.empty(text.length) }
    }
    for (const { number, effects, ops } of all) {
      for (const effect of ops ? [] : effects) {
        if (effect.effect !== 'changed') {
          cells = applyEffect(cells, effect)
          continue
        }
        const before = known(effect.cell)
        if (before) others.set(effect.cell, before.theirs.compose(fromJSON(effect.change)))
      }
      const kept: Op[] = []
      for (const op of ops ?? []) {
        let mine = op
        if (op.op === 'change') {
          const before = known(op.cell)
          if (!before) continue
          const change = fromJSON(op.change).map(before.theirs.invert(Text.of(before.text.split('\n'))))
          others.set(op.cell, before.theirs.map(change, true))
          mine = { ...op, change: toJSON(change) }
        }
        cells = applyOp(cells, mine)
        kept.push(mine)
      }
      if (kept.length > 0) own.push({ number, ops: kept })
    }
    return own
  }

  private take(effects: Effect[], isMine: boolean): VisibleChange {
    const shift: VisibleChange = { texts: [], isListChanged: false }
    for (const effect of effects) {
      if (!isMine) this.rebase(effect, shift)
      this.confirmed = applyEffect(this.confirmed, effect)
    }
    const old = this.shown
    this.show()
    shift.isListChanged = !isSameList(old, this.shown)
    return shift
  }

  private show(): void {
    let shown = this.confirmed
    for (const op of this.sent) shown = applyOp(shown, op)
    for (const op of this.waiting) shown = applyOp(shown, op)
    this.shown = shown
  }

  /** Rebases own operations onto an effect of another client. */
  private rebase(effect: Effect, shift: VisibleChange): void {
    if (effect.effect === 'changed') {
      this.joinRestored(effect.cell)
      let theirs = fromJSON(effect.change)
      for (const ops of [this.sent, this.waiting]) {
        for (const op of ops) {
          if (op.op !== 'change' || op.cell !== effect.cell) continue
          const mine = fromJSON(op.change)
          op.change = toJSON(mine.map(theirs))
          theirs = theirs.map(mine, true)
        }
      }
      // A client that had not seen the new text does not delete it.
      const keeps = (op: Op) => op.op !== 'delete' || op.cell !== effect.cell
      this.sent = this.sent.filter(keeps)
      this.waiting = this.waiting.filter(keeps)
      shift.texts.push({ cell: effect.cell, change: theirs })
    } else if (effect.effect === 'deleted') {
      this.rebaseOnDeleted(effect.cell)
    } else if (effect.effect === 'inserted') {
      this.rebaseOnInserted(effect)
    }
  }

  /** For other editors of the cell, deleting and restoring it counts as a change of text. */
  private joinRestored(cell: string): void {
    if (![...this.sent, ...this.waiting].some((op) => restores(op, cell))) return
    let cells = this.confirmed
    let deleted: string | undefined
    const joined = (op: Op): Op => {
      if (op.op === 'delete' && op.cell === cell) deleted = cells.find(({ id }) => id === cell)?.source
      cells = applyOp(cells, op)
      if (op.op !== 'insert' || deleted === undefined || !restores(op, cell)) return op
      const change = textBetween(deleted, op.source)
      deleted = undefined
      return { op: 'change', cell, change: toJSON(change) }
    }
    this.sent = this.sent.map(joined)
    this.waiting = this.waiting.map(joined)
  }

  /**
   * Another client inserted a cell. If it is the same restored cell, drop the own insert; otherwise rename
   * the own cell.
   */
  private rebaseOnInserted({ cell, kind, source }: Extract<Effect, { effect: 'inserted' }>): void {
    const all = [...this.sent, ...this.waiting]
    const first = all.findIndex((op) => op.op === 'insert' && op.cell === cell)
    const op = all[first]
    if (op?.op !== 'insert') return
    if (restores(op, cell) && op.kind === kind && op.source === source) {
      this.sent = this.sent.filter((one) => one !== op)
      this.waiting = this.waiting.filter((one) => one !== op)
      return
    }
    const name = this.freshName()
    // Operations before it mean the other cell.
    for (const later of all.slice(first)) rename(later, cell, name, later === op)
  }

  /** Another client deleted a cell. If text was typed here, the cell comes back. */
  private rebaseOnDeleted(cell: string): void {
    const at = this.confirmed.findIndex(({ id }) => id === cell)
    const before = at > 0 ? this.confirmed[at - 1]!.id : null
    const shown = this.shown.find(({ id }) => id === cell)
    const isAbout = (op: Op) => (op.op !== 'insert' && op.cell === cell) || restores(op, cell)
    const needs = (op: Op) => (op.op === 'change' && op.cell === cell) || restores(op, cell)
    const [inSent, inWaiting] = [this.sent.some(needs), this.waiting.some(needs)]
    this.sent = this.sent.filter((op) => !isAbout(op))
    this.waiting = this.waiting.filter((op) => !isAbout(op))
    const forgetPlace = (ops: Op[]) => {
      for (const op of ops)
        if ((op.op === 'insert' || op.op === 'move') && op.after === cell) op.after = before
    }
    const back: Op | null = shown
      ? {
          op: 'insert',
          cell,
          after: before,
          kind: shown.kind,
          source: shown.source,
          content: { cell: { cell, outputs: true } },
        }
      : null
    if (inSent && back) {
      this.sent.unshift(back)
    } else if (inWaiting && back) {
      forgetPlace(this.sent)
      this.waiting.unshift(back)
    } else {
      forgetPlace(this.sent)
      forgetPlace(this.waiting)
    }
  }
}

/** Renames a cell of this page. The operation that inserts it still finds its content under the old name. */
function rename(op: Op, old: string, name: string, inserts: boolean): void {
  if ((op.op === 'insert' || op.op === 'move') && op.after === old) op.after = name
  if (op.op === 'insert' && !inserts && op.content && 'cell' in op.content && op.content.cell.cell === old) {
    op.content = { cell: { ...op.content.cell, cell: name } }
  }
  if (op.op === 'absorb') op.from = op.from.map((from) => (from === old ? name : from))
  if (op.cell === old) op.cell = name
}
