// The draft of the next message with its attachments. It survives a reload.

import { computed, effect, signal } from '@preact/signals'
import type { ChatMessage, Mode } from '../net/protocol'
import { file, indexes } from '../state/doc'

export const MODES: { mode: Mode; name: string; does: string }[] = [
  { mode: 'ask', name: 'Ask', does: 'Reads the notebook; changes nothing' },
  { mode: 'edit', name: 'Edit', does: 'Also edits files other than notebooks' },
  { mode: 'agent', name: 'Agent', does: 'Edits and runs the notebook' },
]

const rank = (mode: Mode) => MODES.findIndex((one) => one.mode === mode)
/** Whether a mode includes another. */
export const gives = (mode: Mode, needed: Mode) => rank(mode) >= rank(needed)
export const modeName = (mode: Mode) => MODES[rank(mode)]!.name

interface Draft {
  words: string
  isAttached: boolean
  attached: string[]
  selected: string[]
  outputs: string[]
}

const path = new URLSearchParams(location.search).get('path') ?? ''
const name = `cellist:draft:${path}`
const kept = recall()

function recall(): Draft {
  const none = { words: '', isAttached: true, attached: [], selected: [], outputs: [] }
  try {
    return { ...none, ...(JSON.parse(sessionStorage.getItem(name) ?? '{}') as Partial<Draft>) }
  } catch {
    return none
  }
}

export const words = signal(kept.words)
export const mode = signal<Mode>((localStorage.getItem('cellist:mode') as Mode | null) ?? 'agent')
/** Whether this page's notebook is attached. */
export const isAttached = signal(kept.isAttached)
/** Other attached notebooks. */
export const attached = signal(kept.attached)
/** Cells attached whole. */
export const selected = signal(kept.selected)
/** Cells whose outputs are attached. */
export const outputs = signal(kept.outputs)

/** The reason that notebook mode is off: it needs a notebook that is both attached and active. */
export const notebookModeOff = computed<string | null>(() => {
  if (isAttached.value) return null
  const here = file.value?.name ?? 'the notebook'
  const [other] = attached.value
  if (other === undefined) return `${here} is active, but not attached`
  return `${other} is attached, but not active; ${here} is active, but not attached`
})

export function setMode(wanted: Mode): void {
  mode.value = wanted
  localStorage.setItem('cellist:mode', wanted)
}

export function without(list: typeof selected, one: string): void {
  list.value = list.peek().filter((other) => other !== one)
}

export function include(list: typeof selected, ...more: string[]): void {
  list.value = [...new Set([...list.peek(), ...more])]
}

/** A new message id, prefixed with the button that sends it. */
export const messageId = (button = 'page') => `${button}.${crypto.randomUUID()}`

/** The message that would be sent now. */
export function message(): ChatMessage {
  // Cells are attached only with their notebook.
  const there = (ids: string[]) => ids.filter((id) => isAttached.peek() && indexes.peek().has(id))
  return {
    id: messageId(),
    words: words.peek().trim(),
    mode: mode.peek(),
    is_attached: isAttached.peek(),
    attached: attached.peek(),
    selected: there(selected.peek()),
    outputs: there(outputs.peek()),
  }
}

/** Clears the sent text and its attachments; text typed meanwhile stays. */
export function clearSent(written: string, message: ChatMessage): void {
  const now = words.peek()
  if (now.startsWith(written)) words.value = now.slice(written.length).trimStart()
  selected.value = selected.peek().filter((id) => !message.selected.includes(id))
  outputs.value = outputs.peek().filter((id) => !message.outputs.includes(id))
}

effect(() => {
  const draft: Draft = {
    words: words.value,
    isAttached: isAttached.value,
    attached: attached.value,
    selected: selected.value,
    outputs: outputs.value,
  }
  try {
    sessionStorage.setItem(name, JSON.stringify(draft))
  } catch {
    // The store is full; the page keeps the draft in memory.
  }
})
