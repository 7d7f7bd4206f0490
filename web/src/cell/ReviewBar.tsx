// The bar above a cell that an agent changed: author, line counts, Keep and Undo.

import { judge } from '../actions'
import type { Unreviewed } from '../net/protocol'
import type { CellModel } from '../state/doc'

/** Counts added and removed lines, regardless of their order. */
export function counted(before: string, after: string): { added: number; removed: number } {
  const lines = new Map<string, number>()
  const list = (text: string) => (text === '' ? [] : text.split('\n'))
  for (const line of list(before)) lines.set(line, (lines.get(line) ?? 0) - 1)
  for (const line of list(after)) lines.set(line, (lines.get(line) ?? 0) + 1)
  let [added, removed] = [0, 0]
  for (const count of lines.values()) count > 0 ? (added += count) : (removed -= count)
  return { added, removed }
}

export function ReviewBar({ cell, review }: { cell: CellModel; review: Unreviewed }) {
  cell.textVersion.value
  const { was } = review
  const { added, removed } = counted(was.was === 'absent' ? '' : was.source, cell.source)
  const summary = [
    was.was === 'absent' ? 'added this cell' : added + removed > 0 ? 'edited' : '',
    was.was === 'there' && was.place ? 'moved it here' : '',
    was.was === 'there' && was.kind !== cell.kind.value ? `changed its type to ${cell.kind.value}` : '',
  ]
    .filter(Boolean)
    .join(', ')
  const scope = { cell: { cell: cell.id } }
  return (
    <div class="review-bar">
      <strong>{review.actor.name}</strong> <span>{summary}</span>
      <span class="counts">
        {added > 0 && <ins>+{added}</ins>} {removed > 0 && <del>−{removed}</del>}
      </span>
      <span class="spring" />
      <button
        class="quiet"
        title="Undo the change to this cell (Alt+N)"
        onClick={() => void judge('undo', scope)}
      >
        Undo
      </button>
      <button
        class="primary"
        title="Keep the change to this cell (Alt+Y)"
        onClick={() => void judge('keep', scope)}
      >
        Keep
      </button>
    </div>
  )
}

/** A placeholder for a cell that an agent deleted, until the user keeps or restores it. */
export function DeletedCell({ id, change }: { id: string; change: Unreviewed }) {
  const text = change.was.was === 'deleted' ? change.was.source : ''
  const scope = { cell: { cell: id } }
  return (
    <div
      class="deleted-cell"
      role="group"
      aria-label={`Cell deleted by ${change.actor.name}`}
      data-deleted-cell={id}
    >
      <strong>{change.actor.name}</strong> deleted <del>{text.split('\n')[0] || 'an empty cell'}</del>
      {text.includes('\n') && <span class="more">and {text.split('\n').length - 1} more lines</span>}
      <span class="spring" />
      <button class="quiet" title="Restore the cell" onClick={() => void judge('undo', scope)}>
        Restore
      </button>
      <button class="primary" title="Keep the cell deleted" onClick={() => void judge('keep', scope)}>
        Keep
      </button>
    </div>
  )
}
