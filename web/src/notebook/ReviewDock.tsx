// What waits for review in the whole notebook, at the bottom.

import { judge, toChange } from '../actions'
import { waiting } from '../state/doc'

export function ReviewDock() {
  const count = waiting.value.length
  if (count === 0) return null
  return (
    <aside class="dock" aria-label="Changes to review">
      <strong>{count === 1 ? '1 change' : `${count} changes`}</strong>
      <button aria-label="Previous change" title="Previous change ([)" onClick={() => toChange(-1)}>↑</button>
      <button aria-label="Next change" title="Next change (])" onClick={() => toChange(1)}>↓</button>
      <button title="Undo all changes (Alt+Shift+N)" onClick={() => void judge('undo', 'all')}>Undo all</button>
      <button class="primary" title="Keep all changes (Alt+Shift+Y)" onClick={() => void judge('keep', 'all')}>Keep all</button>
    </aside>
  )
}
