// Cells as they are spoken of: a chip that says where the cell stands, and leads there.

import { effect } from '@preact/signals'
import { point } from '../follow'
import { cells, order, places } from '../state/doc'

export const numberOf = (id: string) => (places.value.get(id) ?? -1) + 1

export function CellChip({ id }: { id: string }) {
  const number = numberOf(id)
  if (number === 0) return <span class="cell-chip gone">deleted cell</span>
  return <button class="cell-chip" title={`Show cell ${number}`} onClick={() => point(id)}>cell {number}</button>
}

/** The cell that an argument of a call means: by id, or by its place. */
export function cellOf(argument: unknown): string | null {
  if (typeof argument === 'number') return order.value[argument] ?? null
  return typeof argument === 'string' && places.value.has(argument) ? argument : null
}

const SPOKEN = /(\bcells?\s+)([\w-]{1,64})\b/gi

/** Makes chips of the cells that a text names by their id. */
export function linkCells(fragment: DocumentFragment): void {
  for (const code of fragment.querySelectorAll('code')) {
    const id = code.textContent ?? ''
    if (cells.has(id) && !code.closest('pre, a')) code.replaceWith(chip(id))
  }
  const walker = document.createTreeWalker(fragment, NodeFilter.SHOW_TEXT)
  const texts: Text[] = []
  while (walker.nextNode()) texts.push(walker.currentNode as Text)
  for (const text of texts) {
    if (text.parentElement?.closest('pre, code, a, button')) continue
    for (const found of [...text.data.matchAll(SPOKEN)].reverse()) {
      const id = found[2]!
      // A bare number is a place in a list that may have changed since.
      if (!cells.has(id) || /^\d+$/.test(id)) continue
      const spoken = text.splitText(found.index)
      spoken.splitText(found[0].length)
      spoken.replaceWith(chip(id))
    }
  }
}

function chip(id: string): HTMLElement {
  const button = document.createElement('button')
  button.className = 'cell-chip'
  button.dataset['chip'] = id
  button.onclick = () => point(id)
  label(button)
  return button
}

function label(chip: HTMLElement): void {
  const number = (places.peek().get(chip.dataset['chip'] ?? '') ?? -1) + 1
  chip.textContent = number > 0 ? `cell ${number}` : 'deleted cell'
}

// Chips within answers say where their cells stand now.
effect(() => {
  places.value
  for (const chip of document.querySelectorAll<HTMLElement>('[data-chip]')) label(chip)
})
