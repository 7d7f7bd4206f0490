// The small conversation about one cell. It outlives a reload of the page, with what is being written.

import { effect, signal } from '@preact/signals'
import type { ChatNews } from '../net/protocol'
import { digest } from '../net/seal'
import { ask, settled, sourceOf } from '../net/sync'
import { inline } from '../state/assist'
import { cells, connection } from '../state/doc'
import { say } from '../state/view'
import { announce, opened } from './talk'
import { Talk } from './told'

interface Kept {
  cell: string
  /** Its name, once something was said. */
  chat: string | null
  /** The digest of the text that was talked about last. The text itself stays out of the browser's store. */
  mark: string
  words: string
  /** What was said last, until it is answered. */
  said: string
}

const name = `cellist:inline:${new URLSearchParams(location.search).get('path') ?? ''}`
export const talk = new Talk(announce)
/** Whether something is on its way to the host. */
export const isSending = signal(false)
let kept = recall()
/** The text of the cell that was talked about last; null when the page does not know it any more. */
let text: string | null = null
/** Whether the next that is heard is what was told before a reload. */
let isBehind = kept !== null
export const words = signal(kept?.words ?? '')
/** What comes before the host has said how the conversation is called. */
let early: ChatNews[] = []

function recall(): Kept | null {
  try {
    const found = JSON.parse(sessionStorage.getItem(name) ?? 'null') as Kept | null
    return found && { cell: found.cell, chat: found.chat, mark: found.mark, words: found.words, said: found.said }
  } catch {
    return null
  }
}

export const base = (): string | null => text

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
  kept = { cell, chat: null, mark: '', words: '', said: '' }
  words.value = ''
  keep()
}

export function hear(news: ChatNews): void {
  if (kept?.cell !== news.inline) return
  if (kept.chat === null) early.push(news)
  else if (kept.chat === news.chat) {
    talk.take(news, isBehind)
    isBehind = false
    isHeard = true
    if (talk.isAnswering.peek() || !talk.turns.peek().at(-1)?.ended.peek()) return
    kept.said = ''
    keep()
  }
}

/** Says what is written about the cell, or something else. */
export async function send(outputs: string[], said = words.peek().trim()): Promise<void> {
  const mine = kept
  if (!mine || !said) return
  const isBusy = talk.isAnswering.peek() || isSending.peek() || mine.said === said
  // What cannot be said now is there to be said later.
  if (!words.peek()) words.value = said
  if (isBusy) return
  if (connection.peek() !== 'open') return say('The host is not there; the message is kept')
  isSending.value = true
  await settled()
  const before = text
  const source = (text = sourceOf(mine.cell))
  const message = { words: said, mode: 'ask' as const, is_attached: true, attached: [], selected: [mine.cell], outputs }
  const answer = await ask({ chat: { inline: { cell: mine.cell, message } } })
  isSending.value = false
  if (answer === null || typeof answer !== 'object' || !('inline' in answer)) {
    // What was proposed before still stands.
    if (kept === mine) text = before
    return
  }
  mine.mark = await digest(source)
  if (kept !== mine) return void ask({ chat: { inline_stop: answer.inline } })
  mine.chat = answer.inline
  mine.said = said
  if (words.peek().trim() === said) words.value = ''
  keep()
  for (const news of early) hear(news)
  early = []
}

/** Ends it; nothing of it is applied. */
export function end(): void {
  const chat = kept?.chat
  ;[kept, text] = [null, null]
  early = []
  talk.clear()
  keep()
  if (chat) void ask({ chat: { inline_stop: chat } })
}

effect(() => {
  words.value
  keep()
})
/** Whether the host was heard to know of it, since it was there last. */
let isHeard = false
/** How long a host that knows of it may be silent. */
const SILENT = 3000

effect(() => {
  // Whether an answer is still under way is told again when the host is back.
  if (connection.value !== 'open') {
    talk.isAnswering.value = false
    isHeard = false
  } else if (kept?.said) {
    void opened().then(() => setTimeout(giveBack, SILENT, kept))
  }
})

/** A host that was killed knows nothing of what it was to answer: that is there to be said again. */
function giveBack(mine: Kept | null): void {
  if (!mine?.said || mine !== kept || isHeard || connection.peek() !== 'open') return
  words.value = [mine.said, words.peek()].filter(Boolean).join(' ')
  ;[mine.chat, mine.said, isBehind] = [null, '', false]
  talk.clear()
  keep()
  say('The host was ended before it answered; what you said is where you wrote it')
}

/** Takes up what a reload has interrupted. A cell that says the same as then has the text that was talked about. */
export async function takeUp(): Promise<void> {
  const mine = kept
  if (!mine || !cells.has(mine.cell)) return end()
  const source = sourceOf(mine.cell)
  const isSame = (await digest(source)) === mine.mark
  if (kept !== mine) return
  if (isSame) text ??= source
  inline.value ??= { cell: mine.cell, words: '', outputs: [], number: 0 }
}
