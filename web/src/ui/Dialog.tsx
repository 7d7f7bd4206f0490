// A sheet over the page that has the keyboard until it is closed, and then gives it back.

import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

interface Properties {
  title: string
  onClose: () => void
  /** Called when it is gone and the keyboard is back. */
  onClosed?: () => void
  children: ComponentChildren
}

export function Dialog({ title, onClose, onClosed, children }: Properties) {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = element.current!
    const before = document.activeElement
    dialog.showModal()
    return () => {
      dialog.close()
      if (before instanceof HTMLElement) before.focus({ preventScroll: true })
      onClosed?.()
    }
  }, [])
  return (
    <dialog
      ref={element}
      aria-label={title}
      onCancel={onClose}
      onClick={(event) => event.target === element.current && onClose()}
    >
      <div class="sheet">
        <div class="sheet-head">
          <h2>{title}</h2>
          <span class="spring" />
          <button class="quiet" aria-label="Close" onClick={onClose}>
            ×
          </button>
        </div>
        {children}
      </div>
    </dialog>
  )
}
