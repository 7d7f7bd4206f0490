// A tool call as one row: state, effects and duration. Expanded, it shows arguments and output.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { durationText } from '../cell/Gutter'
import { highlighted, languageOf } from '../cell/language'
import type { Approval, CellEdit } from '../net/protocol'
import { terminal } from '../out/term'
import { file } from '../state/doc'
import { CellChip, cellOf, nameOf } from './cellLinks'
import { approve } from './conversation'
import type { Call } from './transcript'

type CallState = 'asks' | 'running' | 'done' | 'failed' | 'ended'

const GLYPHS: Record<CallState, string> = { asks: '?', running: '', done: '✓', failed: '×', ended: '–' }
const STATES: Record<CallState, string> = {
  asks: 'needs approval',
  running: 'running',
  done: 'done',
  failed: 'failed',
  ended: 'did not finish',
}

export function ToolCall({ call, isOver }: { call: Call; isOver: boolean }) {
  const isOpen = useSignal(false)
  const result = call.result.value
  const asks = call.question.value === 'asked' && !result && !isOver
  const state: CallState = result
    ? result.is_failure
      ? 'failed'
      : 'done'
    : asks
      ? 'asks'
      : isOver
        ? 'ended'
        : 'running'
  const deeds = result?.deeds ?? []
  const [added, removed] = [
    deeds.reduce((sum, one) => sum + one.added, 0),
    deeds.reduce((sum, one) => sum + one.removed, 0),
  ]
  const about = [...new Set(deeds.length > 0 ? deeds.map(({ cell }) => cell) : namedCells(call.arguments))]
  const verb = verbOf(call.tool, deeds)
  const most = verb ? 1 : 2
  // Show the code that the user is asked to approve.
  const hasBody =
    isOpen.value ||
    (asks && Object.entries(call.arguments ?? {}).some(([name, value]) => codeIn(name, value) !== null))
  return (
    <div
      class={`call ${state}`}
      role="group"
      aria-label={`${call.tool} ${STATES[state]}`}
      data-tool={call.tool}
    >
      <div class="call-row">
        <button
          class="call-name"
          aria-expanded={hasBody}
          title={hasBody ? 'Hide details' : 'Show arguments and output'}
          onClick={() => (isOpen.value = !isOpen.value)}
        >
          {state === 'running' ? (
            <span class="spinner" aria-hidden="true" />
          ) : (
            <span class="glyph" aria-hidden="true">
              {GLYPHS[state]}
            </span>
          )}
          <span class="name">{call.tool}</span>
        </button>
        {verb && <span class="verb">{verb}</span>}
        {about.slice(0, most).map((id) => (
          <CellChip key={id} id={id} />
        ))}
        {about.length > most && <span class="more">+{about.length - most}</span>}
        <span class="spring" />
        {added + removed > 0 && (
          <span class="counts">
            {added > 0 && <ins>+{added}</ins>}
            {removed > 0 && <del>−{removed}</del>}
          </span>
        )}
        {result ? (
          <span class="took">{result.duration_ms < 1 ? '<1 ms' : durationText(result.duration_ms)}</span>
        ) : (
          state === 'running' && call.startedAt !== null && <Running startedAt={call.startedAt} />
        )}
      </div>
      {hasBody && <Body call={call} />}
      {asks && <Approval call={call} />}
    </div>
  )
}

const VERBS: Record<CellEdit['deed'], string> = {
  added: 'add',
  changed: 'update',
  deleted: 'delete',
  moved: 'move',
  ran: 'run',
}

/** The effect of a call, when the tool's name does not tell it. */
function verbOf(tool: string, deeds: CellEdit[]): string {
  const [first] = deeds
  if (!first || deeds.some(({ deed }) => deed !== first.deed) || first.deed === 'changed') return ''
  return tool.includes(VERBS[first.deed]) ? '' : first.deed
}

function Running({ startedAt }: { startedAt: number }) {
  const now = useSignal(Date.now())
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), 250)
    return () => clearInterval(timer)
  }, [])
  // Calls that end at once show no timer.
  return now.value - startedAt < 400 ? null : <span class="took">{durationText(now.value - startedAt)}</span>
}

const CHOICES: [Approval, string][] = [
  ['once', 'Run once'],
  ['always', 'Always for this notebook'],
  ['no', 'Don’t run'],
]

const FILE_CHOICES: [Approval, string][] = [
  ['once', 'Allow in this conversation'],
  ['no', 'Don’t change'],
]

function Approval({ call }: { call: Call }) {
  const path = call.path.value
  const isBusy = useSignal(false)
  const choose = async (verdict: Approval) => {
    isBusy.value = true
    if ((await approve(call.id, verdict)) !== null) call.question.value = verdict
    isBusy.value = false
  }
  return (
    <div
      class="approval"
      role="group"
      aria-label={path === null ? 'Run this code?' : `Allow changes to ${path}?`}
    >
      {path !== null && (
        <p>
          Other programs run <code>{path}</code> or take settings from it. Allow the change?
        </p>
      )}
      {(path === null ? CHOICES : FILE_CHOICES).map(([verdict, name]) => (
        <button
          key={verdict}
          class={verdict === 'once' ? 'primary' : ''}
          disabled={isBusy.value}
          onClick={() => void choose(verdict)}
        >
          {name}
        </button>
      ))}
    </div>
  )
}

function Body({ call }: { call: Call }) {
  const result = call.result.value
  const entries = Object.entries((call.arguments ?? {}) as Record<string, unknown>)
  return (
    <div class="call-body">
      {entries.length > 0 && (
        <dl class="arguments" aria-label="Arguments">
          {entries.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <Value name={name} value={value} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {result && result.deeds.length > 0 && <p class="deeds">{result.deeds.map(effectText).join(', ')}</p>}
      {result && (
        <pre
          class="result"
          role="group"
          tabIndex={0}
          aria-label="Output"
          ref={(element) => element?.replaceChildren(terminal(result.text))}
        />
      )}
      {result && result.images > 0 && (
        <p class="faint">{result.images === 1 ? '1 image' : `${result.images} images`}</p>
      )}
    </div>
  )
}

function Value({ name, value }: { name: string; value: unknown }) {
  const cells = name === 'cell' || name === 'cells' ? [value].flat().map(cellOf) : []
  if (cells.length > 0 && cells.every((id) => id !== null))
    return (
      <>
        {cells.map((id) => (
          <CellChip key={id} id={id} />
        ))}
      </>
    )
  const code = codeIn(name, value)
  if (code === null) return <code>{typeof value === 'string' ? value : JSON.stringify(value)}</code>
  const language = languageOf('code', name === 'command' ? '' : (file.value?.language ?? ''))
  return (
    <pre
      role="group"
      tabIndex={0}
      aria-label={name}
      ref={(element) => element?.replaceChildren(highlighted(code, language))}
    />
  )
}

/** The code in an argument, if any. */
function codeIn(name: string, value: unknown): string | null {
  if (typeof value === 'string')
    return /^(content|code|command|new|old|source)$/.test(name) || value.includes('\n') ? value : null
  if (name !== 'cells' || !Array.isArray(value)) return null
  const codes = value.flatMap((one: unknown) =>
    one !== null && typeof one === 'object' && 'code' in one ? [String(one.code)] : [],
  )
  return codes.length === 0 ? null : codes.join('\n\n')
}

/** The cells that the arguments name. */
function namedCells(all: unknown): string[] {
  if (all === null || typeof all !== 'object') return []
  const { cell, cells } = all as { cell?: unknown; cells?: unknown }
  return [cell, ...(Array.isArray(cells) ? cells : [])].map(cellOf).filter((id) => id !== null)
}

function effectText({ cell, deed, added, removed }: CellEdit): string {
  const counts = added + removed > 0 ? ` (+${added} −${removed})` : ''
  return `${deed} ${nameOf(cell)}${counts}`
}
