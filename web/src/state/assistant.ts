// The state of the assistant on the page: its pane and the inline chat. Its script is loaded when first
// needed.

import { effect, signal } from '@preact/signals'
import { connection, file, opened } from './doc'

type Parts = typeof import('../chat/chat')

/** Below this width the pane is a sheet at the bottom. */
export const NARROW = 860
export const [NARROWEST, USUAL, WIDEST] = [300, 372, 560]

const stored = localStorage.getItem('cellist:assistant')
/** The loaded script. */
export const parts = signal<Parts | null>(null)
export const isOpen = signal(
  innerWidth > NARROW && (stored === null ? innerWidth >= 1100 : stored === 'open'),
)
export const width = signal(bounded(Number(localStorage.getItem('cellist:assistant-width')) || USUAL))
/** The cell with an inline chat, and the message to send at once. */
export const inline = signal<{ cell: string; words: string; outputs: string[]; number: number } | null>(null)
/** The cell whose source is hidden by a proposal. */
export const proposed = signal<string | null>(null)

export function bounded(wide: number): number {
  return Math.max(NARROWEST, Math.min(WIDEST, Math.round(wide)))
}

/** Pauses between attempts to load the script, in milliseconds: first and longest. */
const [SOON, LATE] = [500, 10_000]

let loading: Promise<Parts> | undefined

/** Loads the script once; retries while the host is away. */
export function load(): Promise<Parts> {
  loading ??= fetchParts()
  return loading
}

async function fetchParts(): Promise<Parts> {
  for (let pause = SOON; ; pause = Math.min(2 * pause, LATE)) {
    await opened()
    try {
      return (parts.value = await import('../chat/chat'))
    } catch {
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
  }
}

export function setOpen(open: boolean): void {
  isOpen.value = open
  if (open) void load()
  localStorage.setItem('cellist:assistant', open ? 'open' : 'hidden')
}

export function setWidth(wide: number): void {
  width.value = bounded(wide)
  localStorage.setItem('cellist:assistant-width', String(width.value))
}

/** The state of the assistant, for the button in the toolbar. */
export const activity = signal<'idle' | 'working' | 'asking'>('idle')

/** The composer, and whether it gets the focus as soon as it exists. */
let composer: HTMLElement | null = null
let isWanted = false

/** Focuses the composer synchronously, so that no keystroke is lost. */
export function focusComposer(): void {
  setOpen(true)
  isWanted = composer === null
  composer?.focus()
}

/** Registers the composer, or a stand-in that keeps keystrokes from reaching cells until it is loaded. */
export function registerComposer(element: HTMLElement, isStandIn = false): () => void {
  if (isWanted) element.focus()
  if (isStandIn) return () => {}
  isWanted = false
  composer = element
  return () => (composer = null)
}

let inlines = 0

/** Opens the inline chat of a cell; given a text, sends it. */
export function openInlineChat(cell: string, words = '', outputs: string[] = []): void {
  inlines += 1
  inline.value = { cell, words, outputs, number: inlines }
  void load()
}

/** Asks in the pane for an explanation of a cell's error. */
export function explain(cell: string): void {
  setOpen(true)
  void load().then((all) => all.explain(cell))
}

/** Loads the assistant once the notebook is open. */
export function loadWhenOpen(): void {
  const later = window.requestIdleCallback ?? ((then: () => void) => setTimeout(then, 50))
  effect(() => {
    if (file.value && connection.value === 'open') later(() => void load(), { timeout: 1000 })
  })
}
