// Proposals carried over to what a cell says meanwhile.

import { type Change, presentableDiff } from '@codemirror/merge'
import { ChangeSet, Text } from '@codemirror/state'

/**
 * What a proposal for one text comes to for the text that the cell has now: what was typed since stays. `null` where
 * both changed the same place, and together would say what nobody wrote.
 */
export function carried(base: string, proposed: string, now: string): ChangeSet | null {
  const [theirs, ours, rest] = [
    presentableDiff(base, proposed),
    presentableDiff(base, now),
    presentableDiff(now, proposed),
  ]
  // The model has seen what was typed, and went on from there.
  if (ours.every((one) => isKept(one, theirs, rest))) return asChanges(rest, now.length, proposed)
  if (ours.some((one) => theirs.some((other) => one.fromA <= other.toA && other.fromA <= one.toA)))
    return null
  return asChanges(theirs, base.length, proposed).map(asChanges(ours, base.length, now))
}

/** Whether a proposal also takes away what a change took away, and leaves what it added. */
function isKept(one: Change, theirs: readonly Change[], rest: readonly Change[]): boolean {
  const isGone =
    one.fromA === one.toA || theirs.some(({ fromA, toA }) => fromA <= one.fromA && one.toA <= toA)
  return isGone && !rest.some(({ fromA, toA }) => fromA < one.toB && one.fromB < toA)
}

function asChanges(all: readonly Change[], length: number, after: string): ChangeSet {
  const changes = all.map(({ fromA, toA, fromB, toB }) => ({
    from: fromA,
    to: toA,
    insert: Text.of(after.slice(fromB, toB).split('\n')),
  }))
  return ChangeSet.of(changes, length)
}
