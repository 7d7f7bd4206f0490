// The keys, in one table: what they do in which mode, and how that is called in the help.

import * as actions from '../actions'
import { focusComposer } from '../state/assist'
import { active, isEditing } from '../state/view'

export type Mode = 'command' | 'edit' | 'both'
/** Without `run` the editor itself does it; `isAnywhere` holds also where text is written beside the cells. */
export interface Binding {
  keys: string
  mode: Mode
  name: string
  group: string
  run?: () => void
  isAnywhere?: boolean
  /** Whether the key is ours at this moment. */
  when?: () => boolean
}

const edit = () => {
  if (active.peek()) isEditing.value = true
}
/** Text that is marked in an output is copied by the browser. A selection in an editor without focus does not count. */
const nothingMarked = () => {
  const marked = document.getSelection()
  return !marked || marked.isCollapsed || marked.anchorNode?.parentElement?.closest('.cm-editor') != null
}
const leave = () => {
  isEditing.value = false
}

/** `Mod` is Ctrl, or Cmd on a Mac. A space separates keys that are pressed one after the other. */
export const table: Binding[] = [
  {
    keys: 'Shift-Enter',
    mode: 'both',
    group: 'Run',
    name: 'Run, then select below',
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
    name: 'Commands',
    run: () => actions.toggleSheet('palette'),
  },
  {
    keys: 'Shift-h',
    mode: 'command',
    group: 'Notebook',
    name: 'Changes, and undoing a turn',
    run: () => actions.toggleSheet('changes'),
  },
  { keys: 'Mod-s', mode: 'both', group: 'Notebook', name: 'Save now', run: () => void actions.save() },
  { keys: 'Enter', mode: 'command', group: 'Cells', name: 'Edit', run: edit },
  { keys: 'Escape', mode: 'edit', group: 'Cells', name: 'Leave the editor', run: leave },
  { keys: 'Ctrl-m', mode: 'edit', group: 'Cells', name: 'Leave the editor', run: leave },
  { keys: 'ArrowUp', mode: 'command', group: 'Cells', name: 'Cell above', run: () => actions.move(-1) },
  { keys: 'k', mode: 'command', group: 'Cells', name: 'Cell above', run: () => actions.move(-1) },
  { keys: 'ArrowDown', mode: 'command', group: 'Cells', name: 'Cell below', run: () => actions.move(1) },
  { keys: 'j', mode: 'command', group: 'Cells', name: 'Cell below', run: () => actions.move(1) },
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
  { keys: 'Mod-a', mode: 'command', group: 'Cells', name: 'Select all', run: actions.selectAll },
  {
    keys: 'a',
    mode: 'command',
    group: 'Change cells',
    name: 'Insert above',
    run: () => void actions.insert('above'),
  },
  {
    keys: 'b',
    mode: 'command',
    group: 'Change cells',
    name: 'Insert below',
    run: () => void actions.insert('below'),
  },
  {
    keys: 'Mod-x',
    mode: 'command',
    group: 'Change cells',
    name: 'Cut',
    run: actions.cut,
    when: nothingMarked,
  },
  {
    keys: 'Mod-c',
    mode: 'command',
    group: 'Change cells',
    name: 'Copy',
    run: actions.copy,
    when: nothingMarked,
  },
  { keys: 'x', mode: 'command', group: 'Change cells', name: 'Cut', run: actions.cut },
  { keys: 'c', mode: 'command', group: 'Change cells', name: 'Copy', run: actions.copy },
  {
    keys: 'v',
    mode: 'command',
    group: 'Change cells',
    name: 'Paste below',
    run: () => actions.paste('below'),
  },
  {
    keys: 'Shift-v',
    mode: 'command',
    group: 'Change cells',
    name: 'Paste above',
    run: () => actions.paste('above'),
  },
  { keys: 'Mod-v', mode: 'command', group: 'Change cells', name: 'Paste the clipboard below' },
  {
    keys: 'Shift-c',
    mode: 'command',
    group: 'Change cells',
    name: 'Clear outputs',
    run: actions.clearOutputs,
  },
  {
    keys: 'Alt-Shift-c',
    mode: 'command',
    group: 'Change cells',
    name: 'Clear all outputs',
    run: actions.clearAll,
  },
  { keys: 'd d', mode: 'command', group: 'Change cells', name: 'Delete', run: actions.remove },
  { keys: 'z', mode: 'command', group: 'Change cells', name: 'Undo cell operation', run: actions.undoCells },
  {
    keys: 'Shift-z',
    mode: 'command',
    group: 'Change cells',
    name: 'Redo cell operation',
    run: actions.redoCells,
  },
  { keys: 'y', mode: 'command', group: 'Change cells', name: 'To code', run: () => actions.retype('code') },
  {
    keys: 'm',
    mode: 'command',
    group: 'Change cells',
    name: 'To Markdown',
    run: () => actions.retype('markdown'),
  },
  {
    keys: 'r',
    mode: 'command',
    group: 'Change cells',
    name: 'To raw text',
    run: () => actions.retype('raw'),
  },
  ...[1, 2, 3, 4, 5, 6].map((level): Binding => ({
    keys: String(level),
    mode: 'command',
    group: 'Change cells',
    name: `To a heading of level ${level}`,
    run: () => actions.heading(level),
  })),
  { keys: 'Shift-m', mode: 'command', group: 'Change cells', name: 'Merge', run: () => void actions.merge() },
  {
    keys: 'Mod-Shift-ArrowUp',
    mode: 'both',
    group: 'Change cells',
    name: 'Move up',
    run: () => actions.shift(-1),
  },
  {
    keys: 'Mod-Shift-ArrowDown',
    mode: 'both',
    group: 'Change cells',
    name: 'Move down',
    run: () => actions.shift(1),
  },
  { keys: 'Mod-Shift--', mode: 'edit', group: 'Change cells', name: 'Split at the cursor' },
  { keys: 'Tab', mode: 'edit', group: 'Editor', name: 'Complete, or indent' },
  { keys: 'Shift-Tab', mode: 'edit', group: 'Editor', name: 'Documentation, or less indent' },
  { keys: 'Mod-/', mode: 'edit', group: 'Editor', name: 'Comment out' },
  { keys: 'o', mode: 'command', group: 'View', name: 'Hide or show outputs', run: actions.toggleOutput },
  { keys: 'Shift-l', mode: 'command', group: 'View', name: 'Line numbers', run: actions.toggleNumbers },
  { keys: 'Space', mode: 'command', group: 'View', name: 'Scroll down', run: () => actions.scroll(1) },
  { keys: 'Shift-Space', mode: 'command', group: 'View', name: 'Scroll up', run: () => actions.scroll(-1) },
  { keys: 'h', mode: 'command', group: 'View', name: 'This help', run: () => actions.toggleSheet('help') },
  {
    keys: 'Mod-l',
    mode: 'both',
    group: 'Assistant',
    name: 'Write to the assistant',
    run: focusComposer,
    isAnywhere: true,
  },
  {
    keys: 'Mod-j',
    mode: 'both',
    group: 'Assistant',
    name: 'Show or hide the assistant',
    run: actions.toggleAssistant,
    isAnywhere: true,
  },
  {
    keys: 'Mod-i',
    mode: 'both',
    group: 'Assistant',
    name: 'Ask for a change of this cell',
    run: actions.talkInline,
  },
  { keys: 'Enter', mode: 'both', group: 'Assistant', name: 'Send the message that is written' },
  { keys: 'f', mode: 'command', group: 'Agent', name: 'Follow the agent', run: actions.toggleFollow },
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
    name: 'Keep or accept the change of this cell',
    run: () => actions.judgeActive('keep', false),
  },
  {
    keys: 'Alt-n',
    mode: 'both',
    group: 'Agent',
    name: 'Undo or reject the change of this cell',
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

/** Keys as they stand on a keyboard. */
export const shownKeys = (keys: string) =>
  keys
    .replace('Mod', 'Ctrl')
    .replace(/-(?=.)/g, '+')
    .replace('Arrow', '')
    .replace(/(^|[+ ])([a-z])(?= |$)/g, (_, before: string, letter: string) => before + letter.toUpperCase())
