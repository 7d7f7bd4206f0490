// The editor of one cell: CodeMirror with the key bindings of Jupyter.

import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  type CompletionContext,
  completionKeymap,
  type CompletionResult,
  completionStatus,
  startCompletion,
} from '@codemirror/autocomplete'
import {
  defaultKeymap,
  history,
  historyKeymap,
  indentLess,
  indentMore,
  toggleComment,
} from '@codemirror/commands'
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from '@codemirror/language'
import { highlightSelectionMatches } from '@codemirror/search'
import {
  Annotation,
  type ChangeSet,
  Compartment,
  EditorState,
  Prec,
  StateEffect,
  StateField,
  Transaction,
} from '@codemirror/state'
import {
  drawSelection,
  EditorView,
  highlightSpecialChars,
  hoverTooltip,
  keymap,
  lineNumbers,
  showTooltip,
  type Tooltip,
} from '@codemirror/view'
import * as actions from '../actions'
import { ask, notebook, typed } from '../net/sync'
import { type CellModel, file } from '../state/doc'
import { hasNumbers, isEditing } from '../state/view'
import { highlighters, languageOf } from './language'
import { ReviewDiff } from './reviewDiff'

const fromOthers = Annotation.define<boolean>()
/** The nonce that the content security policy requires for styles of editors. */
export const nonce = document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content ?? ''

/** Kernels count code points, editors count UTF-16 units. */
const toCharacters = (text: string, unit: number) => [...text.slice(0, unit)].length
const toUnits = (text: string, character: number) => [...text].slice(0, character).join('').length

async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  if (!context.explicit) return null
  const code = context.state.doc.toString()
  const found = await ask(
    notebook({ complete: { code, cursor: toCharacters(code, context.pos) } }),
    'completion',
  )
  if (!found || found.matches.length === 0) return null
  const { matches, start, end } = found
  const [from, to] = [toUnits(code, start), toUnits(code, end)]
  // Order the matches as the kernel sent them.
  const options = matches.slice(0, 200).map((label, index) => ({ label, boost: -index / 1000 }))
  return { from, to, options, validFor: /^[\w.]*$/ }
}

function documentation(code: string, at: number): Promise<string | null> {
  return ask(notebook({ inspect: { code, cursor: toCharacters(code, at) } }), 'inspection')
}

function docTooltip(pos: number, text: string): Tooltip {
  return {
    pos,
    above: true,
    create: () => {
      const dom = document.createElement('pre')
      dom.className = 'documentation'
      dom.textContent = text
      return { dom }
    },
  }
}

const setDocs = StateEffect.define<Tooltip | null>()
const docs = StateField.define<Tooltip | null>({
  create: () => null,
  update: (value, transaction) => {
    for (const effect of transaction.effects) if (effect.is(setDocs)) return effect.value
    return transaction.docChanged || transaction.selection ? null : value
  },
  provide: (field) => showTooltip.from(field),
})

function showDocs(view: EditorView): boolean {
  const at = view.state.selection.main.head
  void documentation(view.state.doc.toString(), at).then((text) => {
    if (text && view.state.selection.main.head === at)
      view.dispatch({ effects: setDocs.of(docTooltip(at, text)) })
  })
  return true
}

const hover = hoverTooltip(
  async (view, pos) => {
    const word = view.state.wordAt(pos)
    if (!word) return null
    const text = await documentation(view.state.doc.toString(), word.to)
    return text ? docTooltip(word.from, text) : null
  },
  { hoverTime: 600 },
)

function tab(view: EditorView): boolean {
  if (completionStatus(view.state) === 'active') return acceptCompletion(view)
  const { main } = view.state.selection
  const line = view.state.doc.lineAt(main.head)
  const isText = /\S/.test(line.text.slice(0, main.head - line.from))
  return main.empty && isText ? startCompletion(view) : indentMore(view)
}

function leave(): boolean {
  isEditing.value = false
  return true
}

/** Moves to the neighbouring cell from the first or the last line. */
function moveFromEdge(by: -1 | 1): (view: EditorView) => boolean {
  return (view) => {
    const { main } = view.state.selection
    const edge = by < 0 ? view.state.doc.line(1) : view.state.doc.line(view.state.doc.lines)
    if (
      !main.empty ||
      main.head < edge.from ||
      main.head > edge.to ||
      completionStatus(view.state) === 'active'
    )
      return false
    actions.move(by)
    isEditing.value = true
    return true
  }
}

const keys = Prec.highest(
  keymap.of([
    ...completionKeymap,
    {
      key: 'Escape',
      run: (view) =>
        view.state.field(docs, false) ? (view.dispatch({ effects: setDocs.of(null) }), true) : leave(),
    },
    {
      key: 'Tab',
      run: tab,
      shift: (view) =>
        view.state.selection.main.empty && view.state.doc.length > 0 ? showDocs(view) : indentLess(view),
    },
    { key: 'ArrowUp', run: moveFromEdge(-1) },
    { key: 'ArrowDown', run: moveFromEdge(1) },
    { key: 'Mod-/', run: toggleComment },
    {
      key: 'Mod-Shift--',
      run: (view) => {
        actions.split(view.state.selection.main.head)
        return true
      },
    },
  ]),
)

export class CellEditor {
  readonly view: EditorView
  private readonly numbers = new Compartment()
  private readonly language = new Compartment()
  private readonly stops: (() => void)[] = []
  private readonly review: ReviewDiff

  constructor(
    private readonly cell: CellModel,
    parent: HTMLElement,
  ) {
    this.review = new ReviewDiff(cell)
    const state = EditorState.create({
      doc: cell.source,
      extensions: [
        EditorView.cspNonce.of(nonce),
        EditorState.lineSeparator.of('\n'),
        EditorState.tabSize.of(4),
        indentUnit.of('    '),
        highlightSpecialChars(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        highlightSelectionMatches({ minSelectionLength: 3 }),
        highlighters.map((one) => syntaxHighlighting(one)),
        autocompletion({ override: [complete], activateOnTyping: false, interactionDelay: 0 }),
        docs,
        hover,
        keys,
        keymap.of([...closeBracketsKeymap, ...historyKeymap, ...defaultKeymap]),
        EditorView.lineWrapping,
        this.numbers.of(hasNumbers.peek() ? lineNumbers() : []),
        this.language.of(this.languages()),
        this.review.extension(),
        EditorView.contentAttributes.of({
          'aria-label': 'Source',
          autocapitalize: 'off',
          spellcheck: 'false',
        }),
        EditorView.updateListener.of((update) => {
          for (const transaction of update.transactions) {
            if (!transaction.docChanged || transaction.annotation(fromOthers)) continue
            typed(cell.id, transaction.changes, transaction.newDoc.toString())
          }
        }),
      ],
    })
    this.view = new EditorView({ state, parent })
    cell.editor = { take: (change) => this.take(change), reset: (text) => this.reset(text) }
    this.stops.push(
      hasNumbers.subscribe((on) =>
        this.view.dispatch({ effects: this.numbers.reconfigure(on ? lineNumbers() : []) }),
      ),
      cell.kind.subscribe(() => this.view.dispatch({ effects: this.language.reconfigure(this.languages()) })),
      this.review.follow(this.view),
    )
  }

  private languages() {
    const language = languageOf(this.cell.kind.peek(), file.peek()?.language ?? '')
    return language ? [language.extension] : []
  }

  /** Applies a change by another client. */
  private take(changes: ChangeSet): void {
    if (changes.length !== this.view.state.doc.length) return this.reset(this.cell.source)
    this.view.dispatch({
      changes,
      annotations: [fromOthers.of(true), Transaction.addToHistory.of(false), Transaction.remote.of(true)],
    })
  }

  private reset(text: string): void {
    if (this.view.state.doc.toString() === text) return
    const changes = { from: 0, to: this.view.state.doc.length, insert: text }
    this.view.dispatch({ changes, annotations: [fromOthers.of(true), Transaction.addToHistory.of(false)] })
  }

  /** Places the cursor at a click. */
  pointAt(x: number, y: number): void {
    const at = this.view.posAtCoords({ x, y })
    if (at !== null) this.view.dispatch({ selection: { anchor: at } })
  }

  focus(): void {
    this.view.focus()
  }

  destroy(): void {
    this.cell.editor = null
    for (const stop of this.stops) stop()
    this.view.destroy()
  }
}
