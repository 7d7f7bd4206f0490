// A call of a tool as one row: how it stands, what the host really did, how long it took; opened, what was asked and
// what came of it.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { inWords } from '../cell/Gutter'
import { highlighted, languageOf } from '../cell/language'
import type { Approval, CellEdit } from '../net/protocol'
import { terminal } from '../out/term'
import { file } from '../state/doc'
import { CellChip, cellOf, nameOf } from './cells'
import { approve } from './talk'
import type { Call } from './told'

type Standing = 'asks' | 'running' | 'done' | 'failed' | 'ended'

const GLYPHS: Record<Standing, string> = { asks: '?', running: '', done: '✓', failed: '×', ended: '–' }
const STATES: Record<Standing, string> = {
  asks: 'waits for you', running: 'is under way', done: 'done', failed: 'failed', ended: 'did not come to an end',
}

export function ToolCall({ call, isOver }: { call: Call; isOver: boolean }) {
  const isOpen = useSignal(false)
  const result = call.result.value
  const asks = call.question.value === 'asked' && !result && !isOver
  const standing: Standing = result ? (result.is_failure ? 'failed' : 'done') : asks ? 'asks' : isOver ? 'ended' : 'running'
  const deeds = result?.deeds ?? []
  const [added, removed] = [deeds.reduce((sum, one) => sum + one.added, 0), deeds.reduce((sum, one) => sum + one.removed, 0)]
  const about = [...new Set(deeds.length > 0 ? deeds.map(({ cell }) => cell) : named(call.arguments))]
  const verb = verbOf(call.tool, deeds)
  const most = verb ? 1 : 2
  // Whoever decides sees the code.
  const hasBody = isOpen.value || (asks && Object.entries(call.arguments ?? {}).some(([name, value]) => codeIn(name, value) !== null))
  return (
    <div class={`call ${standing}`} role="group" aria-label={`${call.tool} ${STATES[standing]}`} data-tool={call.tool}>
      <div class="call-row">
        <button class="call-name" aria-expanded={hasBody} title={hasBody ? 'Close' : 'Arguments and output'} onClick={() => (isOpen.value = !isOpen.value)}>
          {standing === 'running' ? <span class="spinner" aria-hidden="true" /> : <span class="glyph" aria-hidden="true">{GLYPHS[standing]}</span>}
          <span class="name">{call.tool}</span>
        </button>
        {verb && <span class="verb">{verb}</span>}
        {about.slice(0, most).map((id) => <CellChip key={id} id={id} />)}
        {about.length > most && <span class="more">+{about.length - most}</span>}
        <span class="spring" />
        {added + removed > 0 && <span class="counts">{added > 0 && <ins>+{added}</ins>}{removed > 0 && <del>−{removed}</del>}</span>}
        {result ? <span class="took">{result.duration_ms < 1 ? '<1 ms' : inWords(result.duration_ms)}</span> : standing === 'running' && call.begun !== null && <Running begun={call.begun} />}
      </div>
      {hasBody && <Body call={call} />}
      {asks && <Approval call={call} />}
    </div>
  )
}

const SAID: Record<CellEdit['deed'], string> = { added: 'add', changed: 'update', deleted: 'delete', moved: 'move', ran: 'run' }

/** What was done, where the tool's name does not say it. */
function verbOf(tool: string, deeds: CellEdit[]): string {
  const [first] = deeds
  if (!first || deeds.some(({ deed }) => deed !== first.deed) || first.deed === 'changed') return ''
  return tool.includes(SAID[first.deed]) ? '' : first.deed
}

function Running({ begun }: { begun: number }) {
  const now = useSignal(Date.now())
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), 250)
    return () => clearInterval(timer)
  }, [])
  // What is over at once needs no clock.
  return now.value - begun < 400 ? null : <span class="took">{inWords(now.value - begun)}</span>
}

const CHOICES: [Approval, string][] = [['once', 'Run once'], ['always', 'Always for this notebook'], ['no', 'Don’t run']]

const FILE_CHOICES: [Approval, string][] = [['once', 'Allow in this conversation'], ['no', 'Don’t change']]

function Approval({ call }: { call: Call }) {
  const path = call.path.value
  const isBusy = useSignal(false)
  const choose = async (verdict: Approval) => {
    isBusy.value = true
    if ((await approve(call.id, verdict)) !== null) call.question.value = verdict
    isBusy.value = false
  }
  return (
    <div class="approval" role="group" aria-label={path === null ? 'May this run?' : `May ${path} change?`}>
      {path !== null && <p>Other programs run or obey <code>{path}</code>. May it change?</p>}
      {(path === null ? CHOICES : FILE_CHOICES).map(([verdict, name]) => (
        <button key={verdict} class={verdict === 'once' ? 'primary' : ''} disabled={isBusy.value} onClick={() => void choose(verdict)}>{name}</button>
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
          {entries.map(([name, value]) => <div key={name}><dt>{name}</dt><dd><Value name={name} value={value} /></dd></div>)}
        </dl>
      )}
      {result && result.deeds.length > 0 && <p class="deeds">{result.deeds.map(inSentence).join(', ')}</p>}
      {result && (
        <pre class="result" role="group" tabIndex={0} aria-label="Output" ref={(element) => element?.replaceChildren(terminal(result.text))} />
      )}
      {result && result.images > 0 && <p class="faint">{result.images === 1 ? 'and a picture' : `and ${result.images} pictures`}</p>}
    </div>
  )
}

function Value({ name, value }: { name: string; value: unknown }) {
  const cells = name === 'cell' || name === 'cells' ? [value].flat().map(cellOf) : []
  if (cells.length > 0 && cells.every((id) => id !== null)) return <>{cells.map((id) => <CellChip key={id} id={id} />)}</>
  const code = codeIn(name, value)
  if (code === null) return <code>{typeof value === 'string' ? value : JSON.stringify(value)}</code>
  const language = languageOf('code', name === 'command' ? '' : (file.value?.language ?? ''))
  return <pre role="group" tabIndex={0} aria-label={name} ref={(element) => element?.replaceChildren(highlighted(code, language))} />
}

/** What is code in an argument. */
function codeIn(name: string, value: unknown): string | null {
  if (typeof value === 'string') return /^(content|code|command|new|old|source)$/.test(name) || value.includes('\n') ? value : null
  if (name !== 'cells' || !Array.isArray(value)) return null
  const codes = value.flatMap((one: unknown) => (one !== null && typeof one === 'object' && 'code' in one ? [String(one.code)] : []))
  return codes.length === 0 ? null : codes.join('\n\n')
}

/** Cells that the arguments name. */
function named(all: unknown): string[] {
  if (all === null || typeof all !== 'object') return []
  const { cell, cells } = all as { cell?: unknown; cells?: unknown }
  return [cell, ...(Array.isArray(cells) ? cells : [])].map(cellOf).filter((id) => id !== null)
}

function inSentence({ cell, deed, added, removed }: CellEdit): string {
  const counts = added + removed > 0 ? ` (+${added} −${removed})` : ''
  return `${deed} ${nameOf(cell)}${counts}`
}
