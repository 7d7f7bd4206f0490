// The conversation of the pane: what is said in it, and what is asked of the host about it.

import { computed, effect, signal } from '@preact/signals'
import type { Chat, ChatAsk, ChatNews, Ending, Message, Mode, Seen, Verdict } from '../net/protocol'
import { ask, settled } from '../net/sync'
import { tellPresent } from '../present'
import { connection } from '../state/doc'
import { said as announced, say } from '../state/view'
import * as draft from './draft'
import { Outbox } from './outbox'
import { Talk } from './told'

const WORDS: Record<string, string> = {
  done: 'The assistant has answered', stopped: 'The answer was stopped', too_long: 'The answer was cut',
  too_many_steps: 'The answer had to end', refused: 'The provider refused to answer',
}
export const announce = (ending: Ending) => {
  const words = typeof ending === 'string' ? (WORDS[ending] ?? '') : 'The assistant could not answer'
  // What is said twice is read out twice only if it differs.
  announced.value = announced.peek() === words ? `${words}.` : words
}

/** The conversation of the pane. */
export const talk = new Talk(announce, () => (announced.value = 'The assistant asks whether it may run code'))
/** What was said here and is not answered yet. */
const outbox = new Outbox(`cellist:outbox:${new URLSearchParams(location.search).get('path') ?? ''}`, talk)
/** What the host has told of the assistant; `null` until it has. */
export const chat = signal<Chat | null>(null)
/** Whether the answer that is under way was told to stop. */
export const isStopped = signal(false)
/** Whether the code that an answer began goes on without it. */
export const runsOn = computed(() => talk.runsOn.value && !talk.isAnswering.value)

effect(() => {
  // A wish to stop was for the answer before.
  talk.turns.value
  isStopped.value = false
})

let opening: Promise<void> | null = null
/** Whether what was told before is heard again: not at all, next, or now. */
let behind: 'no' | 'next' | 'now' = 'no'
/** What is told in one piece at most: the host has more to tell where it is as much. */
const AT_ONCE = 2000

async function open(isNew: boolean): Promise<void> {
  const answer = await ask({ chat: { open: { is_new: isNew } } })
  if (answer === null || typeof answer !== 'object' || !('chat' in answer)) {
    opening = null
    return
  }
  behind = 'next'
  if (chat.peek()?.chat !== answer.chat.chat) talk.clear()
  chat.value = answer.chat
}

/** Makes sure that there is a conversation. */
export function opened(): Promise<void> {
  opening ??= open(false)
  return opening
}

/** Asks anew what a message can point at and who answers it. */
export async function lookAgain(): Promise<void> {
  if (chat.peek() === null || connection.peek() !== 'open') return
  const answer = await ask({ chat: 'about' })
  if (answer === null || typeof answer !== 'object' || !('chat' in answer)) return
  if (chat.peek()?.chat === answer.chat.chat) chat.value = answer.chat
}

export function hear(news: ChatNews): void {
  const known = chat.peek()
  if (known && known.chat !== news.chat) {
    // Another window has begun a new conversation.
    if (news.from > 0) return
    chat.value = { ...known, chat: news.chat }
  }
  if (behind === 'next' && news.from === 0) behind = 'now'
  const isOld = behind === 'now'
  if (!talk.take(news, isOld)) return void (opening = open(false))
  if (!isOld) return outbox.heard()
  if (news.told.length >= AT_ONCE) return
  behind = 'no'
  giveBack()
}

/** The host is gone; when it is back, all is told again. */
export function lost(): void {
  if (!opening) return
  opening = null
  talk.isAnswering.value = false
  talk.runsOn.value = false
  talk.waiting.value = []
}

/** A host that was killed knows nothing of the message that it was to answer: it is there to be sent again. */
function giveBack(): void {
  const gone = outbox.lost()
  if (gone.length === 0) return
  draft.words.value = [...gone, draft.words.peek()].filter(Boolean).join('\n\n')
  say('The host was ended before it answered; what you said is where you wrote it')
}

export function begin(): void {
  isStopped.value = false
  outbox.clear()
  opening = open(true)
}

let isSending = false

/** Says something, one thing at a time; tells whether it was taken. */
async function send(message: Message): Promise<boolean> {
  if (isSending) return false
  isSending = true
  try {
    await opened()
    await settled()
    isStopped.value = false
    const known = outbox.answersTo(message.words)
    // Of several windows, the one in which something is said is in front.
    tellPresent()
    if ((await ask({ chat: { send: message } })) === null) return false
    outbox.add(message, known)
    // A model that was missing is there now.
    if (chat.peek() && 'problem' in chat.peek()!.account) void lookAgain()
    return true
  } finally {
    isSending = false
  }
}

/** Says what a button stands for; pressed twice, it is said once. */
export async function press(message: Message): Promise<void> {
  if (connection.peek() !== 'open') return say('The host is not there')
  if (!outbox.holds(message)) await send(message)
}

/** Sends what is written, which stays written until it has arrived. */
export async function sendDraft(as?: Mode): Promise<void> {
  if (as) draft.setMode(as)
  const written = draft.words.peek()
  const message = draft.message()
  if (!message.words || isSending) return
  if (connection.peek() !== 'open') return say('The host is not there; the message is kept')
  if (await send(message)) draft.said(written, message)
}

/** Ends the answer; the second time also what it began. */
export function stop(): void {
  const asked: ChatAsk = { stop: isStopped.peek() || runsOn.peek() ? 'kernel' : 'answer' }
  isStopped.value = true
  void ask({ chat: asked })
}

export async function withdraw(number: number): Promise<void> {
  const words = talk.waiting.peek().find((one) => one.number === number)?.words
  if ((await ask({ chat: { withdraw: { number } } })) !== null && words !== undefined) outbox.withdrawn(words)
}
export const approve = (call: string, verdict: Verdict) => ask({ chat: { approve: { call, verdict } } })

export async function restore(turn: string): Promise<void> {
  await settled()
  const answer = await ask({ chat: { restore: { turn } } })
  if (answer !== null && typeof answer === 'object' && 'restored' in answer) say(answer.restored)
}

/** What would be sent now. */
export async function preview(): Promise<Seen | null> {
  await opened()
  await settled()
  tellPresent()
  const answer = await ask({ chat: { preview: draft.message() } })
  return answer !== null && typeof answer === 'object' && 'seen' in answer ? answer.seen : null
}
