// A message of the user and its answer.

import { useComputed, useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { insert } from '../actions'
import type { AnswerEnding, ChatMessage, TokenUsage } from '../net/protocol'
import { connection, file } from '../state/doc'
import { notify, question } from '../state/view'
import { CellChip } from './cellLinks'
import { restore, sendOnce, transcript } from './conversation'
import { modeName, setMode } from './draft'
import { neededMode } from './neededMode'
import { StreamedMarkdown } from './streamedMarkdown'
import { ToolCall } from './ToolCall'
import type { AskedMessage, TextPart, TurnModel } from './transcript'

export function Turn({ turn, isLast }: { turn: TurnModel; isLast: boolean }) {
  const { asked } = turn
  const parts = turn.parts.value
  const ended = turn.ended.value
  // A killed host leaves an answer without an end.
  const isLost = !ended && connection.value === 'open' && transcript.answering.value !== asked.message
  const isOver = ended !== null || isLost
  const isSilent = !isOver && !turn.again.value && (parts.length === 0 || isWaiting(parts))
  return (
    <article
      class={`turn${turn.isUndone.value ? ' undone' : ''}`}
      aria-label={`You: ${asked.words.slice(0, 80)}`}
    >
      <UserMessage turn={turn} />
      <div class="answer">
        {parts.map((part, at) =>
          part.kind === 'text' ? (
            <Prose key={part.key} part={part} isWhole={isOver || at < parts.length - 1} />
          ) : (
            <ToolCall key={part.key} call={part} isOver={isOver} />
          ),
        )}
        {isSilent && (
          <p class="thinking">
            <span class="dots" aria-hidden="true">
              <i />
              <i />
              <i />
            </span>
            <span class="visually-hidden">Waiting for the model</span>
          </p>
        )}
        {!isOver && <RetryNotice turn={turn} />}
        {isLost && <p class="ending lost">Interrupted: the host stopped</p>}
        {ended && (
          <AnswerEnd
            ending={ended.ending}
            usage={ended.usage}
            again={isLast ? () => void sendOnce(`again-${asked.turn}`, message(turn)) : null}
          />
        )}
        {ended && isLast && <ModeSwitch turn={turn} />}
      </div>
    </article>
  )
}

/** Whether the model is working on the result of a call. */
function isWaiting(parts: TurnModel['parts']['value']): boolean {
  const last = parts.at(-1)
  return last?.kind === 'call' && last.result.value !== null
}

/** The same message, to be sent again. */
function message({ asked }: TurnModel): Omit<ChatMessage, 'id'> {
  const { words, mode, selected, outputs } = asked
  return { words, mode, is_attached: isAttached(asked), attached: others(asked), selected, outputs }
}

const isAttached = ({ attached }: AskedMessage) => attached.includes(file.peek()?.path ?? '')
/** Attached notebooks other than the one on this page. */
const others = ({ attached }: AskedMessage) => attached.filter((path) => path !== file.peek()?.path)

/** The most cells with a chip each; more are counted. */
const MOST = 4

function UserMessage({ turn }: { turn: TurnModel }) {
  const { words, mode, turn: name, selected, outputs, notebook_mode, notes } = turn.asked
  const off = notebook_mode
    ? ''
    : isAttached(turn.asked)
      ? ' · notebook mode off: not active'
      : ' · notebook mode off: not attached'
  const ask = () => {
    question.value = {
      text: 'Undo all notebook changes by this answer and later ones? Your own edits and those of others stay.',
      yes: 'Restore',
      then: () => void restore(name),
    }
  }
  return (
    <div class="mine">
      <div class="bubble">{withReferences(words)}</div>
      <div class="with">
        {turn.isUndone.value ? (
          <span class="meta">restored</span>
        ) : (
          turn.ended.value && (
            <button
              class="quiet restore"
              title="Undo the changes by this answer and later ones"
              onClick={ask}
            >
              Restore to here
            </button>
          )
        )}
        {selected.slice(0, MOST).map((id) => (
          <CellChip key={id} id={id} />
        ))}
        {selected.length > MOST && <span class="meta">and {selected.length - MOST} more cells</span>}
        {outputs.map((id) => (
          <span key={id} class="with-output">
            output of <CellChip id={id} />
          </span>
        ))}
        {others(turn.asked).map((path) => (
          <span key={path} class="with-file" title={path}>
            {path.split('/').at(-1)}
          </span>
        ))}
        <span class="meta">
          {modeName(mode)}
          {off}
        </span>
      </div>
      {notes.map((note) => (
        <p key={note} class="note">
          {note}
        </p>
      ))}
    </div>
  )
}

/** Formats text in backticks as code. */
export function withCode(text: string) {
  return text.split('`').map((piece, at) => (at % 2 === 1 ? <code key={at}>{piece}</code> : piece))
}

/** Highlights references to tools and files. */
function withReferences(words: string) {
  return words.split(/((?<![\w/])[#@][\w./-]*\w)/).map((piece, at) =>
    at % 2 === 1 ? (
      <span key={at} class="reference">
        {piece}
      </span>
    ) : (
      piece
    ),
  )
}

export function Prose({ part, isWhole }: { part: TextPart; isWhole: boolean }) {
  const host = useRef<HTMLDivElement>(null)
  const state = useRef<{ streamed: StreamedMarkdown; isWhole: boolean; frame: number } | null>(null)
  useLayoutEffect(() => {
    const made = { streamed: new StreamedMarkdown(host.current!, addCodeButtons), isWhole, frame: 0 }
    state.current = made
    const draw = () => {
      made.frame = 0
      made.streamed.draw(part.text.peek().replaceAll('\r', ''), made.isWhole)
    }
    draw()
    const stop = part.text.subscribe(() => (made.frame ||= requestAnimationFrame(draw)))
    return () => {
      stop()
      cancelAnimationFrame(made.frame)
    }
  }, [part])
  useLayoutEffect(() => {
    const made = state.current!
    if (!isWhole || made.isWhole) return
    made.isWhole = true
    made.streamed.draw(part.text.peek().replaceAll('\r', ''), true)
  }, [isWhole])
  return <div ref={host} class="prose" />
}

/** Adds Copy and Insert buttons to code blocks. */
function addCodeButtons(fragment: DocumentFragment): void {
  for (const pre of fragment.querySelectorAll('pre')) {
    const text = (pre.textContent ?? '').replace(/\n$/, '')
    const bar = document.createElement('div')
    bar.className = 'code-bar'
    const button = (name: string, then: () => void) => {
      const made = document.createElement('button')
      made.textContent = name
      made.onclick = then
      bar.append(made)
    }
    button(
      'Copy',
      () =>
        void navigator.clipboard.writeText(text).then(
          () => notify('Copied'),
          () => notify('The browser blocked copying'),
        ),
    )
    if (/^(language-(python|py))?$/.test(pre.querySelector('code')?.className ?? '')) {
      button('Insert as cell', () => void insert('below', 'code', false, text))
    }
    const box = document.createElement('div')
    box.className = 'code-box'
    pre.replaceWith(box)
    pre.tabIndex = 0
    pre.role = 'group'
    pre.ariaLabel = 'Code'
    box.append(pre, bar)
  }
}

export function RetryNotice({ turn }: { turn: TurnModel }) {
  const again = turn.again.value
  const now = useSignal(Date.now())
  useEffect(() => {
    if (!again) return
    now.value = Date.now()
    const timer = setInterval(() => (now.value = Date.now()), 250)
    return () => clearInterval(timer)
  }, [again])
  if (!again) return null
  const seconds = Math.ceil((again.at - now.value) / 1000)
  return (
    <p class="ending again">
      <span class="spinner" aria-hidden="true" />
      {again.message}. {seconds > 0 ? `Retrying in ${seconds} s` : 'Retrying…'}
    </p>
  )
}

const ENDINGS: Record<Exclude<AnswerEnding, object>, string> = {
  done: '',
  stopped: 'Stopped',
  too_long: 'Cut off at the maximum length',
  too_many_steps: 'Stopped: too many steps in one answer',
  refused: 'The provider refused to answer',
}

export function AnswerEnd({
  ending,
  usage,
  again,
}: {
  ending: AnswerEnding
  usage: TokenUsage | null
  again: (() => void) | null
}) {
  const failed = typeof ending === 'object' ? ending.failed : null
  return (
    <>
      {failed && (
        <div class="ending failed" role="group" aria-label="Provider error">
          <strong>{failed.message}</strong>
          {failed.hint && <p>{withCode(failed.hint)}</p>}
          {again && <button onClick={again}>Try again</button>}
        </div>
      )}
      {typeof ending === 'string' && ending !== 'done' && <p class={`ending ${ending}`}>{ENDINGS[ending]}</p>}
      {usage && <p class="usage">{usageText(usage)}</p>}
    </>
  )
}

function usageText({ input, cached, output, cost }: TokenUsage): string {
  if (input + output === 0) return ''
  const count = (tokens: number) => tokens.toLocaleString('en')
  const price = cost === null ? '' : ` · $${cost.toFixed(cost < 0.1 ? 4 : 2)}`
  return `${count(input)} tokens in${cached > 0 ? ` (${count(cached)} cached)` : ''} · ${count(output)} out${price}`
}

/** Offers the mode that the answer needed. */
function ModeSwitch({ turn }: { turn: TurnModel }) {
  const needs = useComputed(() => neededMode(turn))
  const mode = needs.value
  // Do not offer a switch for a notebook that was not attached.
  if (mode === null || !file.value || !isAttached(turn.asked)) return null
  const go = () => {
    setMode(mode)
    void sendOnce(`switch-${turn.asked.turn}`, { ...message(turn), mode })
  }
  return (
    <button class={`switch-mode ${mode}`} onClick={go}>
      Switch to {modeName(mode)} and send
    </button>
  )
}
