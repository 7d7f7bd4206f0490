// The composer: attachments, text, mode, Send and Stop.

import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { toChange } from '../actions'
import { elementOf } from '../cell/focus'
import { reportPresence } from '../presence'
import { registerComposer } from '../state/assistant'
import { waiting as reviews } from '../state/doc'
import { active, isEditing } from '../state/view'
import { Chips, NotebookModeNotice } from './Chips'
import {
  isCodeRunning,
  isStopped,
  refreshSetup,
  sendDraft,
  setup,
  stop,
  transcript,
  withdraw,
} from './conversation'
import { mode, MODES, setMode, words } from './draft'
import { beyond, means, type Mention, mentions, triggerAt } from './mentions'

export function Composer({ onPreview }: { onPreview: () => void }) {
  const field = useRef<HTMLTextAreaElement>(null)
  const cursor = useSignal(words.peek().length)
  const isClosed = useSignal(false)
  /** The index chosen by the arrow keys; -1 for none. */
  const chosen = useSignal(-1)
  const isAnswering = transcript.isAnswering.value
  const trigger = isClosed.value ? null : triggerAt(words.value, cursor.value)
  const found = trigger ? mentions(trigger, mode.value, setup.value) : []
  const isMeant = found[0] !== undefined && means(trigger!.query, found[0])
  const at = chosen.value < 0 && isMeant ? 0 : Math.min(chosen.value, found.length - 1)

  useLayoutEffect(() => registerComposer(field.current!), [])
  // The list of notebooks may have changed.
  useEffect(() => {
    if (trigger?.sign === '@') void refreshSetup()
  }, [trigger?.sign])
  // Grow with the text, up to the limit in the style sheet.
  useLayoutEffect(() => {
    const element = field.current!
    element.style.height = 'auto'
    element.style.height = `${element.scrollHeight + 2}px`
  }, [words.value])

  const take = (mention: Mention) => {
    const { from } = trigger!
    const [head, tail] = [words.peek().slice(0, from) + mention.text, words.peek().slice(cursor.peek())]
    words.value = head + tail.replace(/^ /, '')
    mention.take?.()
    chosen.value = -1
    const element = field.current!
    element.value = words.peek()
    element.setSelectionRange(head.length, head.length)
    cursor.value = head.length
    element.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (found.length > 0 && step !== undefined)
      chosen.value = (Math.max(at, step < 0 ? 0 : -1) + step + found.length) % found.length
    else if (found[at] && event.key === 'Enter' && !event.shiftKey) take(found[at])
    else if (found[0] && event.key === 'Tab' && !event.shiftKey) take(found[at] ?? found[0])
    else if (trigger && event.key === 'Escape') isClosed.value = true
    else if (event.key === 'Enter' && !event.shiftKey && !event.altKey) void sendDraft()
    else if (event.key === 'Escape') returnFocus()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  const follow = () => {
    cursor.value = field.current?.selectionStart ?? 0
  }
  return (
    <div class="composer">
      <Notices />
      {trigger && <Menu sign={trigger.sign} found={found} at={at} onTake={take} />}
      <div class="box">
        <Chips />
        <textarea
          ref={field}
          rows={2}
          aria-label="Message"
          aria-autocomplete="list"
          aria-controls="mentions"
          aria-haspopup="listbox"
          aria-activedescendant={found[at] ? `mention-${at}` : undefined}
          placeholder={isAnswering ? 'Message (queued until this finishes)' : 'Ask a question or give a task'}
          value={words.value}
          onKeyDown={onKeyDown}
          onKeyUp={follow}
          onClick={follow}
          onFocus={reportPresence}
          onInput={(event) => {
            words.value = event.currentTarget.value
            isClosed.value = false
            chosen.value = -1
            follow()
          }}
        />
        <ComposerTools onPreview={onPreview} />
      </div>
    </div>
  )
}

/** The row below the text: mode, preview, Queue, and Send or Stop. */
function ComposerTools({ onPreview }: { onPreview: () => void }) {
  const isAnswering = transcript.isAnswering.value
  const canStop = isAnswering || (isCodeRunning.value && !words.value.trim())
  return (
    <div class="tools">
      <Modes />
      <span class="spring" />
      <button
        class="quiet look"
        title="What the model sees"
        aria-label="What the model sees"
        onClick={onPreview}
      >
        <svg
          viewBox="0 0 16 16"
          width="16"
          height="16"
          fill="none"
          stroke="currentColor"
          stroke-width="1.4"
          aria-hidden="true"
        >
          <path d="M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8z" />
          <circle cx="8" cy="8" r="2" />
        </svg>
      </button>
      {isAnswering && words.value.trim() && (
        <button class="queue" onClick={() => void sendDraft()}>
          Queue
        </button>
      )}
      {canStop ? <StopButton /> : <SendButton />}
    </div>
  )
}

function StopButton() {
  const interrupts = isStopped.value || isCodeRunning.value
  return (
    <button
      class="send stop"
      aria-label={interrupts ? 'Interrupt the kernel' : 'Stop'}
      title={
        interrupts
          ? 'Interrupt the code that the answer started'
          : 'Stop the answer; press again to interrupt its code'
      }
      onClick={stop}
    >
      <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
        <rect x="2" y="2" width="8" height="8" rx="1.5" fill="currentColor" />
      </svg>
    </button>
  )
}

function SendButton() {
  return (
    <button
      class="send"
      aria-label="Send"
      title="Send (Enter)"
      disabled={!words.value.trim()}
      onClick={() => void sendDraft()}
    >
      <svg
        viewBox="0 0 12 12"
        width="13"
        height="13"
        fill="none"
        stroke="currentColor"
        stroke-width="1.8"
        stroke-linecap="round"
        stroke-linejoin="round"
        aria-hidden="true"
      >
        <path d="M6 10.5v-9M2 5.3l4-3.8 4 3.8" />
      </svg>
    </button>
  )
}

/** Returns the focus to the notebook. */
function returnFocus(): void {
  isEditing.value = false
  elementOf(active.peek() ?? '')?.focus({ preventScroll: true })
}

function Modes() {
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key]
    if (step === undefined) return
    const at = MODES.findIndex((one) => one.mode === mode.peek())
    setMode(MODES[(at + step + MODES.length) % MODES.length]!.mode)
    event.preventDefault()
    const group = event.currentTarget as HTMLElement
    queueMicrotask(() => group.querySelector<HTMLElement>('[aria-checked=true]')?.focus())
  }
  return (
    <div class="modes" role="radiogroup" aria-label="Mode" onKeyDown={onKeyDown}>
      {MODES.map((one) => (
        <button
          key={one.mode}
          role="radio"
          aria-checked={mode.value === one.mode}
          tabIndex={mode.value === one.mode ? 0 : -1}
          title={one.does}
          onClick={() => setMode(one.mode)}
        >
          {one.name}
        </button>
      ))}
    </div>
  )
}

function Menu({
  sign,
  found,
  at,
  onTake,
}: {
  sign: '#' | '@'
  found: Mention[]
  at: number
  onTake: (mention: Mention) => void
}) {
  if (found.length === 0) return null
  return (
    <ul
      id="mentions"
      class="mentions"
      role="listbox"
      tabIndex={0}
      aria-label={sign === '#' ? 'Tools' : 'Cells and notebooks'}
    >
      {found.map((mention, index) => (
        <li
          key={mention.key}
          id={`mention-${index}`}
          role="option"
          aria-selected={index === at}
          ref={(element) => {
            if (index === at) element?.scrollIntoView({ block: 'nearest' })
          }}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onTake(mention)}
        >
          <span class="label">{mention.label}</span>
          <span class="about">{mention.about}</span>
        </li>
      ))}
    </ul>
  )
}

/** Notices above the composer: running code, queued messages, changes to review, missing tools. */
function Notices() {
  const count = reviews.value.length
  const out = beyond(words.value, mode.value, setup.value)
  return (
    <div class="above">
      {isCodeRunning.value && (
        <p class="notice">
          Code that the answer started is still running. <button onClick={stop}>Interrupt</button>
        </p>
      )}
      {transcript.waiting.value.length > 0 && (
        <ol class="queued-messages" aria-label="Queued messages">
          {transcript.waiting.value.map(({ message, words }) => (
            <li key={message}>
              <span class="words">{words}</span>
              <button
                class="quiet"
                aria-label={`Remove the queued message ${words.slice(0, 40)}`}
                title="Remove from the queue"
                onClick={() => withdraw(message)}
              >
                ×
              </button>
            </li>
          ))}
        </ol>
      )}
      {count > 0 && (
        <button class="to-review" title="Go to the next change (])" onClick={() => toChange(1)}>
          {count === 1 ? '1 change to review' : `${count} changes to review`}
        </button>
      )}
      <NotebookModeNotice />
      {out.length > 0 && (
        <p class="notice">
          {out.join(', ')} {out.length === 1 ? 'needs' : 'need'} Agent mode.{' '}
          <button class="agent switch-mode" onClick={() => void sendDraft('agent')}>
            Switch to Agent and send
          </button>
        </p>
      )}
    </div>
  )
}
