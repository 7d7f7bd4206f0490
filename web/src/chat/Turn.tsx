// A message of the person, and what was answered to it.

import { useComputed, useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { insert } from '../actions'
import type { AnswerEnding, ChatMessage, TokenUsage } from '../net/protocol'
import { connection, file } from '../state/doc'
import { question, say } from '../state/view'
import { CellChip } from './cells'
import { modeName, setMode } from './draft'
import { needed } from './needs'
import { Streamed } from './stream'
import { press, restore, talk } from './talk'
import type { Asked, Turn as Told, Words } from './told'
import { ToolCall } from './ToolCall'

export function Turn({ turn, isLast }: { turn: Told; isLast: boolean }) {
  const { asked } = turn
  const parts = turn.parts.value
  const ended = turn.ended.value
  // A host that was killed has left an answer without an end.
  const isLost = !ended && connection.value === 'open' && talk.answering.value !== asked.message
  const isOver = ended !== null || isLost
  const isSilent = !isOver && !turn.again.value && (parts.length === 0 || isWaiting(parts))
  return (
    <article class={`turn${turn.isUndone.value ? ' undone' : ''}`} aria-label={`You: ${asked.words.slice(0, 80)}`}>
      <Mine turn={turn} />
      <div class="answer">
        {parts.map((part, at) => part.kind === 'words'
          ? <Prose key={part.key} part={part} isWhole={isOver || at < parts.length - 1} />
          : <ToolCall key={part.key} call={part} isOver={isOver} />)}
        {isSilent && <p class="thinking"><span class="dots" aria-hidden="true"><i /><i /><i /></span><span class="only-heard">Waiting for the model</span></p>}
        {!isOver && <Again turn={turn} />}
        {isLost && <p class="ending lost">Broken off: the host was ended</p>}
        {ended && <End ending={ended.ending} usage={ended.usage} again={isLast ? () => void press(`again-${asked.turn}`, message(turn)) : null} />}
        {ended && isLast && <Switch turn={turn} />}
      </div>
    </article>
  )
}

/** Whether the model is at work after a call that is over. */
function isWaiting(parts: Told['parts']['value']): boolean {
  const last = parts.at(-1)
  return last?.kind === 'call' && last.result.value !== null
}

/** The message again, as it was. */
function message({ asked }: Told): Omit<ChatMessage, 'id'> {
  const { words, mode, selected, outputs } = asked
  return { words, mode, is_attached: isAttached(asked), attached: others(asked), selected, outputs }
}

const isAttached = ({ attached }: Asked) => attached.includes(file.peek()?.path ?? '')
/** Notebooks beside the one of this page. */
const others = ({ attached }: Asked) => attached.filter((path) => path !== file.peek()?.path)

/** Cells that are named one by one. */
const MOST = 4

function Mine({ turn }: { turn: Told }) {
  const { words, mode, turn: name, selected, outputs, notebook_mode, notes } = turn.asked
  const off = notebook_mode ? '' : isAttached(turn.asked) ? ' · notebook mode off: not in front' : ' · notebook mode off: not attached'
  const ask = () => {
    question.value = {
      text: 'Take back what this answer and all later ones changed in notebooks? What you and others changed stays.',
      yes: 'Restore',
      then: () => void restore(name),
    }
  }
  return (
    <div class="mine">
      <div class="bubble">{tinted(words)}</div>
      <div class="with">
        {turn.isUndone.value
          ? <span class="meta">restored</span>
          : turn.ended.value && <button class="quiet restore" title="Take back what was changed from here on" onClick={ask}>Restore to here</button>}
        {selected.slice(0, MOST).map((id) => <CellChip key={id} id={id} />)}
        {selected.length > MOST && <span class="meta">and {selected.length - MOST} more cells</span>}
        {outputs.map((id) => <span key={id} class="with-output">output of <CellChip id={id} /></span>)}
        {others(turn.asked).map((path) => <span key={path} class="with-file" title={path}>{path.split('/').at(-1)}</span>)}
        <span class="meta">{modeName(mode)}{off}</span>
      </div>
      {notes.map((note) => <p key={note} class="note">{note}</p>)}
    </div>
  )
}

/** What stands in backticks is set as code. */
export function withCode(text: string) {
  return text.split('`').map((piece, at) => (at % 2 === 1 ? <code key={at}>{piece}</code> : piece))
}

/** References stand out. */
function tinted(words: string) {
  return words.split(/((?<![\w/])[#@][\w./-]*\w)/).map((piece, at) => (at % 2 === 1 ? <span key={at} class="reference">{piece}</span> : piece))
}

export function Prose({ part, isWhole }: { part: Words; isWhole: boolean }) {
  const host = useRef<HTMLDivElement>(null)
  const state = useRef<{ streamed: Streamed; isWhole: boolean; frame: number } | null>(null)
  useLayoutEffect(() => {
    const made = { streamed: new Streamed(host.current!, equip), isWhole, frame: 0 }
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

/** Gives code what one does with code. */
function equip(fragment: DocumentFragment): void {
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
    button('Copy', () => void navigator.clipboard.writeText(text).then(() => say('Copied'), () => say('The browser does not let the page copy')))
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

export function Again({ turn }: { turn: Told }) {
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
  return <p class="ending again"><span class="spinner" aria-hidden="true" />{again.message}. {seconds > 0 ? `Asked again in ${seconds} s` : 'Asked again'}</p>
}

const SAID: Record<Exclude<AnswerEnding, object>, string> = {
  done: '', stopped: 'Stopped', too_long: 'Cut off: the answer reached the length that is allowed',
  too_many_steps: 'Ended: the model was asked as often as it may be in one answer', refused: 'The provider refused to answer',
}

export function End({ ending, usage, again }: { ending: AnswerEnding; usage: TokenUsage | null; again: (() => void) | null }) {
  const failed = typeof ending === 'object' ? ending.failed : null
  return (
    <>
      {failed && (
        <div class="ending failed" role="group" aria-label="The provider failed">
          <strong>{failed.message}</strong>
          {failed.hint && <p>{withCode(failed.hint)}</p>}
          {again && <button onClick={again}>Try again</button>}
        </div>
      )}
      {typeof ending === 'string' && ending !== 'done' && <p class={`ending ${ending}`}>{SAID[ending]}</p>}
      {usage && <p class="usage">{used(usage)}</p>}
    </>
  )
}

function used({ input, cached, output, cost }: TokenUsage): string {
  if (input + output === 0) return ''
  const count = (tokens: number) => tokens.toLocaleString('en')
  const price = cost === null ? '' : ` · $${cost.toFixed(cost < 0.1 ? 4 : 2)}`
  return `${count(input)} tokens read${cached > 0 ? ` (${count(cached)} known)` : ''} · ${count(output)} written${price}`
}

/** The way on where the mode was in the way. */
function Switch({ turn }: { turn: Told }) {
  const needs = useComputed(() => needed(turn))
  const mode = needs.value
  // A notebook that was not sent does not go along with a switch.
  if (mode === null || !file.value || !isAttached(turn.asked)) return null
  const go = () => {
    setMode(mode)
    void press(`switch-${turn.asked.turn}`, { ...message(turn), mode })
  }
  return <button class={`switch-mode ${mode}`} onClick={go}>Switch to {modeName(mode)} and send</button>
}
