// The mode that a request needed.

import type { Mode } from '../net/protocol'
import { gives } from './draft'
import type { TurnModel } from './transcript'

/** The model names Agent mode, and does not say that it is not needed. */
const SAYS_SO = /(?<!(?:n['’]t|\bnot|\bno|\bwithout)\s+(?:\w+\s+){0,3})\bagent mode\b/i

/** The highest mode that a call was refused for or, without calls, that the answer names. */
export function neededMode({ asked, parts }: TurnModel): Mode | null {
  const calls = parts.value.filter((part) => part.kind === 'call')
  let most: Mode | null = null
  for (const { result } of calls) {
    const mode = result.value?.needs_mode ?? null
    if (mode !== null && (most === null || gives(mode, most))) most = mode
  }
  const isSaid =
    calls.length === 0 && parts.value.some((part) => part.kind === 'text' && SAYS_SO.test(part.text.value))
  if (isSaid) most = 'agent'
  return most === null || gives(asked.mode, most) ? null : most
}
