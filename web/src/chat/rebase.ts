// Rebases a proposal onto the current text of its cell.

import { type Change, presentableDiff } from '@codemirror/merge'
import { ChangeSet, Text } from '@codemirror/state'

/**
 * Returns the changes that a proposal for `base` makes to the text `now`, keeping edits made since. Returns
 * `null` when both changed the same place.
 */
export function rebased(base: string, proposed: string, now: string): ChangeSet | null {
  const [theirs, ours, rest] = [
    presentableDiff(base, proposed),
    presentableDiff(base, now),
    presentableDiff(now, proposed),
  ]
  // The model has seen the edits and built on them.
  if (ours.every((one) => isKept(one, theirs, rest))) return asChanges(rest, now.length, proposed)
  if (ours.some((one) => theirs.some((other) => one.fromA <= other.toA && other.fromA <= one.toA)))
    return null
  return asChanges(theirs, base.length, proposed).map(asChanges(ours, base.length, now))
}

/** Whether a proposal keeps an edit: it removes the same text and leaves the inserted text. */
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
