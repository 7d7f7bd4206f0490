// The table of key bindings: key, mode, action, and name in help and palette.

import * as actions from '../actions'
import { focusComposer } from '../state/assistant'
import { active, isEditing } from '../state/view'

export type Mode = 'command' | 'edit' | 'both'
/** Without `run` the editor handles the key. `isAnywhere` holds also in the assistant's fields. */
export interface Binding {
  keys: string
  mode: Mode
  name: string
  group: string
  run?: () => void
  isAnywhere?: boolean
  /** Whether the binding applies now. */
  when?: () => boolean
}

const edit = () => {
  if (active.peek()) isEditing.value = true
}
/** The browser copies selected output text. A selection in an editor without focus does not count. */
const nothingMarked = () => {
  const marked = document.getSelection()
  return !marked || marked.isCollapsed || marked.anchorNode?.parentElement?.closest('.cm-editor') != null
}
const leave = () => {
  isEditing.value = false
}

/** `Mod` is Ctrl, or Cmd on a Mac. A space separates the keys of a chord. */
export const table: Binding[] = [
  {
    keys: 'Shift-Enter',
    mode: 'both',
    group: 'Run',
    name: 'Run and select below',
    run: () => actions.run('next'),
  },
  { keys: 'Mod-Enter', mode: 'both', group: 'Run', name: 'Run', run: () => actions.run('stay') },
  {
    keys: 'Alt-Enter',
    mode: 'both',
    group: 'Run',
    name: 'Run and insert below',
    run: () => actions.run('insert'),
  },
  { keys: 'i i', mode: 'command', group: 'Run', name: 'Interrupt the kernel', run: actions.interrupt },
  { keys: '0 0', mode: 'command', group: 'Run', name: 'Restart the kernel', run: actions.restart },
  {
    keys: 'Mod-Shift-c',
    mode: 'both',
    group: 'Notebook',
    name: 'Command palette',
    run: () => actions.toggleSheet('palette'),
  },
  {
    keys: 'Shift-h',
    mode: 'command',
    group: 'Notebook',
    name: 'Show changes',
    run: () => actions.toggleSheet('changes'),
  },
  { keys: 'Mod-s', mode: 'both', group: 'Notebook', name: 'Save', run: () => void actions.save() },
  { keys: 'Enter', mode: 'command', group: 'Cells', name: 'Edit cell', run: edit },
  { keys: 'Escape', mode: 'edit', group: 'Cells', name: 'Stop editing', run: leave },
  { keys: 'Ctrl-m', mode: 'edit', group: 'Cells', name: 'Stop editing', run: leave },
  {
    keys: 'ArrowUp',
    mode: 'command',
    group: 'Cells',
    name: 'Select cell above',
    run: () => actions.move(-1),
  },
  { keys: 'k', mode: 'command', group: 'Cells', name: 'Select cell above', run: () => actions.move(-1) },
  {
    keys: 'ArrowDown',
    mode: 'command',
    group: 'Cells',
    name: 'Select cell below',
    run: () => actions.move(1),
  },
  { keys: 'j', mode: 'command', group: 'Cells', name: 'Select cell below', run: () => actions.move(1) },
  {
    keys: 'Shift-ArrowUp',
    mode: 'command',
    group: 'Cells',
    name: 'Extend selection up',
    run: () => actions.move(-1, true),
  },
  {
    keys: 'Shift-k',
    mode: 'command',
    group: 'Cells',
    name: 'Extend selection up',
    run: () => actions.move(-1, true),
  },
  {
    keys: 'Shift-ArrowDown',
    mode: 'command',
    group: 'Cells',
    name: 'Extend selection down',
    run: () => actions.move(1, true),
  },
  {
    keys: 'Shift-j',
    mode: 'command',
    group: 'Cells',
    name: 'Extend selection down',
    run: () => actions.move(1, true),
  },
  { keys: 'Mod-a', mode: 'command', group: 'Cells', name: 'Select all cells', run: actions.selectAll },
  {
    keys: 'a',
    mode: 'command',
    group: 'Edit cells',
    name: 'Insert cell above',
    run: () => void actions.insert('above'),
  },
  {
    keys: 'b',
    mode: 'command',
    group: 'Edit cells',
    name: 'Insert cell below',
    run: () => void actions.insert('below'),
  },
  {
    keys: 'Mod-x',
    mode: 'command',
    group: 'Edit cells',
    name: 'Cut cells',
    run: actions.cut,
    when: nothingMarked,
  },
  {
    keys: 'Mod-c',
    mode: 'command',
    group: 'Edit cells',
    name: 'Copy cells',
    run: actions.copy,
    when: nothingMarked,
  },
  { keys: 'x', mode: 'command', group: 'Edit cells', name: 'Cut cells', run: actions.cut },
  { keys: 'c', mode: 'command', group: 'Edit cells', name: 'Copy cells', run: actions.copy },
  {
    keys: 'v',
    mode: 'command',
    group: 'Edit cells',
    name: 'Paste cells below',
    run: () => actions.paste('below'),
  },
  {
    keys: 'Shift-v',
    mode: 'command',
    group: 'Edit cells',
    name: 'Paste cells above',
    run: () => actions.paste('above'),
  },
  { keys: 'Mod-v', mode: 'command', group: 'Edit cells', name: 'Paste clipboard below' },
  {
    keys: 'Shift-c',
    mode: 'command',
    group: 'Edit cells',
    name: 'Clear outputs',
    run: actions.clearOutputs,
  },
  {
    keys: 'Alt-Shift-c',
    mode: 'command',
    group: 'Edit cells',
    name: 'Clear all outputs',
    run: actions.clearAll,
  },
  { keys: 'd d', mode: 'command', group: 'Edit cells', name: 'Delete cells', run: actions.remove },
  { keys: 'z', mode: 'command', group: 'Edit cells', name: 'Undo cell operation', run: actions.undoCells },
  {
    keys: 'Shift-z',
    mode: 'command',
    group: 'Edit cells',
    name: 'Redo cell operation',
    run: actions.redoCells,
  },
  {
    keys: 'y',
    mode: 'command',
    group: 'Edit cells',
    name: 'Change to code',
    run: () => actions.retype('code'),
  },
  {
    keys: 'm',
    mode: 'command',
    group: 'Edit cells',
    name: 'Change to Markdown',
    run: () => actions.retype('markdown'),
  },
  {
    keys: 'r',
    mode: 'command',
    group: 'Edit cells',
    name: 'Change to raw text',
    run: () => actions.retype('raw'),
  },
  ...[1, 2, 3, 4, 5, 6].map((level): Binding => ({
    keys: String(level),
    mode: 'command',
    group: 'Edit cells',
    name: `Change to heading ${level}`,
    run: () => actions.heading(level),
  })),
  {
    keys: 'Shift-m',
    mode: 'command',
    group: 'Edit cells',
    name: 'Merge cells',
    run: () => void actions.merge(),
  },
  {
    keys: 'Mod-Shift-ArrowUp',
    mode: 'both',
    group: 'Edit cells',
    name: 'Move cells up',
    run: () => actions.shift(-1),
  },
  {
    keys: 'Mod-Shift-ArrowDown',
    mode: 'both',
    group: 'Edit cells',
    name: 'Move cells down',
    run: () => actions.shift(1),
  },
  { keys: 'Mod-Shift--', mode: 'edit', group: 'Edit cells', name: 'Split cell at cursor' },
  { keys: 'Tab', mode: 'edit', group: 'Editor', name: 'Complete or indent' },
  { keys: 'Shift-Tab', mode: 'edit', group: 'Editor', name: 'Show documentation or unindent' },
  { keys: 'Mod-/', mode: 'edit', group: 'Editor', name: 'Toggle comment' },
  { keys: 'o', mode: 'command', group: 'View', name: 'Toggle outputs', run: actions.toggleOutput },
  {
    keys: 'Shift-l',
    mode: 'command',
    group: 'View',
    name: 'Toggle line numbers',
    run: actions.toggleNumbers,
  },
  { keys: 'Space', mode: 'command', group: 'View', name: 'Scroll down', run: () => actions.scroll(1) },
  { keys: 'Shift-Space', mode: 'command', group: 'View', name: 'Scroll up', run: () => actions.scroll(-1) },
  {
    keys: 'h',
    mode: 'command',
    group: 'View',
    name: 'Show keyboard shortcuts',
    run: () => actions.toggleSheet('help'),
  },
  {
    keys: 'Mod-l',
    mode: 'both',
    group: 'Assistant',
    name: 'Focus assistant',
    run: focusComposer,
    isAnywhere: true,
  },
  {
    keys: 'Mod-j',
    mode: 'both',
    group: 'Assistant',
    name: 'Toggle assistant',
    run: actions.toggleAssistant,
    isAnywhere: true,
  },
  {
    keys: 'Mod-i',
    mode: 'both',
    group: 'Assistant',
    name: 'Open inline chat',
    run: actions.openInlineChat,
  },
  { keys: 'Enter', mode: 'both', group: 'Assistant', name: 'Send message' },
  { keys: 'f', mode: 'command', group: 'Agent', name: 'Follow agent', run: actions.toggleFollow },
  {
    keys: ']',
    mode: 'command',
    group: 'Agent',
    name: 'Next change to review',
    run: () => actions.toChange(1),
  },
  {
    keys: '[',
    mode: 'command',
    group: 'Agent',
    name: 'Previous change to review',
    run: () => actions.toChange(-1),
  },
  {
    keys: 'Alt-y',
    mode: 'both',
    group: 'Agent',
    name: 'Keep or accept change in this cell',
    run: () => actions.judgeActive('keep', false),
  },
  {
    keys: 'Alt-n',
    mode: 'both',
    group: 'Agent',
    name: 'Undo or reject change in this cell',
    run: () => actions.judgeActive('undo', false),
  },
  {
    keys: 'Alt-Shift-y',
    mode: 'both',
    group: 'Agent',
    name: 'Keep all changes',
    run: () => actions.judgeActive('keep', true),
  },
  {
    keys: 'Alt-Shift-n',
    mode: 'both',
    group: 'Agent',
    name: 'Undo all changes',
    run: () => actions.judgeActive('undo', true),
  },
]

/** The label of a key, as printed on keyboards. */
export const shownKeys = (keys: string) =>
  keys
    .replace('Mod', 'Ctrl')
    .replace(/-(?=.)/g, '+')
    .replace('Arrow', '')
    .replace(/(^|[+ ])([a-z])(?= |$)/g, (_, before: string, letter: string) => before + letter.toUpperCase())
