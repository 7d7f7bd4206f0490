// Reports the active cell and selection to the host, for agents and the assistant.

import { effect } from '@preact/signals'
import { notebook, tell } from './net/sync'
import { connection, file } from './state/doc'
import { active, isEditing, selected } from './state/view'

let reporting: ReturnType<typeof setTimeout> | undefined

/** Reports at once: the window in use is the active one. */
export async function reportPresence(): Promise<void> {
  clearTimeout(reporting)
  const present = { cell: active.peek(), selected: selected.peek(), editing: isEditing.peek() }
  if (connection.peek() === 'open' && file.peek() && !document.hidden) await tell(notebook({ present }))
}

export function listen(): void {
  effect(() => {
    active.value
    selected.value
    isEditing.value
    if (connection.value !== 'open' || !file.value) return
    clearTimeout(reporting)
    // Changes by other clients do not make an unused window the active one.
    reporting = setTimeout(() => document.hasFocus() && void reportPresence(), 80)
  })
  addEventListener('focus', () => void reportPresence())
}
