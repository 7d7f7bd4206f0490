// The conversation of the pane: what is said in it, and what is asked of the host about it.

import { computed, effect, signal } from '@preact/signals'
import type { AnswerEnding, Approval, ChatMessage, ChatSetup, Mode, PromptPreview } from '../net/protocol'
import { ask, settled } from '../net/sync'
import { tellPresent } from '../present'
import { connection } from '../state/doc'
import { said as announced, say } from '../state/view'
import * as draft from './draft'
import { listen } from './listen'
import { Outbox } from './outbox'
import { Talk } from './told'

const WORDS: Record<string, string> = {
  done: 'The assistant has answered', stopped: 'The answer was stopped', too_long: 'The answer was cut',
  too_many_steps: 'The answer had to end', refused: 'The provider refused to answer',
}
export const announce = (ending: AnswerEnding) => {
  const words = typeof ending === 'string' ? (WORDS[ending] ?? '') : 'The assistant could not answer'
  // What is said twice is read out twice only if it differs.
  announced.value = announced.peek() === words ? `${words}.` : words
}

/** The conversation of the pane. */
export const talk = new Talk(announce, () => (announced.value = 'The assistant asks whether it may run code'))
/** What was said here and is not answered yet. */
const notebook = new URLSearchParams(location.search).get('path') ?? ''
const outbox = new Outbox(`cellist:outbox:${notebook}`, talk)
/** What a message can use; `null` until the host has told it. */
export const setup = signal<ChatSetup | null>(null)
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
/** The conversation, and how often it was opened: what comes for an earlier time is not taken. */
let [chat, times] = ['', 0]

async function open(isNew: boolean): Promise<void> {
  const mine = ++times
  const opened = await ask({ chat: { open: { notebook, cell: null, is_new: isNew } } }, 'open')
  if (mine !== times) return
  if (!opened) return void (opening = null)
  if (chat !== opened.chat) talk.clear()
  chat = opened.chat
  void follow(mine, opened.told)
  setup.value = (await ask({ chat: { setup: { notebook } } }, 'setup')) ?? setup.peek()
}

async function follow(mine: number, told: number): Promise<void> {
  let isBehind = true
  await listen(talk, chat, told, () => mine === times, (isOld) => {
    if (!isBehind) return outbox.heard()
    isBehind = isOld
    if (!isOld) giveBack()
  })
  // Another window has begun a new conversation.
  if (mine === times) opening = open(false)
}

/** Makes sure that there is a conversation. */
export function opened(): Promise<void> {
  opening ??= open(false)
  return opening
}

/** Asks anew what a message can point at and who answers it. */
export async function lookAgain(): Promise<void> {
  if (setup.peek() === null || connection.peek() !== 'open') return
  setup.value = (await ask({ chat: { setup: { notebook } } }, 'setup')) ?? setup.peek()
}

/** The host is gone; when it is back, all is told again. */
export function lost(): void {
  if (!opening) return
  opening = null
  times += 1
  talk.answering.value = null
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

let sending: Promise<boolean> | null = null

/** Says something, one thing at a time; tells whether it was taken. */
async function send(message: ChatMessage): Promise<boolean> {
  if (sending) return false
  sending = deliver(message)
  return await sending.finally(() => (sending = null))
}

async function deliver(message: ChatMessage): Promise<boolean> {
  await opened()
  await settled()
  isStopped.value = false
  // Of several windows, the one in which something is said is in front.
  await tellPresent()
  outbox.add(message)
  if (!(await ask({ chat: { say: { chat, message } } }, 'done'))) {
    outbox.remove(message.id)
    return false
  }
  // A model that was missing is there now.
  if (setup.peek() && 'problem' in setup.peek()!.account) void lookAgain()
  return true
}

/** Says what a button stands for; pressed twice, it is said once. */
export async function press(button: string, message: Omit<ChatMessage, 'id'>): Promise<void> {
  if (connection.peek() !== 'open') return say('The host is not there')
  if (!outbox.holds(button)) await send({ id: draft.messageId(button), ...message })
}

/** Sends what is written, which stays written until it has arrived. */
export async function sendDraft(as?: Mode): Promise<void> {
  if (as) draft.setMode(as)
  const written = draft.words.peek()
  const message = draft.message()
  if (!message.words || sending) return
  if (connection.peek() !== 'open') return say('The host is not there; the message is kept')
  if (await send(message)) draft.said(written, message)
}

/** Ends the answer, also of a message that is on its way; the second time also what it began. */
export async function stop(): Promise<void> {
  const stop = isStopped.peek() || runsOn.peek() ? 'kernel' : 'answer'
  isStopped.value = true
  await sending
  await ask({ chat: { stop: { chat, stop } } }, 'done')
}

export async function withdraw(message: string): Promise<void> {
  const isWithdrawn = await ask({ chat: { withdraw: { chat, message } } }, 'done')
  if (isWithdrawn) outbox.remove(message)
  else if (isWithdrawn === false) say('The message does not wait any more')
}

export async function approve(call: string, verdict: Approval): Promise<void> {
  if ((await ask({ chat: { approve: { chat, call, verdict } } }, 'done')) === false) say('That is not asked any more')
}

export async function restore(turn: string): Promise<void> {
  await settled()
  const restored = await ask({ chat: { restore: { chat, turn } } }, 'restored')
  if (restored) say(restored.summary)
}

/** What would be sent now. */
export async function preview(): Promise<PromptPreview | null> {
  await opened()
  await settled()
  await tellPresent()
  return await ask({ chat: { preview: { chat, message: draft.message() } } }, 'preview')
}
