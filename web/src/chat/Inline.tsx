// The inline chat below a cell. A proposed change is shown in place and applied only if the user accepts it.

import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { change } from '../actions'
import { refocus } from '../cell/focus'
import { inline, proposed } from '../state/assistant'
import type { CellModel } from '../state/doc'
import { announcement } from '../state/view'
import { base, end, isSending, send, start, transcript, words } from './cellConversation'
import { nameOf } from './cellLinks'
import { Proposal } from './proposal'
import { ToolCall } from './ToolCall'
import type { TurnModel } from './transcript'
import { AnswerEnd, Prose, RetryNotice } from './Turn'

const CHANGED = 'This part of the cell has changed; ask again'

let judging: ((accepts: boolean) => void) | null = null

/** Accepts or rejects the visible proposal; returns `false` when there is none. */
export function judgeProposal(accepts: boolean): boolean {
  if (!judging) return false
  judging(accepts)
  return true
}

function close(): void {
  end()
  inline.value = null
  refocus()
}

export function Inline({ cell }: { cell: CellModel }) {
  const field = useRef<HTMLInputElement>(null)
  const host = useRef<HTMLDivElement>(null)
  const proposal = useRef<Proposal | null>(null)
  const fits = useSignal(true)
  const asked = inline.peek()
  const outputs = useRef(asked?.outputs ?? [])
  const turn = transcript.turns.value.at(-1)
  const text = transcript.proposal.value

  const judge = (accepts: boolean) => {
    const changes = accepts ? proposal.current!.change() : null
    if (changes) change(cell.id, changes)
    else if (accepts) {
      announcement.value = CHANGED
      return
    }
    announcement.value = accepts ? 'Accepted' : 'Rejected'
    close()
  }
  useLayoutEffect(() => {
    start(cell.id)
    // A chat restored after a reload does not take the focus.
    if (asked?.number !== 0) field.current?.focus()
    if (asked?.words) void send(outputs.current, asked.words)
  }, [])
  useLayoutEffect(() => {
    if (text === null) return
    proposal.current = new Proposal(cell, base(), text, host.current!, fits)
    // The source is about to be hidden; move the focus out of it first.
    if (host.current!.closest('.body')?.querySelector('.source')?.contains(document.activeElement))
      field.current?.focus()
    proposed.value = cell.id
    judging = judge
    announcement.value = 'The assistant proposes a change'
    return () => {
      proposal.current?.destroy()
      proposal.current = null
      judging = null
      proposed.value = null
    }
  }, [text])

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return
    if (event.key === 'Enter' && event.target === field.current) void send(outputs.current)
    else if (event.key === 'Escape') close()
    else if (event.altKey && !event.shiftKey && /^Key[YN]$/.test(event.code) && judging)
      judge(event.code === 'KeyY')
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  const isBusy = isSending.value || transcript.isAnswering.value
  return (
    <div
      class="inline-chat"
      role="group"
      aria-label={`Inline chat about ${nameOf(cell.id)}`}
      onKeyDown={onKeyDown}
    >
      <div ref={host} class="proposal" hidden={text === null} />
      {text !== null && <ProposalBar fits={fits.value} onJudge={judge} />}
      {turn && <InlineAnswer turn={turn} />}
      <div class="inline-line">
        <input
          ref={field}
          aria-label={`Describe the change to ${nameOf(cell.id)}`}
          value={words.value}
          placeholder={text === null ? 'Describe the change' : 'Refine the proposal'}
          onInput={(event) => (words.value = event.currentTarget.value)}
        />
        {isBusy && <span class="spinner" role="img" aria-label="Waiting for the model" />}
        {isBusy ? (
          <button class="quiet" onClick={close}>
            Stop
          </button>
        ) : (
          <button class="primary" disabled={!words.value.trim()} onClick={() => void send(outputs.current)}>
            Send
          </button>
        )}
        <button class="quiet" aria-label="Close the inline chat" title="Close (Esc)" onClick={close}>
          ×
        </button>
      </div>
    </div>
  )
}

function ProposalBar({ fits, onJudge }: { fits: boolean; onJudge: (accepts: boolean) => void }) {
  return (
    <div class="proposal-bar">
      <strong>Assistant</strong> <span>{fits ? 'proposes this change' : CHANGED}</span>
      <span class="spring" />
      <button class="quiet" title="Reject the change (Alt+N)" onClick={() => onJudge(false)}>
        Reject
      </button>
      <button class="primary" title="Apply the change (Alt+Y)" disabled={!fits} onClick={() => onJudge(true)}>
        Accept
      </button>
    </div>
  )
}

function InlineAnswer({ turn }: { turn: TurnModel }) {
  const parts = turn.parts.value
  const ended = turn.ended.value
  if (parts.length === 0 && !ended) return null
  return (
    <div class="inline-answer answer" role="group" aria-label="Answer" tabIndex={0}>
      {parts.map((part, at) =>
        part.kind === 'text' ? (
          <Prose key={part.key} part={part} isWhole={ended !== null || at < parts.length - 1} />
        ) : (
          part.tool !== 'propose_change' && <ToolCall key={part.key} call={part} isOver={ended !== null} />
        ),
      )}
      <RetryNotice turn={turn} />
      {ended && <AnswerEnd ending={ended.ending} usage={null} again={null} />}
    </div>
  )
}
