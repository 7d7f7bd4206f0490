// What is said about an error at the press of a button.

import { send } from './talk'

/** Asks for an explanation, which may not change anything. */
export function explain(cell: string): Promise<boolean> {
  const words = 'Explain this error: what it means, and what in the cell brings it about.'
  return send({ words, mode: 'ask', is_attached: true, attached: [], selected: [cell], outputs: [cell] })
}
