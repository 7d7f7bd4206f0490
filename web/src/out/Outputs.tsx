// The outputs of a cell. Unchanged outputs are not drawn again.

import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { PageOutput } from '../net/protocol'
import { explain, openInlineChat } from '../state/assistant'
import type { CellModel } from '../state/doc'
import { render } from './render'

const HIGHEST = 520

export function Outputs({ cell, isNear }: { cell: CellModel; isNear: boolean }) {
  const host = useRef<HTMLDivElement>(null)
  const drawn = useRef<{ key: string; element: HTMLElement }[]>([])
  const isTall = useSignal(false)
  const isWhole = useSignal(false)
  const outputs = cell.outputs.value
  const isFolded = cell.isFolded.value

  useLayoutEffect(() => {
    const element = host.current
    if (!element || !isNear || isFolded) {
      drawn.current = []
      return
    }
    draw(element, drawn.current, outputs)
    drawn.current.length = outputs.length
  }, [outputs, isNear, isFolded])
  useLayoutEffect(() => {
    const element = host.current
    if (!element) return
    const watch = new ResizeObserver(() => (isTall.value = element.scrollHeight > HIGHEST + 80))
    watch.observe(element)
    for (const child of element.children) watch.observe(child)
    return () => watch.disconnect()
  }, [outputs, isNear, isFolded])

  if (outputs.length === 0) return null
  if (isFolded) {
    return (
      <button class="folded" onClick={() => (cell.isFolded.value = false)}>
        {outputs.length === 1 ? '1 output hidden' : `${outputs.length} outputs hidden`}
      </button>
    )
  }
  const isCut = isTall.value && !isWhole.value
  return (
    <>
      <div
        ref={host}
        class={`outputs${isCut ? ' cut' : ''}`}
        role="group"
        aria-label="Outputs"
        {...(isCut ? { tabIndex: 0 } : {})}
      />
      {isTall.value && (
        <button class="whole" aria-expanded={isWhole.value} onClick={() => (isWhole.value = !isWhole.value)}>
          {isWhole.value ? 'Show less' : 'Show all'}
        </button>
      )}
      {isNear && outputs.some((output) => 'error' in output) && <Help id={cell.id} />}
    </>
  )
}

const FIX = 'Fix the error in this cell.'

/** Help with an error, by the assistant. */
function Help({ id }: { id: string }) {
  return (
    <div class="error-help" role="group" aria-label="Help with the error">
      <button title="Propose a change to this cell" onClick={() => openInlineChat(id, FIX, [id])}>
        Fix
      </button>
      <button title="Explain the error without changing the cell" onClick={() => explain(id)}>
        Explain
      </button>
    </div>
  )
}

function draw(
  host: HTMLElement,
  drawn: { key: string; element: HTMLElement }[],
  outputs: PageOutput[],
): void {
  outputs.forEach((output, at) => {
    const key = JSON.stringify(output)
    const known = drawn[at]
    if (known?.key === key && known.element.parentNode === host) return
    const element = render(output)
    if (known?.element.parentNode === host) known.element.replaceWith(element)
    else host.insertBefore(element, host.children[at] ?? null)
    drawn[at] = { key, element }
  })
  while (host.children.length > outputs.length) host.lastElementChild?.remove()
}
