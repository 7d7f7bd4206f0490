// What is in front of the person is told to the host, for agents that ask and for what is said to the assistant.

import { effect } from '@preact/signals'
import { notebook, tell } from './net/sync'
import { connection, file } from './state/doc'
import { active, isEditing, selected } from './state/view'

let telling: ReturnType<typeof setTimeout> | undefined

/** Tells it now: of several windows, the one that is used is in front. */
export async function tellPresent(): Promise<void> {
  clearTimeout(telling)
  const present = { cell: active.peek(), selected: selected.peek(), editing: isEditing.peek() }
  if (connection.peek() === 'open' && file.peek() && !document.hidden) await tell(notebook({ present }))
}

export function listen(): void {
  effect(() => {
    active.value
    selected.value
    isEditing.value
    if (connection.value !== 'open' || !file.value) return
    clearTimeout(telling)
    // What others change in a window that nobody uses does not bring it to the front.
    telling = setTimeout(() => document.hasFocus() && void tellPresent(), 80)
  })
  addEventListener('focus', () => void tellPresent())
}
