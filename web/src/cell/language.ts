// Languages of cells: Python, and Markdown without embedded languages.

import { pythonLanguage } from '@codemirror/lang-python'
import { defineLanguageFacet, Language, languageDataProp } from '@codemirror/language'
import { classHighlighter, highlightCode, tagHighlighter, tags } from '@lezer/highlight'
import { parser as markdownParser } from '@lezer/markdown'
import type { CellType } from '../net/protocol'

const data = defineLanguageFacet({ commentTokens: { block: { open: '<!--', close: '-->' } } })
const markdownLanguage = new Language(
  data,
  markdownParser.configure({ props: [languageDataProp.add({ Document: data })] }),
  [],
  'markdown',
)

/** Function names, which the default highlighter does not mark. */
const functions = tagHighlighter([
  { tag: tags.function(tags.variableName), class: 'tok-function' },
  { tag: tags.function(tags.propertyName), class: 'tok-function' },
  { tag: tags.function(tags.definition(tags.variableName)), class: 'tok-function' },
])
export const highlighters = [classHighlighter, functions]

export function languageOf(kind: CellType, language: string): Language | null {
  if (kind === 'markdown') return markdownLanguage
  return kind === 'code' && /^(i?python3?|py)$/i.test(language) ? pythonLanguage : null
}

/** Highlights text as the editor does, without an editor. */
export function highlighted(text: string, language: Language | null): DocumentFragment {
  const out = document.createDocumentFragment()
  if (!language) {
    out.append(text)
    return out
  }
  const put = (code: string, classes: string) => {
    if (!classes) return out.append(code)
    const span = document.createElement('span')
    span.className = classes
    span.textContent = code
    out.append(span)
  }
  highlightCode(text, language.parser.parse(text), highlighters, put, () => out.append('\n'))
  return out
}
