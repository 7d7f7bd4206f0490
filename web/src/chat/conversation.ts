// The conversation in the pane: its transcript, its messages and its requests to the host.

import { computed, effect, signal } from '@preact/signals'
import type { AnswerEnding, Approval, ChatMessage, ChatSetup, Mode, PromptPreview } from '../net/protocol'
import { ask, settled } from '../net/sync'
import { reportPresence } from '../presence'
import { connection } from '../state/doc'
import { announcement, notify } from '../state/view'
import * as draft from './draft'
import { followTranscript } from './followTranscript'
import { Outbox } from './outbox'
import { Transcript } from './transcript'

const WORDS: Record<string, string> = {
  done: 'The assistant has answered',
  stopped: 'The answer was stopped',
  too_long: 'The answer was cut off',
  too_many_steps: 'The answer reached its step limit',
  refused: 'The provider refused to answer',
}
export const announce = (ending: AnswerEnding) => {
  const words = typeof ending === 'string' ? (WORDS[ending] ?? '') : 'The assistant could not answer'
  // A live region announces a text again only if it differs.
  announcement.value = announcement.peek() === words ? `${words}.` : words
}

export const transcript = new Transcript(
  announce,
  () => (announcement.value = 'The assistant asks for approval'),
)
const notebook = new URLSearchParams(location.search).get('path') ?? ''
const outbox = new Outbox(`cellist:outbox:${notebook}`, transcript)
/** The models, tools and notebooks available; `null` until the host has sent them. */
export const setup = signal<ChatSetup | null>(null)
/** Whether the user has stopped the current answer. */
export const isStopped = signal(false)
/** Whether code that an answer started still runs after the answer. */
export const isCodeRunning = computed(() => transcript.isCodeRunning.value && !transcript.isAnswering.value)

effect(() => {
  // A new answer has not been stopped yet.
  transcript.turns.value
  isStopped.value = false
})

let opening: Promise<void> | null = null
/** The conversation, and the number of times it was opened; events of an earlier subscription are dropped. */
let [chat, times] = ['', 0]

async function open(isNew: boolean): Promise<void> {
  const mine = ++times
  const opened = await ask({ chat: { open: { notebook, cell: null, is_new: isNew } } }, 'open')
  if (mine !== times) return
  if (!opened) return void (opening = null)
  if (chat !== opened.chat) transcript.clear()
  chat = opened.chat
  void follow(mine, opened.told)
  setup.value = (await ask({ chat: { setup: { notebook } } }, 'setup')) ?? setup.peek()
}

async function follow(mine: number, old: number): Promise<void> {
  let isBehind = true
  await followTranscript(
    transcript,
    chat,
    old,
    () => mine === times,
    (isOld) => {
      if (!isBehind) return outbox.removeFinished()
      isBehind = isOld
      if (!isOld) returnLost()
    },
  )
  // Another window has started a new conversation.
  if (mine === times) opening = open(false)
}

/** Opens the conversation if it is not open. */
export function ensureOpen(): Promise<void> {
  opening ??= open(false)
  return opening
}

/** Refreshes the available models, tools and notebooks. */
export async function refreshSetup(): Promise<void> {
  if (setup.peek() === null || connection.peek() !== 'open') return
  setup.value = (await ask({ chat: { setup: { notebook } } }, 'setup')) ?? setup.peek()
}

/** Handles a lost connection. The host sends everything again after a reconnect. */
export function disconnected(): void {
  if (!opening) return
  opening = null
  times += 1
  transcript.answering.value = null
  transcript.isCodeRunning.value = false
  transcript.waiting.value = []
}

/** A killed host does not know the unanswered messages. Put them back into the composer. */
function returnLost(): void {
  const gone = outbox.takeLost()
  if (gone.length === 0) return
  draft.words.value = [...gone, draft.words.peek()].filter(Boolean).join('\n\n')
  notify('The host stopped before it answered; your message is back in the field')
}

export function startNew(): void {
  isStopped.value = false
  outbox.clear()
  opening = open(true)
}

let sending: Promise<boolean> | null = null

/** Sends a message, one at a time; returns whether the host accepted it. */
async function send(message: ChatMessage): Promise<boolean> {
  if (sending) return false
  sending = deliver(message)
  return await sending.finally(() => (sending = null))
}

async function deliver(message: ChatMessage): Promise<boolean> {
  await ensureOpen()
  await settled()
  isStopped.value = false
  // The window that sends is the active one.
  await reportPresence()
  outbox.add(message)
  if (!(await ask({ chat: { say: { chat, message } } }, 'done'))) {
    outbox.remove(message.id)
    return false
  }
  // A model may have been configured meanwhile.
  if (setup.peek() && 'problem' in setup.peek()!.account) void refreshSetup()
  return true
}

/** Sends the message of a button; pressed twice, it is sent once. */
export async function sendOnce(button: string, message: Omit<ChatMessage, 'id'>): Promise<void> {
  if (connection.peek() !== 'open') return notify('Not connected')
  if (!outbox.holds(button)) await send({ id: draft.messageId(button), ...message })
}

/** Sends the draft, which stays in the composer until the host has accepted it. */
export async function sendDraft(as?: Mode): Promise<void> {
  if (as) draft.setMode(as)
  const written = draft.words.peek()
  const message = draft.message()
  if (!message.words || sending) return
  if (connection.peek() !== 'open') return notify('Not connected; the message is kept')
  if (await send(message)) draft.clearSent(written, message)
}

/** Stops the answer; the second time also interrupts the code that it started. */
export async function stop(): Promise<void> {
  const stop = isStopped.peek() || isCodeRunning.peek() ? 'kernel' : 'answer'
  isStopped.value = true
  await sending
  await ask({ chat: { stop: { chat, stop } } }, 'done')
}

export async function withdraw(message: string): Promise<void> {
  const isWithdrawn = await ask({ chat: { withdraw: { chat, message } } }, 'done')
  if (isWithdrawn) outbox.remove(message)
  else if (isWithdrawn === false) notify('The message is no longer queued')
}

export async function approve(call: string, verdict: Approval): Promise<void> {
  if ((await ask({ chat: { approve: { chat, call, verdict } } }, 'done')) === false)
    notify('This approval is no longer needed')
}

export async function restore(turn: string): Promise<void> {
  await settled()
  const restored = await ask({ chat: { restore: { chat, turn } } }, 'restored')
  if (restored) notify(restored.summary)
}

/** The prompt that would be sent now. */
export async function preview(): Promise<PromptPreview | null> {
  await ensureOpen()
  await settled()
  await reportPresence()
  return await ask({ chat: { preview: { chat, message: draft.message() } } }, 'preview')
}
