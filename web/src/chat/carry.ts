// Proposals carried over to what a cell says meanwhile.

import { presentableDiff } from '@codemirror/merge'
import { ChangeSet, Text } from '@codemirror/state'

/** What a proposal for one text comes to for the text that the cell has now: what was typed since stays. */
export function carried(base: string, proposed: string, now: string): ChangeSet {
  return differences(base, proposed).map(differences(base, now))
}

function differences(before: string, after: string): ChangeSet {
  const changes = presentableDiff(before, after).map(({ fromA, toA, fromB, toB }) => ({
    from: fromA, to: toA, insert: Text.of(after.slice(fromB, toB).split('\n')),
  }))
  return ChangeSet.of(changes, before.length)
}
