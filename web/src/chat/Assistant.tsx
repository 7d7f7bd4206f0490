// The pane beside the notebook: transcript and composer.

import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { toggleAssistant } from '../actions'
import { NARROWEST, setWidth, WIDEST, width } from '../state/assistant'
import { file } from '../state/doc'
import { Composer } from './Composer'
import { setup, startNew, transcript } from './conversation'
import { PromptPreview } from './PromptPreview'
import { Turn, withCode } from './Turn'

export function Assistant() {
  const isPreviewOpen = useSignal(false)
  const account = setup.value?.account
  const model = account && 'model' in account ? account.model : ''
  return (
    <>
      <ResizeHandle />
      <div class="assistant-head">
        <h2>Assistant</h2>
        <span
          class="model"
          title={account && 'model' in account ? `${account.model} at ${account.provider}` : undefined}
        >
          {model}
        </span>
        <span class="spring" />
        <button class="quiet" title="New conversation" aria-label="New conversation" onClick={startNew}>
          <svg
            viewBox="0 0 16 16"
            width="16"
            height="16"
            fill="none"
            stroke="currentColor"
            stroke-width="1.5"
            stroke-linecap="round"
            aria-hidden="true"
          >
            <path d="M8 3v10M3 8h10" />
          </svg>
        </button>
        <button class="quiet" title="Hide (Ctrl+J)" aria-label="Hide the assistant" onClick={toggleAssistant}>
          <svg
            viewBox="0 0 16 16"
            width="16"
            height="16"
            fill="none"
            stroke="currentColor"
            stroke-width="1.5"
            stroke-linecap="round"
            aria-hidden="true"
          >
            <path d="m4 4 8 8M12 4l-8 8" />
          </svg>
        </button>
      </div>
      <Conversation />
      <Composer onPreview={() => (isPreviewOpen.value = true)} />
      {isPreviewOpen.value && <PromptPreview onClose={() => (isPreviewOpen.value = false)} />}
    </>
  )
}

/** Distance from the end, in pixels, within which new text is followed. */
const NEAR = 48

function Conversation() {
  const host = useRef<HTMLDivElement>(null)
  const isAway = useSignal(false)
  const turns = transcript.turns.value
  // Follow new text at the end; stay in place when the user has scrolled up.
  useLayoutEffect(() => {
    const element = host.current!
    let [isAtEnd, before] = [true, 0]
    const end = () => (element.scrollTop = element.scrollHeight)
    const grow = new ResizeObserver(() => isAtEnd && end())
    const onScroll = () => {
      const { scrollHeight, scrollTop, clientHeight } = element
      // New text also increases the distance to the end; only a decreasing position is a user's scroll.
      if (scrollHeight - scrollTop - clientHeight < NEAR) isAtEnd = true
      else if (scrollTop < before) isAtEnd = false
      before = scrollTop
      isAway.value = !isAtEnd
    }
    element.addEventListener('scroll', onScroll, { passive: true })
    grow.observe(element)
    grow.observe(element.firstElementChild!)
    end()
    return () => {
      element.removeEventListener('scroll', onScroll)
      grow.disconnect()
    }
  }, [])
  const count = turns.length
  useLayoutEffect(() => {
    if (count > 0) host.current!.scrollTop = host.current!.scrollHeight
  }, [count])
  return (
    <div class="conversation-box">
      <div
        ref={host}
        class="conversation"
        role="group"
        aria-label="Conversation"
        tabIndex={0}
        aria-busy={transcript.isAnswering.value}
      >
        <div class="turn-list">
          {turns.length === 0 && <Welcome />}
          {turns.map((turn, at) => (
            <Turn key={turn.key} turn={turn} isLast={at === turns.length - 1} />
          ))}
        </div>
      </div>
      {isAway.value && (
        <button
          class="to-end"
          aria-label="Scroll to the end"
          title="Scroll to the end"
          onClick={() => (host.current!.scrollTop = host.current!.scrollHeight)}
        >
          ↓
        </button>
      )}
    </div>
  )
}

/** Shown before the first message. */
function Welcome() {
  const known = setup.value
  if (!known) return <p class="welcome faint">…</p>
  if ('problem' in known.account) {
    return (
      <div class="welcome problem" role="group" aria-label="No AI model configured">
        <strong>{known.account.problem}</strong>
        <p>{withCode(known.account.hint)}</p>
      </div>
    )
  }
  return (
    <div class="welcome">
      <strong>Ask about {file.value?.name ?? 'the notebook'}</strong>
      <p>
        In Agent mode the assistant edits and runs cells
        {known.run_code === 'ask' ? ', and asks before it runs code' : ''}. You review its changes.
      </p>
    </div>
  )
}

/** The draggable edge that resizes the pane. */
function ResizeHandle() {
  const onPointerDown = (event: PointerEvent) => {
    const edge = event.currentTarget as HTMLElement
    edge.setPointerCapture(event.pointerId)
    const move = (moved: PointerEvent) => setWidth(innerWidth - moved.clientX)
    edge.addEventListener('pointermove', move)
    edge.addEventListener('lostpointercapture', () => edge.removeEventListener('pointermove', move), {
      once: true,
    })
    event.preventDefault()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowLeft: 16, ArrowRight: -16 }[event.key]
    if (by === undefined) return
    setWidth(width.peek() + by)
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div
      class="edge"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label="Assistant width"
      aria-valuenow={width.value}
      aria-valuemin={NARROWEST}
      aria-valuemax={WIDEST}
      onPointerDown={onPointerDown}
      onKeyDown={onKeyDown}
    />
  )
}
