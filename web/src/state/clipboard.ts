// Cells on their way to another place: in this tab, in other tabs, or through the system's clipboard.

import type { Cell } from '../net/protocol'

/** A cell that was copied. Without `json` only the host that it came from knows all of it. */
export interface Copied extends Cell { json: string | null }
/** Cells of one notebook, as they were when they were copied. */
export interface Clip { stamp: string; path: string; cells: Copied[] }

/** The type of cells on the system's clipboard. */
export const TYPE = 'application/x-cellist-cells+json'
const STAMP = 'cellist:clipboard'
/** The cache entry for clips that are too large for local storage. */
const SHELF = '/clipboard'

let clip: Clip | null = null

export const copied = (): Clip | null => clip

/** Puts cells where this tab finds them at once. */
export function hold(path: string, cells: Copied[]): Clip {
  clip = { stamp: crypto.randomUUID(), path, cells }
  return clip
}

/** Puts cells where other tabs and other programs find them. */
export async function share(shared: Clip): Promise<void> {
  const whole = JSON.stringify(shared)
  writeSystem(shared.cells.map(({ source }) => source).join('\n\n'), whole)
  try {
    await (await caches.open(STAMP)).put(SHELF, new Response(whole))
    localStorage.setItem(STAMP, shared.stamp)
  } catch {
    // A full disk: this tab still has it.
  }
}

function writeSystem(text: string, whole: string): void {
  const fill = (event: ClipboardEvent) => {
    event.preventDefault()
    event.stopImmediatePropagation()
    event.clipboardData?.setData('text/plain', text)
    event.clipboardData?.setData(TYPE, whole)
  }
  addEventListener('copy', fill, { capture: true })
  document.execCommand('copy')
  removeEventListener('copy', fill, { capture: true })
}

/** Takes the cells that another tab, or an earlier visit, has copied. */
async function fetchShared(): Promise<void> {
  const stamp = localStorage.getItem(STAMP)
  if (!stamp || stamp === clip?.stamp) return
  try {
    const found = read((await (await caches.match(SHELF))?.text()) ?? '')
    if (found) clip = found
  } catch {
    // It is gone, or was never whole.
  }
}

/** Cells as another page wrote them. The clipboard may hold anything: other forms give null. */
export function read(text: string): Clip | null {
  let found: unknown
  try {
    found = JSON.parse(text)
  } catch {
    return null
  }
  if (!isRecord(found) || typeof found['stamp'] !== 'string' || typeof found['path'] !== 'string') return null
  const cells = found['cells']
  if (!Array.isArray(cells) || cells.length === 0 || !cells.every(isCopied)) return null
  return { stamp: found['stamp'], path: found['path'], cells }
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

function isCopied(value: unknown): value is Copied {
  if (!isRecord(value)) return false
  const { id, kind, source, json } = value
  return typeof id === 'string' && /^(code|markdown|raw)$/.test(String(kind)) && typeof source === 'string' && (json === null || typeof json === 'string')
}

/** The id that the file stores, where another notebook may store it too. */
export function storedId({ json }: Copied): string | null {
  try {
    const { id } = JSON.parse(json ?? '{}') as { id?: unknown }
    return typeof id === 'string' && /^[\w-]{1,64}$/.test(id) ? id : null
  } catch {
    return null
  }
}

/** Begins to listen; `paste` gets the content that a user pastes while no text is edited. */
export function listen(takesText: (target: EventTarget | null) => boolean, paste: (clip: Clip | string) => void): void {
  void fetchShared()
  addEventListener('storage', ({ key }) => {
    if (key === STAMP) void fetchShared()
  })
  addEventListener('paste', (event) => {
    // Text that is still marked in an editor that was left makes that editor the target.
    if (event.defaultPrevented || takesText(document.activeElement) || document.querySelector('dialog[open]')) return
    const found = read(event.clipboardData?.getData(TYPE) ?? '') ?? event.clipboardData?.getData('text/plain')
    if (!found) return
    event.preventDefault()
    event.stopPropagation()
    paste(found)
  }, { capture: true })
}
