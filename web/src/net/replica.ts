// The page's copy of an open notebook: shows what is typed at once, sends it when it may, and comes to the same cells as
// everyone else, whatever arrives late, twice or not at all. The host's own copy is the model for it.

import { ChangeSet, Text } from '@codemirror/state'
import { asEffect, asOp, between, carryOut, differences, follow, isSameList } from './cells'
import { fromJSON, toJSON } from './change'
import type { Cell, Change, Effect, Op, Submission, Tag } from './protocol'

/** What the page has to show anew. */
export interface Shift {
  /** Changes of texts that are shown, in order. */
  texts: { cell: string; change: ChangeSet }[]
  /** Whether cells came, went, moved or changed their type. */
  isListChanged: boolean
}

/** What was done here under one number. */
interface Own { number: number; ops: Op[] }

/** What has to be kept so that nothing typed is lost when the page goes. */
export interface Kept {
  client: string
  own: Own[]
  /** The cells that it is about, as they were before. */
  cells: Cell[]
}

export class Replica {
  private confirmed: Cell[]
  private shown: Cell[]
  /** The cells as they are on disk, as far as is known, and all that was taken since: a host that dies loses that. */
  private safe: Cell[]
  private log: Change[] = []
  private sent: Op[] = []
  private waiting: Op[] = []
  private number = 0
  private isSent = false
  private names = 0

  constructor(readonly client: string, public version: number, cells: Cell[]) {
    this.confirmed = cells
    this.shown = cells
    this.safe = cells
  }

  cells(): readonly Cell[] {
    return this.shown
  }

  /** Whether all that was done here is known to be in the notebook. */
  isSettled(): boolean {
    return this.sent.length === 0 && this.waiting.length === 0
  }

  freshName(): string {
    this.names += 1
    return `${this.client}-${this.names}`
  }

  /** Does something here. It must fit what is shown. */
  act(op: Op): void {
    this.shown = carryOut(this.shown, op)
    const last = this.waiting.at(-1)
    if (op.op === 'change' && last?.op === 'change' && last.cell === op.cell) {
      const both = fromJSON(last.change).compose(fromJSON(op.change))
      this.waiting[this.waiting.length - 1] = { ...last, change: toJSON(both) }
    } else {
      this.waiting.push(op)
    }
  }

  /** What to send now, if anything: one submission at a time, the same again after a lost connection. */
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

  /** The connection is gone, or the submission was refused: what was sent is sent again. */
  unsent(): void {
    this.isSent = false
  }

  /** The host will never take what was sent. It is given up, and returned. */
  refused(): Op[] {
    const lost = [...this.sent, ...this.waiting]
    this.sent = []
    this.waiting = []
    this.isSent = false
    this.show()
    return lost
  }

  /** Takes in a change; `null` when changes before it are missing here. */
  receive(change: Change): Shift | null {
    if (change.version <= this.version) return { texts: [], isListChanged: false }
    if (change.version > this.version + 1) return null
    const isMine = this.sent.length > 0 && change.tag?.client === this.client && change.tag.number === this.number
    if (isMine) {
      this.sent = []
      this.isSent = false
    }
    const shift = this.take(change.effects, isMine)
    this.version = change.version
    this.log.push(change)
    return shift
  }

  /** All up to a version is on disk. */
  saved(version: number): void {
    const end = this.log.findIndex((change) => change.version > version)
    for (const change of this.log.splice(0, end < 0 ? this.log.length : end)) {
      for (const effect of change.effects) this.safe = follow(this.safe, effect)
    }
  }

  /**
   * Takes the whole notebook in, as it is on disk. `heard` is the number of the last submission of this page that is in it;
   * what was taken by a host that did not live to save it is sent again.
   */
  resync(version: number, newest: Cell[], heard: number | undefined): Shift {
    const old = this.shown
    const own = this.own()
    this.confirmed = this.safe
    for (const { number, ops } of own) {
      if (number <= (heard ?? 0)) for (const op of ops) this.confirmed = carryOut(this.confirmed, op)
    }
    this.sent = []
    this.waiting = own.filter(({ number }) => number > (heard ?? 0)).flatMap(({ ops }) => ops)
    this.number = Math.max(this.number, heard ?? 0)
    this.isSent = false
    this.show()
    this.take(between(this.confirmed, newest), false)
    this.safe = this.confirmed
    this.log = []
    this.version = version
    return { texts: differences(old, this.shown), isListChanged: !isSameList(old, this.shown) }
  }

  /** What another page left behind is done here, after all that was done since. */
  adopt(kept: Kept, heard: number | undefined): void {
    const newest = this.confirmed
    const known = new Map(kept.cells.map((cell) => [cell.id, cell]))
    const before = newest.map((cell) => known.get(cell.id) ?? cell)
    for (const cell of kept.cells) if (!newest.some(({ id }) => id === cell.id)) before.push(cell)
    const other = new Replica(kept.client, 0, before)
    other.names = 1_000_000
    for (const { number, ops } of kept.own) {
      other.log.push(...ops.map((op) => asChange(op, { client: kept.client, number })))
    }
    other.resync(this.version, newest, heard)
    for (const op of other.waiting) this.act(op)
  }

  /** What has to be kept, if anything. */
  kept(): Kept | null {
    const own = this.own()
    if (own.length === 0) return null
    const about = new Set(own.flatMap(({ ops }) => ops).map((op) => op.cell))
    return { client: this.client, own, cells: this.safe.filter((cell) => about.has(cell.id)) }
  }

  /** All that was done here and is not known to be on disk, as if others had done nothing meanwhile. */
  private own(): Own[] {
    const all: { isMine: boolean; number: number; effects: Effect[] }[] = this.log.map(({ tag, effects }) => ({
      isMine: tag?.client === this.client, number: tag?.number ?? 0, effects,
    }))
    all.push({ isMine: true, number: this.number, effects: this.sent.map(asEffect) })
    all.push({ isMine: true, number: this.number + 1, effects: this.waiting.map(asEffect) })
    const own: Own[] = []
    let cells = this.safe
    /** What others did to a text, behind what was done here. */
    const others = new Map<string, ChangeSet>()
    for (const { isMine, number, effects } of all) {
      const ops: Op[] = []
      for (const effect of effects) {
        if (effect.effect !== 'changed') {
          cells = follow(cells, effect)
          const op = isMine ? asOp(effect) : null
          if (op) ops.push(op)
          continue
        }
        const text = cells.find(({ id }) => id === effect.cell)?.source
        if (text === undefined) continue
        const change = fromJSON(effect.change)
        const theirs = others.get(effect.cell) ?? ChangeSet.empty(text.length)
        if (!isMine) {
          others.set(effect.cell, theirs.compose(change))
          continue
        }
        const mine = change.map(theirs.invert(Text.of(text.split('\n'))))
        others.set(effect.cell, theirs.map(mine, true))
        const op: Op = { op: 'change', cell: effect.cell, change: toJSON(mine) }
        cells = carryOut(cells, op)
        ops.push(op)
      }
      if (ops.length > 0) own.push({ number, ops })
    }
    return own
  }

  private take(effects: Effect[], isMine: boolean): Shift {
    const shift: Shift = { texts: [], isListChanged: false }
    for (const effect of effects) {
      if (!isMine) this.rebase(effect, shift)
      this.confirmed = follow(this.confirmed, effect)
    }
    const old = this.shown
    this.show()
    shift.isListChanged = !isSameList(old, this.shown)
    return shift
  }

  private show(): void {
    let shown = this.confirmed
    for (const op of this.sent) shown = carryOut(shown, op)
    for (const op of this.waiting) shown = carryOut(shown, op)
    this.shown = shown
  }

  /** Changes what was done here so that it fits behind something that was done elsewhere. */
  private rebase(effect: Effect, shift: Shift): void {
    const lists = [this.sent, this.waiting]
    if (effect.effect === 'changed') {
      let theirs = fromJSON(effect.change)
      for (const ops of lists) {
        for (const op of ops) {
          if (op.op !== 'change' || op.cell !== effect.cell) continue
          const mine = fromJSON(op.change)
          op.change = toJSON(mine.map(theirs))
          theirs = theirs.map(mine, true)
        }
      }
      // What someone has just typed there is not deleted by someone who had not seen it.
      const keeps = (op: Op) => op.op !== 'delete' || op.cell !== effect.cell
      this.sent = this.sent.filter(keeps)
      this.waiting = this.waiting.filter(keeps)
      shift.texts.push({ cell: effect.cell, change: theirs })
    } else if (effect.effect === 'deleted') {
      this.rebaseOnDeleted(effect.cell)
    } else if (effect.effect === 'inserted') {
      const all = [...this.sent, ...this.waiting]
      const first = all.findIndex((op) => op.op === 'insert' && op.cell === effect.cell)
      if (first >= 0) {
        const name = this.freshName()
        // What comes before it means the other cell.
        for (const op of all.slice(first)) rename(op, effect.cell, name)
      }
    }
  }

  /** A cell was deleted elsewhere. What was typed here is not deleted with it: the cell comes back. */
  private rebaseOnDeleted(cell: string): void {
    const at = this.confirmed.findIndex(({ id }) => id === cell)
    const before = at > 0 ? this.confirmed[at - 1]!.id : null
    const shown = this.shown.find(({ id }) => id === cell)
    const isAbout = (op: Op) => op.op !== 'insert' && op.cell === cell
    const types = (op: Op) => op.op === 'change' && op.cell === cell
    const [inSent, inWaiting] = [this.sent.some(types), this.waiting.some(types)]
    this.sent = this.sent.filter((op) => !isAbout(op))
    this.waiting = this.waiting.filter((op) => !isAbout(op))
    const forgetPlace = (ops: Op[]) => {
      for (const op of ops) if ((op.op === 'insert' || op.op === 'move') && op.after === cell) op.after = before
    }
    const back: Op | null = shown
      ? { op: 'insert', cell, after: before, kind: shown.kind, source: shown.source }
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

function asChange(op: Op, tag: Tag): Change {
  return { version: 0, actor: { id: '', name: '', kind: 'person' }, turn: null, tag, effects: [asEffect(op)] }
}

function rename(op: Op, old: string, name: string): void {
  if ((op.op === 'insert' || op.op === 'move') && op.after === old) op.after = name
  if (op.cell === old) op.cell = name
}
