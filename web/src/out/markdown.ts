// Markdown with formulas. KaTeX is loaded with the first formula.

import { Marked, type TokenizerAndRendererExtension } from 'marked'
import { highlighted, languageOf } from '../cell/language'
import { opened } from '../state/doc'
import { clean } from './clean'

/** Formulas become spans of plain text, which survive sanitizing. */
const formulas: TokenizerAndRendererExtension[] = [
  formula('display', 'block', /^ {0,3}\$\$([\s\S]+?)\$\$[ \t]*(?:\n|$)/),
  formula('environment', 'block', /^ {0,3}(\\begin\{([a-z]+\*?)\}[\s\S]+?\\end\{\2\})[ \t]*(?:\n|$)/),
  formula('displayInline', 'inline', /^\$\$([^$]+?)\$\$/),
  formula('inline', 'inline', /^\$((?:\\.|[^\\$\n])+?)\$(?!\d)/),
]

function formula(name: string, level: 'block' | 'inline', rule: RegExp): TokenizerAndRendererExtension {
  const display = name !== 'inline'
  return {
    name,
    level,
    start: (source) => {
      const at = source.search(level === 'inline' ? /\$/ : /(?:^|\n) {0,3}(?:\$\$|\\begin\{)/)
      return at < 0 ? undefined : at
    },
    tokenizer: (source) => {
      const found = rule.exec(source)
      return found ? { type: name, raw: found[0], text: found[1]!.trim() } : undefined
    },
    renderer: (token) =>
      `<span class="formula${display ? ' display' : ''}">${escaped(String(token['text']))}</span>${level === 'block' ? '\n' : ''}`,
  }
}

const escaped = (text: string) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)

const marked = new Marked({ gfm: true, extensions: formulas, async: false })

/** The blocks of a text, unrendered. */
export function blocks(source: string): string[] {
  return marked.lexer(source).map(({ raw }) => raw)
}

export function renderMarkdown(source: string): DocumentFragment {
  const fragment = clean(marked.parse(source) as string)
  const places = fragment.querySelectorAll<HTMLElement>('.formula')
  if (places.length > 0) void setFormulas([...places])
  for (const code of fragment.querySelectorAll('pre > code[class^=language-]')) {
    const language = languageOf('code', code.className.replace('language-', ''))
    if (language) code.replaceChildren(highlighted(code.textContent ?? '', language))
  }
  return fragment
}

export async function setFormulas(places: HTMLElement[]): Promise<void> {
  await opened()
  const { default: katex } = await import('katex')
  for (const place of places) {
    const text = place.textContent ?? ''
    try {
      katex.render(text, place, {
        displayMode: place.classList.contains('display'),
        output: 'mathml',
        throwOnError: true,
        trust: false,
        maxExpand: 1000,
      })
    } catch {
      place.classList.add('wrong')
      place.textContent = text
    }
  }
}
