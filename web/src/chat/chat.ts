// The lazily loaded script of the assistant: its components, and the effects that connect it to the page.

import { effect } from '@preact/signals'
import { activity, inline, isOpen } from '../state/assistant'
import { connection, file } from '../state/doc'
import * as cell from './cellConversation'
import * as pane from './conversation'

export { Assistant } from './Assistant'
export { explain } from './explain'
export { Inline, judgeProposal } from './Inline'

let isTaken = false
effect(() => {
  if (!file.value || isTaken) return
  isTaken = true
  void cell.resume()
})
effect(() => {
  const calls = pane.transcript.turns.value.at(-1)?.parts.value.filter((part) => part.kind === 'call') ?? []
  const asks = calls.some((call) => call.question.value === 'asked' && !call.result.value)
  activity.value = !pane.transcript.isAnswering.value ? 'idle' : asks ? 'asking' : 'working'
})
effect(() => {
  if (connection.value !== 'open') pane.disconnected()
  else if (isOpen.value || inline.value) void pane.ensureOpen()
})
