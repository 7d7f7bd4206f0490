// Markdown rendered while it streams: complete blocks once, the last block with each update.

import { blocks, renderMarkdown } from '../out/markdown'
import { linkCells } from './cellLinks'

export class StreamedMarkdown {
  /** The length of the text that is rendered for good, and the number of its nodes. */
  private drawn = 0
  private nodes = 0

  constructor(
    private readonly host: HTMLElement,
    private readonly finish: (fragment: DocumentFragment) => void,
  ) {}

  draw(text: string, isWhole: boolean): void {
    const rest = text.slice(this.drawn)
    const raw = blocks(rest)
    const last = isWhole ? raw.length : raw.findLastIndex((block) => block.trim() !== '')
    while (this.host.childNodes.length > this.nodes) this.host.lastChild?.remove()
    for (const block of raw.slice(0, Math.max(0, last))) {
      const fragment = made(block)
      this.finish(fragment)
      this.host.append(fragment)
      this.drawn += block.length
    }
    this.nodes = this.host.childNodes.length
    const open = raw.slice(Math.max(0, last)).join('')
    if (open) this.host.append(made(open))
  }
}

/** A rendered block. If rendering fails, the block is shown as plain text. */
function made(block: string): DocumentFragment {
  try {
    const fragment = renderMarkdown(block)
    linkCells(fragment)
    return fragment
  } catch {
    const [fragment, plain] = [document.createDocumentFragment(), document.createElement('p')]
    plain.textContent = block
    fragment.append(plain)
    return fragment
  }
}
