// Explain, the button below an error.

import { sendOnce } from './conversation'

/** Asks for an explanation in Ask mode, which changes nothing. */
export function explain(cell: string): Promise<void> {
  const words = 'Explain this error: its meaning, and its cause in this cell.'
  return sendOnce(`explain-${cell}`, {
    words,
    mode: 'ask',
    is_attached: true,
    attached: [],
    selected: [cell],
    outputs: [cell],
  })
}
