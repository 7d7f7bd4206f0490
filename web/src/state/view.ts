// State of this window: active cell, mode, selection, open dialogs, theme.

import { computed, signal } from '@preact/signals'
import { order } from './doc'

export type Sheet = 'help' | 'files' | 'changes' | 'palette'
export type Theme = 'light' | 'dark' | 'auto'

export const active = signal<string | null>(null)
export const isEditing = signal(false)
/** The start of a selection of several cells. */
export const anchor = signal<string | null>(null)
export const follows = signal(false)
export const hasNumbers = signal(localStorage.getItem('cellist:numbers') === 'on')
export const sheet = signal<Sheet | null>(null)
export const question = signal<{ text: string; yes: string; then: () => void } | null>(null)
export const toast = signal<{ text: string; action?: { name: string; then: () => void } } | null>(null)
/** The announcement in the live region, for screen readers. */
export const announcement = signal('')
export const theme = signal<Theme>((localStorage.getItem('cellist:theme') as Theme | null) ?? 'auto')

/** The selected cells in order; at least the active one. */
export const selected = computed<string[]>(() => {
  const [from, to] = [
    order.value.indexOf(anchor.value ?? active.value ?? ''),
    order.value.indexOf(active.value ?? ''),
  ]
  if (to < 0) return []
  const start = from < 0 ? to : from
  return order.value.slice(Math.min(start, to), Math.max(start, to) + 1)
})

let toastTimer: ReturnType<typeof setTimeout> | undefined

export function notify(text: string, action?: { name: string; then: () => void }): void {
  clearTimeout(toastTimer)
  toast.value = action ? { text, action } : { text }
  announcement.value = text
  toastTimer = setTimeout(() => (toast.value = null), action ? 10_000 : 5_000)
}

export function setTheme(wanted: Theme): void {
  theme.value = wanted
  localStorage.setItem('cellist:theme', wanted)
  document.documentElement.dataset['theme'] = wanted
}
