// Pure functions on lists of cells: apply operations and effects, compute differences.

import type { ChangeSet } from '@codemirror/state'
import { apply, between as textBetween, fromJSON, toJSON } from './change'
import type { CellText as Cell, Effect, Op as AnyOp } from './protocol'

/** An operation of a page. Inserts name their cell; texts change by change sets. */
export type Op =
  Exclude<AnyOp, { op: 'insert' | 'write' }> | (Extract<AnyOp, { op: 'insert' }> & { cell: string })

export function isSameList(old: readonly Cell[], now: readonly Cell[]): boolean {
  return (
    old.length === now.length &&
    old.every((cell, at) => cell.id === now[at]!.id && cell.kind === now[at]!.kind)
  )
}

/** The changes between the texts of two lists. */
export function textChanges(
  old: readonly Cell[],
  now: readonly Cell[],
): { cell: string; change: ChangeSet }[] {
  const before = new Map(old.map((cell) => [cell.id, cell.source]))
  return now.flatMap(({ id, source }) => {
    const was = before.get(id)
    return was === undefined || was === source ? [] : [{ cell: id, change: textBetween(was, source) }]
  })
}

/** The effect of each operation. */
const DONE = {
  insert: 'inserted',
  delete: 'deleted',
  move: 'moved',
  retype: 'retyped',
  change: 'changed',
  clear: 'outputs',
  absorb: 'outputs',
  refit: 'outputs',
} as const

export function asEffect({ op, ...about }: Op): Effect {
  return { effect: DONE[op], ...about } as Effect
}

/** Whether an operation restores this deleted cell. */
export function restores(op: Op, cell: string): boolean {
  return (
    op.op === 'insert' &&
    op.cell === cell &&
    op.content !== undefined &&
    'cell' in op.content &&
    op.content.cell.cell === cell
  )
}

const at = (cells: readonly Cell[], id: string | null) =>
  id === null ? -1 : cells.findIndex((cell) => cell.id === id)

function put(cells: readonly Cell[], cell: Cell, after: string | null): Cell[] {
  const known = after === null ? 0 : at(cells, after) + 1
  const place = after !== null && known === 0 ? cells.length : known
  return [...cells.slice(0, place), cell, ...cells.slice(place)]
}

function set(cells: Cell[], id: string, change: (cell: Cell) => Cell): Cell[] {
  const place = at(cells, id)
  if (place < 0) return cells
  const changed = cells.slice()
  changed[place] = change(cells[place]!)
  return changed
}

/** Applies an effect to a list. */
export function applyEffect(cells: Cell[], effect: Effect): Cell[] {
  switch (effect.effect) {
    case 'inserted':
      // A cell restored here may still be in a list that lacks its deletion.
      return put(
        at(cells, effect.cell) < 0 ? cells : cells.filter(({ id }) => id !== effect.cell),
        { id: effect.cell, kind: effect.kind, source: effect.source },
        effect.after,
      )
    case 'deleted':
      return cells.filter((cell) => cell.id !== effect.cell)
    case 'moved': {
      const place = at(cells, effect.cell)
      if (place < 0 || effect.after === effect.cell) return cells
      return put(
        cells.filter((_, index) => index !== place),
        cells[place]!,
        effect.after,
      )
    }
    case 'retyped':
      return set(cells, effect.cell, (cell) => ({ ...cell, kind: effect.kind }))
    case 'changed':
      return set(cells, effect.cell, (cell) => ({
        ...cell,
        source: apply(fromJSON(effect.change), cell.source),
      }))
    case 'outputs':
    case 'metadata':
      return cells
  }
}

/** Applies an operation to a list. */
export function applyOp(cells: Cell[], op: Op): Cell[] {
  return applyEffect(cells, asEffect(op))
}

/** The effects that turn one list into another. */
export function between(old: readonly Cell[], now: readonly Cell[]): Effect[] {
  const there = new Set(now.map((cell) => cell.id))
  const effects: Effect[] = old
    .filter((cell) => !there.has(cell.id))
    .map((cell) => ({ effect: 'deleted', cell: cell.id }))
  let order = old.filter((cell) => there.has(cell.id))
  now.forEach((cell, index) => {
    const after = index > 0 ? now[index - 1]!.id : null
    // Most cells keep their place.
    const known = order[index]?.id === cell.id ? index : at(order, cell.id)
    if (known < 0) {
      effects.push({ effect: 'inserted', cell: cell.id, after, kind: cell.kind, source: cell.source })
      order = put(order, cell, after)
      return
    }
    const was = order[known]!
    if (was.kind !== cell.kind) effects.push({ effect: 'retyped', cell: cell.id, kind: cell.kind })
    if (was.source !== cell.source) {
      effects.push({ effect: 'changed', cell: cell.id, change: toJSON(textBetween(was.source, cell.source)) })
    }
    if (known !== index) {
      effects.push({ effect: 'moved', cell: cell.id, after })
      order = put(
        order.filter((_, place) => place !== known),
        was,
        after,
      )
    }
  })
  return effects
}
