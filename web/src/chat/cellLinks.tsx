// References to cells: chips with the cell's index that scroll to it.

import { effect } from '@preact/signals'
import { revealCell } from '../follow'
import { cells, indexes, order } from '../state/doc'

/** The display name of a cell, by its index, which starts at 0. */
export const nameOf = (id: string) => named(indexes.value.get(id))
export const isThere = (id: string) => indexes.value.has(id)

const named = (index: number | undefined) => (index === undefined ? 'deleted cell' : `cell ${index}`)

export function CellChip({ id }: { id: string }) {
  const name = nameOf(id)
  if (!isThere(id)) return <span class="cell-chip gone">{name}</span>
  return (
    <button class="cell-chip" title={`Show ${name}`} onClick={() => revealCell(id)}>
      {name}
    </button>
  )
}

/** The cell that an argument names, by id or by index. */
export function cellOf(argument: unknown): string | null {
  if (typeof argument === 'number') return order.value[argument] ?? null
  return typeof argument === 'string' && indexes.value.has(argument) ? argument : null
}

const SPOKEN = /\b(cells?\s+)?([\w-]{1,64})\b/gi
/** Whether an id cannot be mistaken for a word. */
const isUnlikeWords = (id: string) => id.length >= 6 && /\d/.test(id) && !/^\d+$/.test(id)

/** Replaces cell ids in a text by chips. */
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
      // A bare number is an index, which may have changed since.
      if (!cells.has(id) || /^\d+$/.test(id) || (!found[1] && !isUnlikeWords(id))) continue
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
  button.onclick = () => revealCell(id)
  label(button)
  return button
}

function label(chip: HTMLElement): void {
  chip.textContent = named(indexes.peek().get(chip.dataset['chip'] ?? ''))
}

// Update the indexes in chips when cells move.
effect(() => {
  indexes.value
  for (const chip of document.querySelectorAll<HTMLElement>('[data-chip]')) label(chip)
})
