// Change sets on plain strings. Line breaks are `\n`, as in the host.

import { ChangeSet, Text } from '@codemirror/state'
import type { Effect } from './protocol'

/** A change of one text in CodeMirror's JSON. */
export type ChangeJSON = Extract<Effect, { effect: 'changed' }>['change']

export function fromJSON(json: ChangeJSON): ChangeSet {
  return ChangeSet.fromJSON(json)
}

export function toJSON(change: ChangeSet): ChangeJSON {
  return change.toJSON() as ChangeJSON
}

export function apply(change: ChangeSet, text: string): string {
  if (change.length !== text.length) {
    throw new RangeError(`a change for ${change.length} units does not fit a text of ${text.length}`)
  }
  let out = ''
  let at = 0
  change.iterChanges((fromA, toA, _fromB, _toB, inserted) => {
    out += text.slice(at, fromA) + inserted.toString()
    at = toA
  }, true)
  return out + text.slice(at)
}

/** A minimal change from one text to another. */
export function between(before: string, after: string): ChangeSet {
  let head = 0
  const most = Math.min(before.length, after.length)
  while (head < most && before[head] === after[head]) head++
  let tail = 0
  while (tail < most - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++
  // Do not split a surrogate pair.
  if (head > 0 && isHigh(before.charCodeAt(head - 1))) head--
  if (tail > 0 && isLow(before.charCodeAt(before.length - tail))) tail--
  const insert = after.slice(head, after.length - tail)
  return ChangeSet.of(
    { from: head, to: before.length - tail, insert: Text.of(insert.split('\n')) },
    before.length,
  )
}

const isHigh = (unit: number) => unit >= 0xd800 && unit < 0xdc00
const isLow = (unit: number) => unit >= 0xdc00 && unit < 0xe000
