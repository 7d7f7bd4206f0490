// The diff inside an editor, between the cell and its text before the agent's change.

import { getChunks, getOriginalDoc, originalDocChangeEffect, unifiedMergeView } from '@codemirror/merge'
import { Compartment, type Extension } from '@codemirror/state'
import type { EditorView } from '@codemirror/view'
import { judge } from '../actions'
import { between } from '../net/change'
import type { CellModel } from '../state/doc'

export class ReviewDiff {
  private readonly part = new Compartment()

  constructor(private readonly cell: CellModel) {}

  /** The text before the change; `null` when there is nothing to compare. */
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

  /** The button of one hunk. Undo edits the cell; Keep changes the text that it is compared with. */
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
      // A click by keyboard has no mousedown before it.
      if (event.detail === 0) action(event)
    }
    return button
  }

  extension(): Extension {
    return this.part.of(this.merged(this.was()))
  }

  /** Shows the diff of the review while the editor exists. */
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
    // Keeping a hunk changes the compared text. Report it to the host.
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
