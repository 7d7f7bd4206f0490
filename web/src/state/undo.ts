// Undo of cell operations. Changes by other clients stay; a text that they changed is left alone.

import { applyOp } from '../net/cells'
import type { Op } from '../net/cells'
import { apply, between, fromJSON, toJSON } from '../net/change'
import type { CellText as Cell } from '../net/protocol'

/** An operation, a conditional change of text, or the restoration of values that an operation removed. */
export type Step =
  | Op
  | { op: 'write'; cell: string; from: string; to: string }
  | { op: 'refit'; cell: string; undoes: Op | null }

/** The operation that a step sends to the host. */
export function asOp(step: Step): Op {
  if (step.op === 'write')
    return { op: 'change', cell: step.cell, change: toJSON(between(step.from, step.to)) }
  return step.op === 'refit' ? { op: 'refit', cell: step.cell } : step
}

/**
 * The steps that revert `steps`, in order. `hasRun` tells whether a cell has outputs or an execution count.
 */
export function reversed(cells: Cell[], steps: readonly Step[], hasRun: (cell: string) => boolean): Step[] {
  const back: Step[] = []
  for (const step of steps) {
    const at = cells.findIndex(({ id }) => id === step.cell)
    const cell = cells[at]
    const after = cells[at - 1]?.id ?? null
    const content = { cell: { cell: step.cell, outputs: true } }
    if (step.op === 'insert') back.push({ op: 'delete', cell: step.cell })
    if (!cell) {
      cells = applyOp(cells, asOp(step))
      continue
    }
    switch (step.op) {
      case 'insert':
        break
      case 'delete':
        back.push({ op: 'insert', cell: step.cell, after, kind: cell.kind, source: cell.source, content })
        break
      case 'move':
        back.push({ op: 'move', cell: step.cell, after })
        break
      case 'retype':
        if (cell.kind === 'code' && hasRun(step.cell))
          back.push({ op: 'refit', cell: step.cell, undoes: null })
        back.push({ op: 'retype', cell: step.cell, kind: cell.kind })
        break
      case 'change':
        back.push({
          op: 'write',
          cell: step.cell,
          from: apply(fromJSON(step.change), cell.source),
          to: cell.source,
        })
        break
      case 'write':
        back.push({ op: 'write', cell: step.cell, from: step.to, to: step.from })
        break
      case 'clear':
        if (hasRun(step.cell)) back.push({ op: 'refit', cell: step.cell, undoes: step })
        break
      case 'absorb':
        back.push({ op: 'refit', cell: step.cell, undoes: step })
        break
      case 'refit':
        // Changing the type again removes the values again.
        if ('undoes' in step && step.undoes) back.push(step.undoes)
        break
    }
    cells = applyOp(cells, asOp(step))
  }
  return back.reverse()
}

/** The steps that still apply. Steps on cells that other clients deleted, restored or edited are dropped. */
export function applicable(cells: Cell[], steps: readonly Step[]): Step[] {
  return steps.filter((step) => {
    const cell = cells.find(({ id }) => id === step.cell)
    if ((step.op === 'insert') !== (cell === undefined)) return false
    if (step.op === 'write' && cell?.source !== step.from) return false
    cells = applyOp(cells, asOp(step))
    return true
  })
}
