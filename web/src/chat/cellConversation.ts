// The inline conversation about one cell. It survives a reload, including the unsent text.

import { effect, signal } from '@preact/signals'
import { digest } from '../net/seal'
import { ask, settled, sourceOf, tell } from '../net/sync'
import { inline } from '../state/assistant'
import { cells, connection } from '../state/doc'
import { notify } from '../state/view'
import { announce } from './conversation'
import { messageId } from './draft'
import { followTranscript } from './followTranscript'
import { Transcript } from './transcript'

interface StoredChat {
  cell: string
  /** The conversation, once a message was sent. */
  chat: string | null
  /** The digest of the text that the last message was about. The text itself is not stored in the browser. */
  mark: string
  words: string
  /** The last message, until it is answered. */
  said: string
}

const notebook = new URLSearchParams(location.search).get('path') ?? ''
const name = `cellist:inline:${notebook}`
export const transcript = new Transcript(announce)
/** Whether a message is being sent. */
export const isSending = signal(false)
let stored = readStored()
/** The cell's text at the last message; null when the page does not know it. */
let text: string | null = null
export const words = signal(stored?.words ?? '')
/** Counts subscriptions; events of an earlier one are dropped. */
let subscriptions = 0

function readStored(): StoredChat | null {
  try {
    const found = JSON.parse(sessionStorage.getItem(name) ?? 'null') as StoredChat | null
    return (
      found && { cell: found.cell, chat: found.chat, mark: found.mark, words: found.words, said: found.said }
    )
  } catch {
    return null
  }
}

export const base = (): string | null => text

function store(): void {
  try {
    if (stored) sessionStorage.setItem(name, JSON.stringify({ ...stored, words: words.peek() }))
    else sessionStorage.removeItem(name)
  } catch {
    // The store is full; the page keeps the text in memory.
  }
}

/** Starts a conversation about a cell. */
export function start(cell: string): void {
  if (stored?.cell === cell) return
  end()
  stored = { cell, chat: null, mark: '', words: '', said: '' }
  words.value = ''
  store()
}

/** Follows the conversation. Entries up to `old`, or in the first batch, are not new. */
async function follow(mine: StoredChat, chat: string, old: number | null): Promise<void> {
  const time = ++subscriptions
  const isWanted = () => stored === mine && time === subscriptions
  await followTranscript(transcript, chat, old, isWanted, () => {
    if (transcript.isAnswering.peek() || !transcript.turns.peek().at(-1)?.ended.peek()) return
    mine.said = ''
    store()
  })
  if (!isWanted()) return
  mine.chat = null
  returnLost(mine)
  store()
}

/** Sends the typed text, or the given text. */
export async function send(outputs: string[], said = words.peek().trim()): Promise<void> {
  const mine = stored
  if (!mine || !said) return
  // Keep text that cannot be sent now in the field.
  if (!words.peek()) words.value = said
  if (transcript.isAnswering.peek() || isSending.peek() || mine.said) return
  if (connection.peek() !== 'open') return notify('Not connected; the message is kept')
  isSending.value = true
  await settled()
  const before = text
  const source = (text = sourceOf(mine.cell))
  const message = {
    id: messageId(),
    words: said,
    mode: 'ask' as const,
    is_attached: true,
    attached: [],
    selected: [mine.cell],
    outputs,
  }
  const opened = await ask({ chat: { open: { notebook, cell: mine.cell, is_new: false } } }, 'open')
  const isTaken = opened && (await ask({ chat: { say: { chat: opened.chat, message } } }, 'done'))
  isSending.value = false
  if (!isTaken) {
    // The earlier proposal is still valid.
    if (stored === mine) text = before
    return
  }
  mine.mark = await digest(source)
  if (stored !== mine) return void tell({ chat: { end: { chat: opened.chat } } })
  const isFollowed = mine.chat === opened.chat
  mine.chat = opened.chat
  mine.said = said
  if (words.peek().trim() === said) words.value = ''
  store()
  if (!isFollowed) void follow(mine, opened.chat, opened.told)
}

/** Ends the conversation and discards its proposal. */
export function end(): void {
  const chat = stored?.chat
  ;[stored, text] = [null, null]
  transcript.clear()
  store()
  if (chat) void tell({ chat: { end: { chat } } })
}

effect(() => {
  words.value
  store()
})
effect(() => {
  // The host reports again after a reconnect whether it is answering.
  if (connection.value !== 'open') {
    transcript.answering.value = null
    subscriptions += 1
  } else if (stored?.chat) {
    void follow(stored, stored.chat, null)
  }
})

/** A killed host does not know the message. Put it back into the field. */
function returnLost(mine: StoredChat): void {
  if (!mine.said) return
  words.value = [mine.said, words.peek()].filter(Boolean).join(' ')
  mine.said = ''
  transcript.clear()
  notify('The host stopped before it answered; your message is back in the field')
}

/** Resumes after a reload. If the cell's text is unchanged, it is the text that the proposal was made for. */
export async function resume(): Promise<void> {
  const mine = stored
  if (!mine || !cells.has(mine.cell)) return end()
  const source = sourceOf(mine.cell)
  const isSame = (await digest(source)) === mine.mark
  if (stored !== mine) return
  if (isSame) text ??= source
  inline.value ??= { cell: mine.cell, words: '', outputs: [], number: 0 }
}
