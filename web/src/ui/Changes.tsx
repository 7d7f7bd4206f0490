// The history of the notebook, turn by turn, with Undo for each.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { TurnSummary } from '../net/protocol'
import { ask, notebook, settled, tell } from '../net/sync'
import { cells, indexes, review, version } from '../state/doc'
import { announcement, sheet } from '../state/view'
import { Dialog } from './Dialog'

function ago(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / 60_000)
  if (minutes < 1) return 'just now'
  if (minutes < 60) return `${minutes} min ago`
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ago`
  return new Date(Date.now() - milliseconds).toLocaleDateString()
}

/** Replaces cell ids by indexes. */
function numbered(deed: string): string {
  return deed.replace(/\bcell (\S+)/, (whole, id: string) =>
    cells.has(id) ? `cell ${indexes.peek().get(id) ?? 0}` : whole,
  )
}

export function Changes() {
  const turns = useSignal<TurnSummary[] | null>(null)
  const newest = version.value
  useEffect(() => {
    void ask(notebook('turns'), 'turns').then((found) => (turns.value = found ?? turns.peek()))
  }, [newest])
  const undo = async ({ turn, actor }: TurnSummary) => {
    await settled()
    if (await tell(notebook({ undo: { undo: { turn }, author: null } })))
      announcement.value = `Turn by ${actor.name} undone`
  }
  return (
    <Dialog title="Changes" onClose={() => (sheet.value = null)}>
      <label class="switch">
        <input
          type="checkbox"
          checked={review.value.is_on}
          onChange={(event) => void tell(notebook({ set_review: event.currentTarget.checked }))}
        />
        Review agent changes in this notebook
      </label>
      {turns.value?.length === 0 && <p class="faint">No changes yet.</p>}
      <ol class="turns">
        {turns.value?.map((turn) => (
          <li key={turn.turn} class={turn.is_undone ? 'undone' : ''}>
            <div class="turn-head">
              <strong class={turn.actor.kind}>
                {turn.actor.kind === 'disk' ? 'Another program' : turn.actor.name}
              </strong>
              <span class="faint">{ago(Date.now() - turn.until)}</span>
            </div>
            <div class="deeds">{turn.deeds.map(numbered).join(', ')}</div>
            {turn.is_undone ? (
              <span class="faint">undone</span>
            ) : (
              <button onClick={() => void undo(turn)} aria-label={`Undo this turn by ${turn.actor.name}`}>
                Undo
              </button>
            )}
          </li>
        ))}
      </ol>
    </Dialog>
  )
}
