// The smallest editor for Python on a page: CodeMirror alone.

import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { python } from '@codemirror/lang-python'
import { syntaxHighlighting } from '@codemirror/language'
import { drawSelection, EditorView, keymap } from '@codemirror/view'
import { classHighlighter } from '@lezer/highlight'

window.editor = new EditorView({
  doc: window.text,
  extensions: [
    history(),
    drawSelection(),
    python(),
    syntaxHighlighting(classHighlighter),
    EditorView.lineWrapping,
    keymap.of([...historyKeymap, ...defaultKeymap]),
  ],
  parent: document.body,
})
window.editor.focus()
