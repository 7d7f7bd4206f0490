// The small conversation about one cell. It outlives a reload of the page, with what is being written.

import { effect, signal } from '@preact/signals'
import type { ChatNews } from '../net/protocol'
import { ask, settled, sourceOf } from '../net/sync'
import { inline } from '../state/assist'
import { cells, connection } from '../state/doc'
import { announce } from './talk'
import { Talk } from './told'

interface Kept {
  cell: string
  /** Its name, once something was said. */
  chat: string | null
  /** The text of the cell that was talked about last. */
  base: string
  words: string
}

const name = `cellist:inline:${new URLSearchParams(location.search).get('path') ?? ''}`
export const talk = new Talk(announce)
/** Whether something is on its way to the host. */
export const isSending = signal(false)
let kept = recall()
/** Whether the next that is heard is what was told before a reload. */
let isBehind = kept !== null
export const words = signal(kept?.words ?? '')
/** What comes before the host has said how the conversation is called. */
let early: ChatNews[] = []

function recall(): Kept | null {
  try {
    return JSON.parse(sessionStorage.getItem(name) ?? 'null') as Kept | null
  } catch {
    return null
  }
}

export const base = () => kept?.base ?? ''

function keep(): void {
  try {
    if (kept) sessionStorage.setItem(name, JSON.stringify({ ...kept, words: words.peek() }))
    else sessionStorage.removeItem(name)
  } catch {
    // A full store keeps nothing more; the page itself still has it.
  }
}

/** Begins anew at a cell. */
export function begin(cell: string): void {
  if (kept?.cell === cell) return
  end()
  kept = { cell, chat: null, base: '', words: '' }
  words.value = ''
  keep()
}

export function hear(news: ChatNews): void {
  if (kept?.cell !== news.inline) return
  if (kept.chat === null) early.push(news)
  else if (kept.chat === news.chat) {
    talk.take(news, isBehind)
    isBehind = false
  }
}

/** Says what is written about the cell. */
export async function send(outputs: string[]): Promise<void> {
  const mine = kept
  const said = words.peek().trim()
  if (!mine || !said || talk.isAnswering.peek() || isSending.peek()) return
  isSending.value = true
  await settled()
  mine.base = sourceOf(mine.cell)
  talk.proposal.value = null
  const message = { words: said, mode: 'ask' as const, is_attached: true, attached: [], selected: [mine.cell], outputs }
  const answer = await ask({ chat: { inline: { cell: mine.cell, message } } })
  isSending.value = false
  if (answer === null || typeof answer !== 'object' || !('inline' in answer)) return
  if (kept !== mine) return void ask({ chat: { inline_stop: answer.inline } })
  mine.chat = answer.inline
  words.value = ''
  keep()
  for (const news of early) hear(news)
  early = []
}

/** Ends it; nothing of it is applied. */
export function end(): void {
  const chat = kept?.chat
  kept = null
  early = []
  talk.clear()
  keep()
  if (chat) void ask({ chat: { inline_stop: chat } })
}

effect(() => {
  words.value
  keep()
})
effect(() => {
  // Whether an answer is still under way is told again when the host is back.
  if (connection.value !== 'open') talk.isAnswering.value = false
})

/** Takes up what a reload has interrupted. */
export function takeUp(): void {
  if (kept && cells.has(kept.cell)) inline.value ??= { cell: kept.cell, words: '', outputs: [], number: 0 }
  else end()
}
