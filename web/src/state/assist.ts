// The assistant's place on the page: whether its pane is there, and which cell has a line for it. The rest is fetched
// when it is first needed.

import { effect, signal } from '@preact/signals'
import { connection, file, opened } from './doc'

type Parts = typeof import('../chat/chat')

/** Below it the pane is a sheet at the bottom. */
export const NARROW = 860
export const [NARROWEST, USUAL, WIDEST] = [300, 372, 560]

const stored = localStorage.getItem('cellist:assistant')
/** What was fetched. */
export const parts = signal<Parts | null>(null)
export const isOpen = signal(
  innerWidth > NARROW && (stored === null ? innerWidth >= 1100 : stored === 'open'),
)
export const width = signal(bounded(Number(localStorage.getItem('cellist:assistant-width')) || USUAL))
/** The cell that is talked about in place, and what is said at once. */
export const inline = signal<{ cell: string; words: string; outputs: string[]; number: number } | null>(null)
/** The cell whose text is hidden behind a proposal for it. */
export const proposed = signal<string | null>(null)

export function bounded(wide: number): number {
  return Math.max(NARROWEST, Math.min(WIDEST, Math.round(wide)))
}

/** How long a fetch that failed waits for the next one, in milliseconds: at first, and at most. */
const [SOON, LATE] = [500, 10_000]

let loading: Promise<Parts> | undefined

/** Fetches the assistant once. A host that goes away in between is waited for. */
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

/** What the assistant does, for those who do not see its pane. */
export const standing = signal<'rests' | 'works' | 'asks'>('rests')

/** Where messages are written, and whether it should have the keyboard as soon as it is there. */
let composer: HTMLElement | null = null
let isWanted = false

/** The keyboard goes to where messages are written, in the same step, so that no letter is lost. */
export function focusComposer(): void {
  setOpen(true)
  isWanted = composer === null
  composer?.focus()
}

/** Says where the keyboard goes; what stands in for the composer keeps its letters from the cells. */
export function registerComposer(element: HTMLElement, isStandIn = false): () => void {
  if (isWanted) element.focus()
  if (isStandIn) return () => {}
  isWanted = false
  composer = element
  return () => (composer = null)
}

let inlines = 0

/** Opens the line below a cell; with words, says them at once. */
export function talkInline(cell: string, words = '', outputs: string[] = []): void {
  inlines += 1
  inline.value = { cell, words, outputs, number: inlines }
  void load()
}

/** Has an error of a cell explained in the pane. */
export function explain(cell: string): void {
  setOpen(true)
  void load().then((all) => all.explain(cell))
}

/** Fetches the assistant when the notebook is there. */
export function begin(): void {
  const later = window.requestIdleCallback ?? ((then: () => void) => setTimeout(then, 50))
  effect(() => {
    if (file.value && connection.value === 'open') later(() => void load(), { timeout: 1000 })
  })
}
