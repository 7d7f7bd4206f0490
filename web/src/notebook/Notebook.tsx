// The list of cells, with placeholders for cells that agents deleted.

import { useSignal } from '@preact/signals'
import { insert } from '../actions'
import { Cell } from '../cell/Cell'
import { DeletedCell } from '../cell/ReviewBar'
import { connection, deletedCells, order } from '../state/doc'
import { active } from '../state/view'

function DeletedCells({ after }: { after: string | null }) {
  const here = deletedCells.value.get(after)
  return here ? (
    <>
      {here.map(({ id, change }) => (
        <DeletedCell key={id} id={id} change={change} />
      ))}
    </>
  ) : null
}

function Between({ after }: { after: string | null }) {
  const add = (kind: 'code' | 'markdown') => {
    active.value = after
    if (after === null) insert('above', kind, true)
    else insert('below', kind, true)
  }
  // Draw the buttons on first hover only: a large notebook has a thousand of these.
  const isMet = useSignal(false)
  return (
    <div class="between" onPointerEnter={() => (isMet.value = true)}>
      {isMet.value && (
        <>
          <button tabIndex={-1} onClick={() => add('code')}>
            + Code
          </button>
          <button tabIndex={-1} onClick={() => add('markdown')}>
            + Markdown
          </button>
        </>
      )}
    </div>
  )
}

export function Notebook() {
  const ids = order.value
  return (
    <main aria-label="Notebook" aria-busy={connection.value === 'connecting'}>
      <div class="column">
        <DeletedCells after={null} />
        <Between after={null} />
        {ids.map((id) => (
          <div class="place" key={id}>
            <Cell id={id} />
            <DeletedCells after={id} />
            <Between after={id} />
          </div>
        ))}
        {ids.length === 0 && connection.value === 'open' && (
          <button class="first" onClick={() => insert('below', 'code', true)}>
            Add the first cell
          </button>
        )}
      </div>
    </main>
  )
}
