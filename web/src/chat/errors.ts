// What is said about an error at the press of a button.

import { press } from './talk'

/** Asks for an explanation, which may not change anything. */
export function explain(cell: string): Promise<void> {
  const words = 'Explain this error: what it means, and what in the cell brings it about.'
  return press(`explain-${cell}`, {
    words,
    mode: 'ask',
    is_attached: true,
    attached: [],
    selected: [cell],
    outputs: [cell],
  })
}
