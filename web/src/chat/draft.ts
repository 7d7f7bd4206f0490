// What a person is about to say, with all that goes along. It outlives a reload of the page.

import { computed, effect, signal } from '@preact/signals'
import type { ChatMessage, Mode } from '../net/protocol'
import { file, places } from '../state/doc'

export const MODES: { mode: Mode; name: string; does: string }[] = [
  { mode: 'ask', name: 'Ask', does: 'Looks at the notebook, and changes nothing' },
  { mode: 'edit', name: 'Edit', does: 'Also changes files that are no notebooks' },
  { mode: 'agent', name: 'Agent', does: 'Changes and runs the notebook' },
]

const rank = (mode: Mode) => MODES.findIndex((one) => one.mode === mode)
/** Whether a mode gives what another is needed for. */
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
/** Whether the notebook of this page goes along. */
export const isAttached = signal(kept.isAttached)
/** Other notebooks that go along. */
export const attached = signal(kept.attached)
/** Cells that are sent whole. */
export const selected = signal(kept.selected)
/** Cells whose outputs go along. */
export const outputs = signal(kept.outputs)

/** What keeps notebook mode off: it needs a notebook that is both attached and the one in front. */
export const missing = computed<string | null>(() => {
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

/** A name for a message, of the button that says it where that is one. */
export const messageId = (button = 'page') => `${button}.${crypto.randomUUID()}`

/** The message as it stands. */
export function message(): ChatMessage {
  // Cells of a notebook that does not go along do not either.
  const there = (ids: string[]) => ids.filter((id) => isAttached.peek() && places.peek().has(id))
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

/** It is said: what was meant for this message alone goes with it, and what was written meanwhile stays. */
export function said(written: string, message: ChatMessage): void {
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
    // A full store keeps nothing more; the page itself still has it.
  }
})
