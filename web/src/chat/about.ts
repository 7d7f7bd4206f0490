// The small conversation about one cell. It outlives a reload of the page, with what is being written.

import { effect, signal } from '@preact/signals'
import { digest } from '../net/seal'
import { ask, settled, sourceOf, tell } from '../net/sync'
import { inline } from '../state/assist'
import { cells, connection } from '../state/doc'
import { say } from '../state/view'
import { messageId } from './draft'
import { listen } from './listen'
import { announce } from './talk'
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

const notebook = new URLSearchParams(location.search).get('path') ?? ''
const name = `cellist:inline:${notebook}`
export const talk = new Talk(announce)
/** Whether something is on its way to the host. */
export const isSending = signal(false)
let kept = recall()
/** The text of the cell that was talked about last; null when the page does not know it any more. */
let text: string | null = null
export const words = signal(kept?.words ?? '')
/** Counts how often the conversation was listened to: what comes for an earlier time is not taken. */
let times = 0

function recall(): Kept | null {
  try {
    const found = JSON.parse(sessionStorage.getItem(name) ?? 'null') as Kept | null
    return (
      found && { cell: found.cell, chat: found.chat, mark: found.mark, words: found.words, said: found.said }
    )
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

/** Hears what is told. What was told up to `old`, or in the first piece, is not new. */
async function follow(mine: Kept, chat: string, old: number | null): Promise<void> {
  const time = ++times
  const isWanted = () => kept === mine && time === times
  await listen(talk, chat, old, isWanted, () => {
    if (talk.isAnswering.peek() || !talk.turns.peek().at(-1)?.ended.peek()) return
    mine.said = ''
    keep()
  })
  if (!isWanted()) return
  mine.chat = null
  giveBack(mine)
  keep()
}

/** Says what is written about the cell, or something else. */
export async function send(outputs: string[], said = words.peek().trim()): Promise<void> {
  const mine = kept
  if (!mine || !said) return
  // What cannot be said now is there to be said later.
  if (!words.peek()) words.value = said
  if (talk.isAnswering.peek() || isSending.peek() || mine.said) return
  if (connection.peek() !== 'open') return say('The host is not there; the message is kept')
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
    // What was proposed before still stands.
    if (kept === mine) text = before
    return
  }
  mine.mark = await digest(source)
  if (kept !== mine) return void tell({ chat: { end: { chat: opened.chat } } })
  const isHeard = mine.chat === opened.chat
  mine.chat = opened.chat
  mine.said = said
  if (words.peek().trim() === said) words.value = ''
  keep()
  if (!isHeard) void follow(mine, opened.chat, opened.told)
}

/** Ends it; nothing of it is applied. */
export function end(): void {
  const chat = kept?.chat
  ;[kept, text] = [null, null]
  talk.clear()
  keep()
  if (chat) void tell({ chat: { end: { chat } } })
}

effect(() => {
  words.value
  keep()
})
effect(() => {
  // Whether an answer is still under way is told again when the host is back.
  if (connection.value !== 'open') {
    talk.answering.value = null
    times += 1
  } else if (kept?.chat) {
    void follow(kept, kept.chat, null)
  }
})

/** A host that was killed knows nothing of what it was to answer: that is there to be said again. */
function giveBack(mine: Kept): void {
  if (!mine.said) return
  words.value = [mine.said, words.peek()].filter(Boolean).join(' ')
  mine.said = ''
  talk.clear()
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
