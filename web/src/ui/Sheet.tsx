// Overlays: dialogs, the toast and the live region.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type Binding, shownKeys, table } from '../keys/table'
import type { FolderListing } from '../net/protocol'
import { ask } from '../net/sync'
import { file } from '../state/doc'
import { question, said, sheet, toast } from '../state/view'
import { Changes } from './Changes'
import { Dialog } from './Dialog'
import { Palette } from './Palette'

/** The name in the help; similar bindings share a line. */
const lineOf = (binding: Binding) => binding.name.replace(/ \d$/, '')

function Help() {
  const groups = new Map<string, Map<string, string[]>>()
  for (const binding of table) {
    const lines = groups.get(binding.group) ?? new Map<string, string[]>()
    groups.set(
      binding.group,
      lines.set(lineOf(binding), [...(lines.get(lineOf(binding)) ?? []), binding.keys]),
    )
  }
  return (
    <Dialog title="Keyboard shortcuts" onClose={() => (sheet.value = null)}>
      <div class="help">
        {[...groups].map(([group, lines]) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {[...lines].map(([name, all]) => (
                <div key={name}>
                  <dt>
                    {all.map((keys) => (
                      <kbd key={keys}>{shownKeys(keys)}</kbd>
                    ))}
                  </dt>
                  <dd>{name}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  )
}

export const address = (path: string) => `/?path=${encodeURIComponent(path)}`

/**
 * The notebooks of a folder; by default, or if it does not exist, of the folder that the page was opened
 * from.
 */
export function FileList({ start = null }: { start?: string | null }) {
  const folder = useSignal<FolderListing | null>(null)
  const name = useSignal('')
  const look = async (path: string | null, isQuiet = false): Promise<boolean> => {
    const found = await ask({ files: { folder: path } }, 'folder', isQuiet)
    folder.value = found ?? folder.peek()
    return found !== null
  }
  useEffect(() => void look(start, start !== null).then((isThere) => isThere || look(null)), [])
  const create = async (event: Event) => {
    event.preventDefault()
    if (!folder.value) return
    const created = await ask(
      { create: { folder: folder.value.path, name: name.value.trim() || 'untitled' } },
      'created',
    )
    if (created !== null) location.href = address(created)
  }
  const at = folder.value
  if (!at) return <p class="faint">Loading…</p>
  const join = (inner: string) => `${at.path.replace(/\/$/, '')}/${inner}`
  return (
    <div class="file-list">
      <p class="path">{at.path}</p>
      <ul>
        {at.parent !== null && (
          <li>
            <button class="quiet" onClick={() => void look(at.parent)}>
              ↑ Parent folder
            </button>
          </li>
        )}
        {at.folders.map((inner) => (
          <li key={inner}>
            <button class="quiet" onClick={() => void look(join(inner))}>
              {inner}/
            </button>
          </li>
        ))}
        {at.notebooks.map((inner) => (
          <li key={inner}>
            <a
              href={address(join(inner))}
              aria-current={file.value?.path === join(inner) ? 'page' : undefined}
            >
              {inner}
            </a>
          </li>
        ))}
      </ul>
      {at.notebooks.length === 0 && <p class="faint">No notebooks in this folder.</p>}
      <form onSubmit={(event) => void create(event)}>
        <input
          aria-label="Name of the new notebook"
          placeholder="untitled"
          value={name.value}
          onInput={(event) => (name.value = event.currentTarget.value)}
        />
        <button class="primary">New notebook</button>
      </form>
    </div>
  )
}

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

export function Over() {
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
      <div class="only-heard" role="status" aria-live="polite">
        {said.value}
      </div>
    </>
  )
}
