// The review dock at the bottom: all changes, and one row per turn when there are several.

import { judge, toChange } from '../actions'
import { turns, waiting } from '../state/doc'

const cells = (count: number) => (count === 1 ? '1 cell' : `${count} cells`)

export function ReviewDock() {
  const count = waiting.value.length
  if (count === 0) return null
  const several = turns.value.length > 1 ? turns.value : []
  return (
    <aside class="dock" aria-label="Changes to review">
      {several.map(({ turn, actor, count }, at) => (
        <div class="turn" key={turn} role="group" aria-label={`Turn ${at + 1} by ${actor.name}`}>
          <strong>{actor.name}</strong>{' '}
          <span>
            turn {at + 1}, {cells(count)}
          </span>
          <span class="spring" />
          <button class="quiet" onClick={() => void judge('undo', { turn: { turn } })}>
            Undo turn
          </button>
          <button class="quiet" onClick={() => void judge('keep', { turn: { turn } })}>
            Keep turn
          </button>
        </div>
      ))}
      <div class="all">
        <strong>{count === 1 ? '1 change' : `${count} changes`}</strong>
        <button aria-label="Previous change" title="Previous change ([)" onClick={() => toChange(-1)}>
          ↑
        </button>
        <button aria-label="Next change" title="Next change (])" onClick={() => toChange(1)}>
          ↓
        </button>
        <button title="Undo all changes (Alt+Shift+N)" onClick={() => void judge('undo', 'all')}>
          Undo all
        </button>
        <button
          class="primary"
          title="Keep all changes (Alt+Shift+Y)"
          onClick={() => void judge('keep', 'all')}
        >
          Keep all
        </button>
      </div>
    </aside>
  )
}
