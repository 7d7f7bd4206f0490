// A sandboxed frame: it may run scripts, and has no access to page, cookies or network.

import { whenOpen } from '../state/doc'

const HIGHEST = 2000

export interface Content {
  html?: string
  /** A figure, and the source of the library that draws it. */
  plotly?: { figure: unknown; program: string }
}

export function frame(content: () => Promise<Content>): HTMLElement {
  const element = document.createElement('iframe')
  element.className = 'frame'
  element.setAttribute('sandbox', 'allow-scripts')
  element.title = 'Output'
  whenOpen(() => (element.src = '/frame.html'))
  element.height = '150'
  const onMessage = (event: MessageEvent) => {
    if (!element.isConnected) return removeEventListener('message', onMessage)
    if (event.source !== element.contentWindow) return
    const message = event.data as { ready?: unknown; height?: unknown } | null
    if (message?.ready === true) {
      // The frame has an opaque origin, which cannot be named.
      void content().then((made) => element.contentWindow?.postMessage({ ...made, isDark: isDark() }, '*'))
    } else if (typeof message?.height === 'number' && Number.isFinite(message.height)) {
      element.height = String(Math.max(20, Math.min(HIGHEST, Math.ceil(message.height))))
    }
  }
  addEventListener('message', onMessage)
  return element
}

function isDark(): boolean {
  return getComputedStyle(document.documentElement).colorScheme === 'dark'
}
