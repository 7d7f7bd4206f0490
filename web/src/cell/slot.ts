// The source of a cell: plain text off screen, highlighted near the viewport, an editor while it is edited or
// reviewed. The number of editors is limited.

import { type CellModel, file } from '../state/doc'
import { CellEditor } from './editor'
import { highlighted, languageOf } from './language'

/** The most editors that are kept. */
const MOST = 30
const recent: Slot[] = []

const observer = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) nearby.get(entry.target)?.()
    }
  },
  { rootMargin: '600px 0px' },
)
const nearby = new Map<Element, () => void>()

/** Calls back once, when the element first comes near the viewport. */
export function whenNear(element: Element, then: () => void): () => void {
  const stop = () => {
    nearby.delete(element)
    observer.unobserve(element)
  }
  nearby.set(element, () => {
    stop()
    then()
  })
  observer.observe(element)
  return stop
}

export class Slot {
  private editor: CellEditor | null = null
  private pre: HTMLPreElement
  isNear = false

  constructor(
    private readonly cell: CellModel,
    private readonly host: HTMLElement,
  ) {
    this.pre = document.createElement('pre')
    this.pre.className = 'still'
    host.append(this.pre)
    this.draw()
  }

  /** Draws the text when there is no editor. */
  draw(): void {
    if (this.editor) return
    if (this.isNear) {
      const language = languageOf(this.cell.kind.peek(), file.peek()?.language ?? '')
      this.pre.replaceChildren(highlighted(this.cell.source, language))
    } else {
      this.pre.textContent = this.cell.source
    }
    this.pre.append('\n')
  }

  comeNear(): void {
    this.isNear = true
    this.draw()
  }

  /** Returns an editor synchronously: the next key press needs it. */
  edit(): CellEditor {
    const at = recent.indexOf(this)
    if (at >= 0) recent.splice(at, 1)
    recent.push(this)
    if (!this.editor) {
      this.pre.remove()
      this.editor = new CellEditor(this.cell, this.host)
      for (const old of recent.slice(0, Math.max(0, recent.length - MOST))) old.rest()
    }
    return this.editor
  }

  hasEditor(): boolean {
    return this.editor !== null
  }

  /** Replaces an unused editor by plain text. */
  rest(): void {
    if (!this.editor || this.editor.view.hasFocus || this.cell.review.peek()) return
    recent.splice(recent.indexOf(this), 1)
    this.editor.destroy()
    this.editor = null
    this.host.append(this.pre)
    this.draw()
  }

  destroy(): void {
    const at = recent.indexOf(this)
    if (at >= 0) recent.splice(at, 1)
    this.editor?.destroy()
    this.editor = null
  }
}
