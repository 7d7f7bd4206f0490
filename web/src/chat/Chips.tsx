// Attachments of a message: notebooks, cells and outputs. The selection is offered.

import { useComputed } from '@preact/signals'
import { cells, file } from '../state/doc'
import { selected as chosen } from '../state/view'
import { isThere, nameOf } from './cellLinks'
import { attached, include, isAttached, notebookModeOff, outputs, selected, without } from './draft'

function Chip({ label, title, onRemove }: { label: string; title?: string; onRemove: () => void }) {
  return (
    <span class="chip" title={title}>
      <span class="chip-label">{label}</span>
      <button aria-label={`Remove ${label}`} title="Remove" onClick={onRemove}>
        ×
      </button>
    </span>
  )
}

function Offer({ label, title, onTake }: { label: string; title: string; onTake: () => void }) {
  return (
    <button class="chip offer" title={title} aria-label={`Attach ${label}`} onClick={onTake}>
      {label}
    </button>
  )
}

const several = (ids: string[]) => (ids.length === 1 ? nameOf(ids[0]!) : `${ids.length} cells`)

/** The most cells with a chip each; more share one. */
const MOST = 4

export function Chips() {
  const name = file.value?.name ?? 'notebook'
  // Cells and outputs are sent only with their notebook.
  const [whole, shown] = isAttached.value
    ? [selected.value.filter(isThere), outputs.value.filter(isThere)]
    : [[], []]
  const offered = useComputed(() =>
    chosen.value.filter((id) => isAttached.value && !selected.value.includes(id)),
  )
  const shows = useComputed(() =>
    chosen.value.filter(
      (id) =>
        isAttached.value && !outputs.value.includes(id) && (cells.get(id)?.outputs.value.length ?? 0) > 0,
    ),
  )
  return (
    <div class="chips" role="group" aria-label="Attachments">
      {isAttached.value ? (
        <Chip label={name} title="Attached notebook" onRemove={() => (isAttached.value = false)} />
      ) : (
        <Offer label={name} title="Attach the notebook" onTake={() => (isAttached.value = true)} />
      )}
      {attached.value.map((path) => (
        <Chip
          key={path}
          label={path.split('/').at(-1)!}
          title={path}
          onRemove={() => without(attached, path)}
        />
      ))}
      {whole.length > MOST ? (
        <Chip
          label={`${whole.length} cells`}
          title="Attached in full"
          onRemove={() => (selected.value = [])}
        />
      ) : (
        whole.map((id) => (
          <Chip key={id} label={nameOf(id)} title="Attached in full" onRemove={() => without(selected, id)} />
        ))
      )}
      {shown.map((id) => (
        <Chip key={id} label={`output of ${nameOf(id)}`} onRemove={() => without(outputs, id)} />
      ))}
      {offered.value.length > 0 && (
        <Offer
          label={`selection: ${several(offered.value)}`}
          title="Attach the selected cells"
          onTake={() => include(selected, ...offered.value)}
        />
      )}
      {shows.value.length > 0 && (
        <Offer
          label="output"
          title={`Attach the output of ${several(shows.value)}`}
          onTake={() => include(outputs, ...shows.value)}
        />
      )}
    </div>
  )
}

/** The reason that notebook tools are off. */
export function NotebookModeNotice() {
  const why = notebookModeOff.value
  return why ? (
    <p class="missing" role="note">
      Notebook mode is off: {why}.
    </p>
  ) : null
}
