// One cell: gutter, source, outputs and the state of its last run.

import { useComputed, useSignal, useSignalEffect } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { select } from '../actions'
import type { Participant } from '../net/protocol'
import { Outputs } from '../out/Outputs'
import { inline, parts, proposed } from '../state/assistant'
import { type CellModel, cells, indexes, order, participantsAt } from '../state/doc'
import { active, isEditing, selected } from '../state/view'
import { register } from './focus'
import { Gutter, useRunState } from './Gutter'
import { Markdown } from './Markdown'
import { ReviewBar } from './ReviewBar'
import { Slot, whenNear } from './slot'

export function Cell({ id }: { id: string }) {
  const cell = cells.get(id)
  return cell ? <CellView key={id} cell={cell} /> : null
}

const NOBODY: Participant[] = []

function CellView({ cell }: { cell: CellModel }) {
  const element = useRef<HTMLElement>(null)
  const host = useRef<HTMLDivElement>(null)
  const slot = useRef<Slot | null>(null)
  const isNear = useSignal(false)
  const isActive = useComputed(() => active.value === cell.id)
  const isSelected = useComputed(() => selected.value.length > 1 && selected.value.includes(cell.id))
  const edits = useComputed(() => isActive.value && isEditing.value)
  const others = useComputed(() => participantsAt.value.get(cell.id) ?? NOBODY)
  const isProposed = useComputed(() => proposed.value === cell.id)
  const inlineNumber = useComputed(() => (inline.value?.cell === cell.id ? inline.value.number : null))
  const kind = cell.kind.value
  const review = cell.review.value
  const isReviewed = review?.was.was === 'there' && kind !== 'raw'
  const isRendered = kind === 'markdown' && !edits.value && !isReviewed
  const runState = useRunState(cell)

  useLayoutEffect(() => {
    const made = new Slot(cell, host.current!)
    slot.current = made
    const stopNear = whenNear(element.current!, () => {
      made.comeNear()
      isNear.value = true
    })
    const stopFocus = register(cell.id, {
      element: element.current!,
      edit: () => {
        isNear.value = true
        host.current!.hidden = false
        made.edit().focus()
      },
    })
    return () => {
      stopNear()
      stopFocus()
      made.destroy()
    }
  }, [cell])
  useSignalEffect(() => {
    cell.textVersion.value
    cell.kind.value
    slot.current?.draw()
  })
  // Changes under review are shown as a diff, which needs an editor.
  useSignalEffect(() => {
    if (cell.review.value?.was.was === 'there' && isNear.value) slot.current?.edit()
  })

  const place = indexes.value.get(cell.id) ?? 0
  const by = others.value.find((one) => one.actor.kind === 'agent' && one.doing !== 'reading')
  const classes = [
    'cell',
    kind,
    isActive.value && 'active',
    edits.value && 'editing',
    isSelected.value && 'selected',
    review && 'reviewed',
    by && 'attended',
    cell.touched.value && 'touched',
    `is-${runState.word}`,
  ]
  return (
    <section
      ref={element}
      class={classes.filter(Boolean).join(' ')}
      data-cell={cell.id}
      tabIndex={isActive.value || (active.value === null && place === 0) ? 0 : -1}
      aria-current={isActive.value ? 'true' : undefined}
      aria-label={`Cell ${place + 1} of ${order.value.length}, ${kind}${runState.label ? `, ${runState.label}` : ''}`}
      onMouseDown={(event) => pressed(event, cell, slot.current)}
      onFocusIn={(event) => focused(event, cell)}
    >
      <Gutter cell={cell} others={others.value} isNear={isNear.value} />
      <div class="body">
        {review && <ReviewBar cell={cell} review={review} />}
        <div class="source" ref={host} hidden={isRendered || isProposed.value} />
        {isRendered && !isProposed.value && (
          <Markdown cell={cell} isNear={isNear.value} onEdit={() => select(cell.id, true)} />
        )}
        {inlineNumber.value !== null && <InlineChat key={inlineNumber.value} cell={cell} />}
        {kind === 'code' && <Outputs cell={cell} isNear={isNear.value} />}
        {kind === 'code' && runState.note && <p class={`run-state ${runState.word}`}>{runState.note}</p>}
      </div>
    </section>
  )
}

/** Selects the cell; a press on its source starts to edit there. */
function pressed(event: MouseEvent, cell: CellModel, slot: Slot | null): void {
  if (event.button !== 0 || !(event.target instanceof Element)) return
  if (event.target.closest('.inline-chat')) return
  const inSource = event.target.closest('.source') !== null
  if (!inSource) {
    if (!event.target.closest('button, a, .outputs, summary')) select(cell.id)
    else if (active.peek() !== cell.id) active.value = cell.id
    return
  }
  if (event.target.closest('button')) return
  const had = slot?.hasEditor() ?? false
  select(cell.id, true)
  if (!had) {
    event.preventDefault()
    slot?.edit().pointAt(event.clientX, event.clientY)
  }
}

/** Makes the cell active when the focus enters it. */
function focused(event: FocusEvent, cell: CellModel): void {
  const inEditor = event.target instanceof Element && event.target.closest('.cm-content') !== null
  if (active.peek() !== cell.id || isEditing.peek() !== inEditor) {
    if (inEditor) select(cell.id, true)
    else if (active.peek() !== cell.id) select(cell.id)
  }
}

/** The inline chat, once its script is loaded. */
function InlineChat({ cell }: { cell: CellModel }) {
  const Inline = parts.value?.Inline
  return Inline ? <Inline cell={cell} /> : null
}
