// The page of a notebook that cannot be opened: the error and the next steps.

import { ask } from '../net/sync'
import { openError } from '../state/doc'
import { address, FileList } from '../ui/FileList'

const TITLES: Record<string, string> = {
  not_found: 'Notebook not found',
  invalid_json: 'This file is damaged',
  invalid_notebook: 'This file is not a notebook',
  too_new: 'This notebook needs a newer cellist',
  too_old: 'This notebook has an old format',
  not_permitted: 'No permission to read this notebook',
  is_folder: 'This is a folder',
}

const ADVICE: Record<string, string> = {
  invalid_json:
    'Open it as text to find the error. Fix it in an editor, or restore an earlier version, for example with git restore or from a backup. Then try again.',
  invalid_notebook: 'Open it as text to see its content.',
}

/** Errors of files that can be shown as text. */
const READABLE = new Set(['invalid_json', 'invalid_notebook', 'too_new', 'too_old'])

export function OpenError({ path }: { path: string }) {
  const failure = openError.value
  if (!failure) return null
  const { kind, message, hint } = failure
  const [folder, name] = [path.slice(0, path.lastIndexOf('/')) || '/', path.slice(path.lastIndexOf('/') + 1)]
  const text = message.startsWith(`${path}: `) ? message.slice(path.length + 2) : message
  const sentence = text.slice(0, 1).toUpperCase() + text.slice(1)
  const create = async () => {
    const created = await ask({ create: { folder, name } }, 'created')
    if (created !== null) location.href = address(created)
  }
  return (
    <main class="alone trouble" aria-label="Notebook">
      <h2>{TITLES[kind] ?? 'This notebook cannot be opened'}</h2>
      <p class="path">{path}</p>
      <p role="alert">
        {sentence}
        {kind !== 'not_found' && hint ? `: ${hint}` : ''}.
      </p>
      {ADVICE[kind] && <p>{ADVICE[kind]}</p>}
      <div class="row">
        {kind === 'not_found' && name && (
          <button class="primary" onClick={() => void create()}>
            Create this notebook
          </button>
        )}
        {READABLE.has(kind) && (
          <a
            class="button primary"
            href={`/raw?path=${encodeURIComponent(path)}`}
            target="_blank"
            rel="noreferrer"
          >
            Open as text
          </a>
        )}
        <button onClick={() => location.reload()}>Try again</button>
      </div>
      <h3>Other notebooks</h3>
      <FileList start={kind === 'is_folder' ? path : folder} />
    </main>
  )
}
