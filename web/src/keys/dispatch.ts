// Dispatches key presses. In an editor CodeMirror comes first, except for keys of both modes.

import { isEditing, question, sheet } from '../state/view'
import { type Binding, table } from './table'

const isMac = /Mac|iP(hone|ad)/.test(navigator.platform)
const CHORD = 800

/** The name of a key with its modifiers, as in the table. */
export function nameOf(event: KeyboardEvent): string {
  const physical = /^Key([A-Z])$/.exec(event.code)?.[1]?.toLowerCase()
  // With Alt some layouts produce other characters.
  let key = event.altKey && physical ? physical : event.key
  if (key === ' ') key = 'Space'
  if (key.length === 1) key = key.toLowerCase()
  const isShifted = event.shiftKey && (key.length > 1 || key !== key.toUpperCase())
  const mods = [
    (isMac ? event.metaKey : event.ctrlKey) ? 'Mod-' : '',
    isMac && event.ctrlKey ? 'Ctrl-' : '',
    event.altKey ? 'Alt-' : '',
    isShifted ? 'Shift-' : '',
  ]
  return mods.join('') + key
}

const normal = (keys: string) => (isMac ? keys : keys.replace('Ctrl-', 'Mod-'))

let begun: { keys: string; at: number } | null = null

function find(name: string, mode: 'command' | 'edit', isBeside: boolean): Binding | null {
  const fits = table.filter(
    (binding) =>
      binding.run &&
      (binding.when?.() ?? true) &&
      (binding.mode === mode || binding.mode === 'both') &&
      (!isBeside || binding.isAnywhere),
  )
  const chord = begun && performance.now() - begun.at < CHORD ? `${begun.keys} ${name}` : null
  begun = null
  const whole = fits.find((binding) => normal(binding.keys) === chord)
  if (whole) return whole
  if (fits.some((binding) => binding.keys.startsWith(`${name} `)))
    begun = { keys: name, at: performance.now() }
  return fits.find((binding) => normal(binding.keys) === name) ?? null
}

export function takesText(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  )
}

/** Whether the focus is in the assistant or the inline chat. */
function isBeside(target: EventTarget | null): boolean {
  return isWithin(target, '.assistant, .inline-chat')
}

function isWithin(target: EventTarget | null, selector: string): boolean {
  return target instanceof Element && target.closest(selector) !== null
}

export function listen(): void {
  addEventListener(
    'keydown',
    (event) => {
      if (event.defaultPrevented || event.isComposing || question.peek() || sheet.peek()) return
      // Open dialogs handle their own keys.
      if (document.querySelector('dialog[open]')) return
      const beside = isBeside(event.target)
      const inEditor = isEditing.peek() && !beside
      if (beside) {
        begun = null
      } else if (inEditor) {
        // Editors and other fields handle Escape themselves.
        if (event.key === 'Escape' && (takesText(event.target) || isWithin(event.target, '.cm-editor')))
          return
      } else if (takesText(event.target)) {
        return
      } else if (
        event.target instanceof HTMLElement &&
        event.target.closest('button, a, summary, [role=tree]')
      ) {
        if (event.key === 'Enter' || event.key === ' ') return
      }
      const binding = find(nameOf(event), inEditor ? 'edit' : 'command', beside)
      if (!binding) return
      event.preventDefault()
      event.stopPropagation()
      binding.run?.()
    },
    { capture: true },
  )
}
