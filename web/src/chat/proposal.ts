// A change that is proposed for a cell, shown where its text stands. The cell itself is as it was.

import { syntaxHighlighting } from '@codemirror/language'
import { unifiedMergeView } from '@codemirror/merge'
import { type ChangeSet, EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import type { Signal } from '@preact/signals'
import { nonce } from '../cell/editor'
import { highlighters, languageOf } from '../cell/language'
import { apply } from '../net/change'
import { type CellModel, file } from '../state/doc'
import { carried } from './carry'

export class Proposal {
  private readonly view: EditorView
  private readonly stop: () => void

  /** `base` is the text that it was made for, null when it is not known any more; `fits` says whether it can still be done. */
  constructor(
    private readonly cell: CellModel,
    private readonly base: string | null,
    private readonly proposed: string,
    host: HTMLElement,
    private readonly fits: Signal<boolean>,
  ) {
    this.view = new EditorView({ state: this.state(), parent: host })
    this.stop = cell.textVersion.subscribe(() => this.view.setState(this.state()))
  }

  /** What would be done to the cell now; `null` when the cell has changed where the proposal changes it. */
  change(): ChangeSet | null {
    return this.base === null ? null : carried(this.base, this.proposed, this.cell.source)
  }

  private state(): EditorState {
    const change = this.change()
    this.fits.value = change !== null
    const language = languageOf(this.cell.kind.peek(), file.peek()?.language ?? '')
    return EditorState.create({
      doc: change ? apply(change, this.cell.source) : this.proposed,
      extensions: [
        EditorView.cspNonce.of(nonce),
        EditorState.lineSeparator.of('\n'),
        EditorState.readOnly.of(true),
        EditorView.editable.of(false),
        EditorView.lineWrapping,
        highlighters.map((one) => syntaxHighlighting(one)),
        language ? [language.extension] : [],
        EditorView.contentAttributes.of({ 'aria-label': 'Proposed source' }),
        unifiedMergeView({
          original: this.cell.source,
          gutter: false,
          mergeControls: false,
          collapseUnchanged: { margin: 4, minSize: 12 },
        }),
      ],
    })
  }

  destroy(): void {
    this.stop()
    this.view.destroy()
  }
}
