// Mentions in a message: `#` for tools that the mode allows, `@` for cells, outputs and notebooks.

import type { ChatSetup, Mode } from '../net/protocol'
import { cells, file, order } from '../state/doc'
import { attached, gives, include, isAttached, outputs, selected } from './draft'

export interface Mention {
  key: string
  label: string
  about: string
  /** The text that replaces the typed text; empty for an attachment. */
  text: string
  take?: () => void
}

/** The sign and the text between it and the cursor. */
export interface Trigger {
  sign: '#' | '@'
  query: string
  from: number
}

const BEGUN = /(?:^|[\s([{"'`,;:])([#@])([\w./-]*)$/

export function triggerAt(text: string, cursor: number): Trigger | null {
  const found = BEGUN.exec(text.slice(0, cursor))
  if (!found) return null
  const [, sign, query] = found as unknown as [string, '#' | '@', string]
  return { sign, query, from: cursor - query.length - 1 }
}

const ABOUT: Record<string, string> = {
  runNotebookCells: 'Run cells',
  addNotebookCell: 'Add a cell',
  updateNotebookCell: 'Change a cell',
  getNotebookCells: 'Read cells',
  getCellOutputs: 'Read outputs',
  searchNotebook: 'Find text in cells and outputs',
  undo: 'Undo changes',
}
const MOST = 40

/** Mentions that match. Notebook tools need the notebook attached. */
export function mentions({ sign, query }: Trigger, mode: Mode, chat: ChatSetup | null): Mention[] {
  const wanted = query.toLowerCase()
  const all = sign === '#' ? (isAttached.value ? tools(mode, chat) : []) : [...attachable(chat)]
  const found = all.filter(({ label, about, key }) =>
    `${label} ${about} ${key}`.toLowerCase().includes(wanted),
  )
  const isMeant = (mention: Mention) => means(query, mention)
  return [...found.filter(isMeant), ...found.filter((mention) => !isMeant(mention))].slice(0, MOST)
}

/** Whether the query begins a name. Enter takes such a mention; `@dataclass` may be plain text. */
export function means(query: string, { label, key, text }: Mention): boolean {
  const names = [label, key.slice(key.indexOf(':') + 1), label.slice(label.lastIndexOf('/') + 1)]
  return text !== '' || names.some((name) => name.toLowerCase().startsWith(query.toLowerCase()))
}

const bare = (name: string) => name.replace(/^#/, '')

function tools(mode: Mode, chat: ChatSetup | null): Mention[] {
  return (chat?.references ?? [])
    .filter((one) => gives(mode, one.mode))
    .map(({ name }) => {
      const label = `#${bare(name)}`
      return { key: label, label, about: ABOUT[bare(name)] ?? '', text: `${label} ` }
    })
}

function* attachable(chat: ChatSetup | null): Generator<Mention> {
  const here = file.value?.path
  for (const [at, id] of isAttached.value ? order.value.entries() : []) {
    const cell = cells.get(id)
    if (!cell) continue
    const line = cell.source.split('\n').find((one) => one.trim()) ?? 'empty'
    yield { key: `cell:${id}`, label: `cell ${at}`, about: line, text: '', take: () => include(selected, id) }
    if (cell.outputs.value.length === 0) continue
    yield {
      key: `output:${id}`,
      label: `output of cell ${at}`,
      about: line,
      text: '',
      take: () => include(outputs, id),
    }
  }
  for (const path of chat?.notebooks ?? []) {
    const isHere = here === path
    const take = () => (isHere ? void (isAttached.value = true) : include(attached, path))
    yield {
      key: `notebook:${path}`,
      label: path,
      about: isHere ? 'this notebook' : 'notebook',
      text: '',
      take,
    }
  }
}

/** Tools that the text mentions and the mode does not allow. */
export function beyond(words: string, mode: Mode, chat: ChatSetup | null): string[] {
  const named = new Set(
    [...words.matchAll(/(?:^|[\s([{"'`,;:])#(\w+)/g)].map(([, name]) => name!.toLowerCase()),
  )
  return (chat?.references ?? [])
    .filter((one) => named.has(bare(one.name).toLowerCase()) && !gives(mode, one.mode))
    .map(({ name }) => `#${bare(name)}`)
}
