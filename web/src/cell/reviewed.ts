// The difference between a cell's text and what it was before an agent changed it, within its editor.

import { getChunks, getOriginalDoc, originalDocChangeEffect, unifiedMergeView } from '@codemirror/merge'
import { Compartment, type Extension } from '@codemirror/state'
import type { EditorView } from '@codemirror/view'
import { judge } from '../actions'
import { between } from '../net/change'
import type { CellModel } from '../state/doc'

export class ReviewPart {
  private readonly part = new Compartment()

  constructor(private readonly cell: CellModel) {}

  /** The text before, where there is one to compare with. */
  private was(): string | null {
    const was = this.cell.review.peek()?.was
    return was?.was === 'there' ? was.source : null
  }

  private merged(original: string | null): Extension {
    if (original === null) return []
    return unifiedMergeView({
      original,
      gutter: false,
      mergeControls: (kind, action) => this.control(kind, action),
      collapseUnchanged: { margin: 4, minSize: 12 },
    })
  }

  /** The button of one place. To undo it is an edit; to keep it moves what is compared with. */
  private control(kind: 'accept' | 'reject', action: (event: MouseEvent) => void): HTMLElement {
    const button = document.createElement('button')
    button.className = `hunk ${kind}`
    button.textContent = kind === 'accept' ? 'Keep' : 'Undo'
    button.title = kind === 'accept' ? 'Keep this change' : 'Undo this change'
    button.onmousedown = (event) => {
      event.preventDefault()
      action(event)
    }
    button.onclick = (event) => {
      // From the keyboard there was no press before it.
      if (event.detail === 0) action(event)
    }
    return button
  }

  extension(): Extension {
    return this.part.of(this.merged(this.was()))
  }

  /** Shows what waits for review, for as long as the editor lives. */
  follow(view: EditorView): () => void {
    const sent = { was: this.was() }
    const stop = this.cell.review.subscribe(() => {
      const was = this.was()
      const shown = getChunks(view.state) ? getOriginalDoc(view.state).toString() : null
      if (was === shown) return
      sent.was = was
      if (was === null || shown === null) {
        view.dispatch({ effects: this.part.reconfigure(this.merged(was)) })
      } else {
        view.dispatch({ effects: originalDocChangeEffect(view.state, between(shown, was)) })
      }
    })
    // What is compared with is moved by keeping a place: the host is told.
    const watch = () => {
      if (!getChunks(view.state)) return
      const original = getOriginalDoc(view.state).toString()
      if (original === sent.was) return
      sent.was = original
      void judge('keep', { text: { cell: this.cell.id, was: original } })
    }
    view.dom.addEventListener('mousedown', () => queueMicrotask(watch))
    view.dom.addEventListener('click', () => queueMicrotask(watch))
    return stop
  }
}
