// Taking back what was done to cells here. What others did meanwhile stays; a text that they changed is left alone.

import { apply, between, fromJSON, toJSON } from '../net/change'
import { carryOut } from '../net/cells'
import type { Cell, Op } from '../net/protocol'

/** An operation, or a text that becomes another if it is still the first. */
export type Step = Op | { op: 'write'; cell: string; from: string; to: string }

/** What takes operations back, in the order in which it has to be done. */
export function reversed(cells: Cell[], ops: readonly Op[]): Step[] {
  const steps: Step[] = []
  for (const op of ops) {
    const at = cells.findIndex(({ id }) => id === op.cell)
    const cell = cells[at]
    const after = cells[at - 1]?.id ?? null
    switch (op.op) {
      case 'insert':
        steps.push({ op: 'delete', cell: op.cell })
        break
      case 'delete':
        if (cell) steps.push({ op: 'insert', cell: op.cell, after, kind: cell.kind, source: cell.source })
        break
      case 'move':
        if (cell) steps.push({ op: 'move', cell: op.cell, after })
        break
      case 'retype':
        if (cell) steps.push({ op: 'retype', cell: op.cell, kind: cell.kind })
        break
      case 'change':
        if (cell) steps.push({ op: 'write', cell: op.cell, from: apply(fromJSON(op.change), cell.source), to: cell.source })
        break
      case 'clear':
        break
    }
    cells = carryOut(cells, op)
  }
  return steps.reverse()
}

/** The operations that steps come to now: what others deleted, brought back or wrote meanwhile is left out. */
export function applicable(cells: Cell[], steps: readonly Step[]): Op[] {
  const ops: Op[] = []
  for (const step of steps) {
    const cell = cells.find(({ id }) => id === step.cell)
    if ((step.op === 'insert') !== (cell === undefined)) continue
    if (step.op === 'write' && cell?.source !== step.from) continue
    const op: Op = step.op === 'write' ? { op: 'change', cell: step.cell, change: toJSON(between(step.from, step.to)) } : step
    ops.push(op)
    cells = carryOut(cells, op)
  }
  return ops
}
