// The notebooks of a folder, with links to open them and a field for a new one.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { FolderListing } from '../net/protocol'
import { ask } from '../net/sync'
import { file } from '../state/doc'

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
