// Changes by other clients: a tint, an announcement and, in follow mode, scrolling to the cell.

import { elementOf } from './cell/focus'
import type { Actor } from './net/protocol'
import { cells, order } from './state/doc'
import { announcement, follows } from './state/view'

/** Pause of follow mode after the user scrolls or types, in milliseconds. */
const PAUSE = 10_000
const TINT = 700
let lastMoved = -PAUSE

export function listen(): void {
  for (const kind of ['wheel', 'touchmove', 'keydown', 'mousedown'] as const) {
    addEventListener(kind, () => (lastMoved = performance.now()), { passive: true, capture: true })
  }
}

export function showRemoteChange(actor: Actor, ids: string[]): void {
  const known = [...new Set(ids)].filter((id) => cells.has(id))
  for (const id of known) {
    const touched = cells.get(id)!.touched
    touched.value = actor
    setTimeout(() => {
      if (touched.peek() === actor) touched.value = null
    }, TINT)
  }
  const first = known[0]
  if (actor.kind !== 'agent' || first === undefined) return
  announcement.value = `${actor.name} changed cell ${order.peek().indexOf(first)}`
  if (follows.peek() && performance.now() - lastMoved > PAUSE) requestAnimationFrame(() => goTo(first))
}

/** Scrolls to a cell and tints it. */
export function revealCell(id: string): void {
  const cell = cells.get(id)
  if (!cell) return
  goTo(id)
  const actor: Actor = { id: 'page', name: '', kind: 'agent' }
  cell.touched.value = actor
  setTimeout(() => {
    if (cell.touched.peek() === actor) cell.touched.value = null
  }, TINT)
}

/** Scrolls to a cell unless half of it is visible. */
function goTo(id: string): void {
  const [element, main] = [elementOf(id), document.querySelector('main')]
  if (!element || !main) return
  const [box, frame] = [element.getBoundingClientRect(), main.getBoundingClientRect()]
  const seen = Math.min(box.bottom, frame.bottom) - Math.max(box.top, frame.top)
  if (seen < Math.min(box.height, frame.height) / 2)
    main.scrollBy({ top: box.top - frame.top - frame.height / 4 })
}
