// The lazily loaded script of the assistant: its components, and the effects that connect it to the page.

import { effect } from '@preact/signals'
import { inline, isOpen, standing } from '../state/assist'
import { connection, file } from '../state/doc'
import * as about from './about'
import * as pane from './talk'

export { Assistant } from './Assistant'
export { explain } from './errors'
export { Inline, judgeProposal } from './Inline'

let isTaken = false
effect(() => {
  if (!file.value || isTaken) return
  isTaken = true
  void about.takeUp()
})
effect(() => {
  const calls = pane.talk.turns.value.at(-1)?.parts.value.filter((part) => part.kind === 'call') ?? []
  const asks = calls.some((call) => call.question.value === 'asked' && !call.result.value)
  standing.value = !pane.talk.isAnswering.value ? 'rests' : asks ? 'asks' : 'works'
})
effect(() => {
  if (connection.value !== 'open') pane.lost()
  else if (isOpen.value || inline.value) void pane.opened()
})
