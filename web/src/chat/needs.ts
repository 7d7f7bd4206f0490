// The mode that an answer would have needed.

import type { Mode } from '../net/protocol'
import { gives } from './draft'
import type { Turn } from './told'

/** A model that says so, and not that it does without. */
const SAYS_SO = /(?<!(?:n['’]t|\bnot|\bno|\bwithout)\s+(?:\w+\s+){0,3})\bagent mode\b/i

/** The highest mode that a call was refused for or, where nothing was called, that the words name. */
export function needed({ asked, parts }: Turn): Mode | null {
  const calls = parts.value.filter((part) => part.kind === 'call')
  let most: Mode | null = null
  for (const { result } of calls) {
    const mode = result.value?.needs_mode ?? null
    if (mode !== null && (most === null || gives(mode, most))) most = mode
  }
  const isSaid =
    calls.length === 0 && parts.value.some((part) => part.kind === 'words' && SAYS_SO.test(part.text.value))
  if (isSaid) most = 'agent'
  return most === null || gives(asked.mode, most) ? null : most
}
