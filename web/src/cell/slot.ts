// How a cell's source is drawn: plain while it is far away, highlighted when it comes near, in an editor when it is
// worked on or under review. Few cells have an editor at once.

import { type CellModel, file } from '../state/doc'
import { CellEditor } from './editor'
import { highlighted, languageOf } from './language'

/** Editors that are kept though nobody works in them. */
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

/** Calls back once, when the element first comes near. */
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

  /** Draws the text where there is no editor. */
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

  /** An editor, at once: the next key press must find it. */
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

  /** Goes back to plain drawing, unless someone works in it. */
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
