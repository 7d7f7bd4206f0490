// A proposed change, shown as a diff in place of the cell's text. The cell itself is unchanged.

import { syntaxHighlighting } from '@codemirror/language'
import { unifiedMergeView } from '@codemirror/merge'
import { type ChangeSet, EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import type { Signal } from '@preact/signals'
import { nonce } from '../cell/editor'
import { highlighters, languageOf } from '../cell/language'
import { apply } from '../net/change'
import { type CellModel, file } from '../state/doc'
import { rebased } from './rebase'

export class Proposal {
  private readonly view: EditorView
  private readonly stop: () => void

  /**
   * `base` is the text that the proposal was made for, or null when it is unknown. `fits` tells whether it
   * still applies.
   */
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

  /** The changes to the current text; `null` when the cell has changed in the same place. */
  change(): ChangeSet | null {
    return this.base === null ? null : rebased(this.base, this.proposed, this.cell.source)
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
