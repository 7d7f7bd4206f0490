// Overlays: dialogs, the toast and the live region.

import { announcement, question, sheet, toast } from '../state/view'
import { Changes } from './Changes'
import { Dialog } from './Dialog'
import { FileList } from './FileList'
import { Help } from './Help'
import { Palette } from './Palette'

function Question() {
  const asked = question.value
  if (!asked) return null
  const close = () => (question.value = null)
  return (
    <Dialog title={asked.yes} onClose={close}>
      <p>{asked.text}</p>
      <div class="row">
        <span class="spring" />
        <button onClick={close}>Cancel</button>
        <button
          class="primary"
          autofocus
          onClick={() => {
            close()
            asked.then()
          }}
        >
          {asked.yes}
        </button>
      </div>
    </Dialog>
  )
}

export function Overlays() {
  const word = toast.value
  return (
    <>
      {sheet.value === 'help' && <Help />}
      {sheet.value === 'changes' && <Changes />}
      {sheet.value === 'palette' && <Palette />}
      {sheet.value === 'files' && (
        <Dialog title="Notebooks" onClose={() => (sheet.value = null)}>
          <FileList />
        </Dialog>
      )}
      <Question />
      {word && (
        <div class="toast">
          <span>{word.text}</span>
          {word.action && (
            <button
              onClick={() => {
                toast.value = null
                word.action?.then()
              }}
            >
              {word.action.name}
            </button>
          )}
        </div>
      )}
      <div class="visually-hidden" role="status" aria-live="polite">
        {announcement.value}
      </div>
    </>
  )
}
