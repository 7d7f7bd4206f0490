// A rendered Markdown cell.

import { useLayoutEffect, useRef } from 'preact/hooks'
import { renderMarkdown } from '../out/markdown'
import type { CellModel } from '../state/doc'

export function Markdown({ cell, isNear, onEdit }: { cell: CellModel; isNear: boolean; onEdit: () => void }) {
  const element = useRef<HTMLDivElement>(null)
  const version = cell.textVersion.value
  useLayoutEffect(() => {
    const host = element.current!
    if (!isNear) host.textContent = cell.source
    else if (cell.source.trim() === '') host.textContent = 'Empty Markdown cell'
    else host.replaceChildren(renderMarkdown(cell.source))
    host.classList.toggle('far', !isNear)
    host.classList.toggle('empty', cell.source.trim() === '')
  }, [version, isNear])
  return <div ref={element} class="prose" onDblClick={onEdit} />
}
