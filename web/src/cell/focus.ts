// Keyboard focus. It moves synchronously with the key press, so that no keystroke is lost.

import { effect } from '@preact/signals'
import { active, isEditing } from '../state/view'

interface Handle {
  element: HTMLElement
  edit: () => void
}

const handles = new Map<string, Handle>()
/** The cell that gets the focus as soon as it is drawn. */
let wanted: string | null = null

export function register(id: string, handle: Handle): () => void {
  handles.set(id, handle)
  if (wanted === id) place(id, isEditing.peek())
  return () => {
    if (handles.get(id) === handle) handles.delete(id)
  }
}

function place(id: string, edits: boolean): void {
  const handle = handles.get(id)
  wanted = handle ? null : id
  if (!handle) return
  if (edits) {
    handle.edit()
  } else {
    handle.element.focus({ preventScroll: true })
    reveal(handle.element)
  }
}

/** Scrolls no further than needed. */
export function reveal(element: HTMLElement): void {
  const main = document.querySelector('main')
  if (!main) return
  const [box, frame] = [element.getBoundingClientRect(), main.getBoundingClientRect()]
  if (box.top < frame.top + 8) main.scrollBy({ top: box.top - frame.top - 24 })
  else if (box.bottom > frame.bottom - 8) {
    main.scrollBy({ top: Math.min(box.bottom - frame.bottom + 24, box.top - frame.top - 24) })
  }
}

export function elementOf(id: string): HTMLElement | null {
  return handles.get(id)?.element ?? null
}

/** Returns the focus to the active cell. */
export function refocus(): void {
  const id = active.peek()
  if (id) place(id, isEditing.peek())
}

/** Starts to follow the active cell. The first cell becomes active without taking the focus. */
export function start(): void {
  let isFirst = true
  effect(() => {
    const [id, edits] = [active.value, isEditing.value]
    if (isFirst) {
      isFirst = false
      return
    }
    if (id) place(id, edits)
  })
}
