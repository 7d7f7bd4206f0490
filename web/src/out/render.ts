// Renders an output in the first MIME type that the page supports. The order is that of
// `output/preference.rs`; a test compares the two.

import type { FoldedText, PageOutput, PageValue } from '../net/protocol'
import { opened, whenOpen } from '../state/doc'
import { cleanOrFrame } from './clean'
import { frame } from './frame'
import { tree } from './json'
import { renderMarkdown, setFormulas } from './markdown'
import { terminal } from './term'

type Renderer = (value: PageValue, all: Record<string, PageValue>) => Node

const PLOTLY = 'application/vnd.plotly.v1+json'
const renderers: [string, Renderer][] = [
  [PLOTLY, plotly],
  ['text/html', html],
  ['image/svg+xml', image],
  ['image/png', image],
  ['image/jpeg', image],
  ['image/gif', image],
  ['image/webp', image],
  ['text/markdown', (value) => later(value, (text) => wrapped('prose', renderMarkdown(text)))],
  ['text/latex', (value) => later(value, latex)],
  ['application/json', json],
  ['text/plain', (value) => later(value, (text) => pre('text', text))],
]

export function render(output: PageOutput): HTMLElement {
  if ('data' in output) return data(output.data.data)
  if ('stream' in output) {
    const { name, text, folded } = output.stream
    return withFold(pre(`stream ${name}`, text), folded)
  }
  const { name, message, traceback, folded } = output.error
  const element = pre('error', traceback || `${name}: ${message}`)
  element.setAttribute('role', 'group')
  element.setAttribute('aria-label', `Error: ${name}: ${message}`)
  return withFold(element, folded)
}

function data(all: Record<string, PageValue>): HTMLElement {
  for (const [type, renderer] of renderers) {
    const value = all[type]
    if (value) return wrapped('data', renderer(value, all))
  }
  const types = Object.keys(all)
  return wrapped('data', pre('text faint', `No viewer for ${types.join(', ') || 'an empty output'}`))
}

function wrapped(name: string, ...content: Node[]): HTMLElement {
  const element = document.createElement('div')
  element.className = name
  element.append(...content)
  return element
}

function pre(name: string, text: string): HTMLElement {
  const element = document.createElement('pre')
  element.className = name
  element.append(terminal(text))
  return element
}

function withFold(element: HTMLElement, folded: FoldedText | null): HTMLElement {
  if (!folded) return element
  const link = document.createElement('a')
  link.className = 'fold'
  link.href = folded.address
  link.target = '_blank'
  link.rel = 'noopener'
  link.textContent = `${size(folded.bytes)} omitted · Open full output`
  return wrapped('data', element, link)
}

function size(bytes: number): string {
  return bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`
}

async function text(value: PageValue): Promise<string> {
  if ('text' in value) return value.text
  if ('json' in value) return JSON.stringify(value.json)
  await opened()
  const answer = await fetch(value.stored.address)
  if (!answer.ok) throw new Error(`Could not load the output (status ${answer.status})`)
  return await answer.text()
}

/** Draws a value at once, or when it is fetched. */
function later(value: PageValue, draw: (text: string) => Node): Node {
  if ('text' in value) return draw(value.text)
  const place = wrapped('loading')
  text(value).then(
    (all) => place.replaceWith(draw(all)),
    (error: Error) => place.replaceWith(pre('text faint', error.message)),
  )
  return place
}

function image(value: PageValue, all: Record<string, PageValue>): Node {
  const element = document.createElement('img')
  element.loading = 'lazy'
  element.decoding = 'async'
  const plain = all['text/plain']
  element.alt = plain && 'text' in plain ? plain.text.slice(0, 200) : 'Image output'
  if ('stored' in value) whenOpen(() => (element.src = value.stored.address))
  return element
}

function html(value: PageValue): Node {
  return later(value, (markup) => {
    const inline = cleanOrFrame(markup)
    return inline ? wrapped('html', inline) : frame(() => Promise.resolve({ html: markup }))
  })
}

let plotlyProgram: Promise<string> | null = null

function plotly(value: PageValue, all: Record<string, PageValue>): Node {
  const place = wrapped('plotly')
  const fallback = () => {
    const rest = { ...all }
    delete rest[PLOTLY]
    place.replaceChildren(data(rest))
  }
  plotlyProgram ??= opened()
    .then(() => fetch(`/plotly.js${location.search}`))
    .then((answer) => {
      if (!answer.ok) throw new Error('the kernel has no plotly')
      return answer.text()
    })
  plotlyProgram
    .then(async (program) => {
      const figure: unknown = 'json' in value ? value.json : JSON.parse(await text(value))
      place.replaceChildren(frame(() => Promise.resolve({ plotly: { figure, program } })))
    })
    .catch(() => {
      plotlyProgram = null
      fallback()
    })
  return place
}

function json(value: PageValue): Node {
  if ('json' in value) return tree(value.json)
  return later(value, (all) => tree(JSON.parse(all)))
}

function latex(source: string): Node {
  const isDisplay = /^\s*(\$\$|\\\[|\\begin)/.test(source)
  const place = document.createElement('span')
  place.className = `formula${isDisplay ? ' display' : ''}`
  place.textContent = source
    .trim()
    .replace(/^\$\$?|\$\$?$|^\\\[|\\\]$/g, '')
    .trim()
  void setFormulas([place])
  return place
}
