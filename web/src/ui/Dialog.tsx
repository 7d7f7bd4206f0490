// A modal dialog, which returns the focus when it closes.

import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

interface Properties {
  title: string
  onClose: () => void
  /** Called when the dialog is closed and the focus is back. */
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
