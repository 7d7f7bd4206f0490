// The left margin of a cell: execution count, run state, participants and the Run button.

import { useComputed, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { runCells } from '../actions'
import type { Participant, Status } from '../net/protocol'
import type { CellModel } from '../state/doc'

export interface RunState {
  word: 'idle' | 'queued' | 'running' | 'ok' | 'failed' | 'stopped' | 'stale'
  /** Read by screen readers, which do not show the colours. */
  label: string
  note: string
}

export function durationText(milliseconds: number): string {
  if (milliseconds < 1) return 'under 1 ms'
  if (milliseconds < 100) return `${Math.round(milliseconds)} ms`
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(1)} s`
  const minutes = Math.floor(milliseconds / 60_000)
  return `${minutes} min ${Math.round((milliseconds % 60_000) / 1000)} s`
}

/** Run states other than success. An interrupt or a timeout is not a failure. */
const ENDED: Record<Exclude<Status, 'ok'>, Pick<RunState, 'word' | 'label'> & { took: string }> = {
  error: { word: 'failed', label: 'failed', took: 'failed in' },
  timeout: { word: 'stopped', label: 'timed out', took: 'timed out after' },
  cancelled: { word: 'stopped', label: 'interrupted', took: 'interrupted after' },
}

export function useRunState(cell: CellModel): RunState {
  return useComputed((): RunState => {
    const { activity, last, stale } = cell.state.value
    if (activity === 'pending') return { word: 'queued', label: 'queued', note: 'queued' }
    if (activity === 'running') return { word: 'running', label: 'running', note: '' }
    if (!last) return { word: 'idle', label: '', note: '' }
    const took = durationText(last.duration_ms)
    const isStale = stale.length > 0
    if (last.status !== 'ok') {
      const ended = ENDED[last.status]
      return {
        word: ended.word,
        label: ended.label,
        note: `${ended.took} ${took}${isStale ? `, ${why(stale)}` : ''}`,
      }
    }
    if (isStale)
      return { word: 'stale', label: `stale: ${why(stale)}`, note: `ran in ${took}, ${why(stale)}` }
    return { word: 'ok', label: 'succeeded', note: `ran in ${took}` }
  }).value
}

const why = (stale: string[]) => stale[0] ?? 'stale'

function Elapsed({ startedAt }: { startedAt: number }) {
  const now = useSignal(Date.now())
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), 100)
    return () => clearInterval(timer)
  }, [])
  return <span class="elapsed">{durationText(Math.max(100, now.value - startedAt))}</span>
}

export function Gutter({
  cell,
  others,
  isNear,
}: {
  cell: CellModel
  others: Participant[]
  isNear: boolean
}) {
  const runState = useRunState(cell)
  const count = cell.state.value.last?.order ?? cell.count.value
  if (cell.kind.value !== 'code')
    return (
      <div class="gutter">
        {others.map((one) => (
          <Badge one={one} />
        ))}
      </div>
    )
  return (
    <div class="gutter">
      {isNear && (
        <button
          class="run"
          title="Run this cell"
          aria-label="Run this cell"
          tabIndex={-1}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => void runCells([cell.id])}
        >
          <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
            <path d="M2.5 1.5v9l8-4.5z" fill="currentColor" />
          </svg>
        </button>
      )}
      {runState.word === 'running' ? (
        <span class="running">
          <span class="spinner" aria-hidden="true" />
          {cell.startedAt.value !== null && <Elapsed startedAt={cell.startedAt.value} />}
        </span>
      ) : runState.word === 'queued' ? (
        <span class="queued" title="queued">
          ○
        </span>
      ) : (
        <span class={`count ${runState.word}`} title={runState.label}>
          {count ?? ' '}
          {runState.word === 'failed' && <span aria-hidden="true"> ×</span>}
        </span>
      )}
      {others.map((one) => (
        <Badge one={one} />
      ))}
    </div>
  )
}

/** A dot for an agent that reads the cell, a letter for any other activity. */
function Badge({ one }: { one: Participant }) {
  if (one.doing === 'reading')
    return (
      <span
        class="reads"
        role="img"
        aria-label={`${one.actor.name} is reading this cell`}
        title={`${one.actor.name} is reading this cell`}
      />
    )
  return (
    <span class={`badge ${one.actor.kind}`} title={`${one.actor.name} is ${one.doing}`}>
      {one.actor.name.slice(0, 1).toUpperCase()}
    </span>
  )
}
