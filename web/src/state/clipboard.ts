// Copied cells: in this tab, in other tabs and on the system clipboard.

import type { CellText } from '../net/protocol'
import { seal, unseal } from '../net/seal'

/** A copied cell. Without `json`, only its host knows outputs and metadata. */
export interface Copied extends CellText {
  json: string | null
}
/** Copied cells of one notebook. */
export interface Clip {
  stamp: string
  path: string
  cells: Copied[]
}

/** The MIME type of cells on the system clipboard. */
export const TYPE = 'application/x-cellist-cells+json'
/**
 * The channel between tabs. Nothing goes into the browser's storage, where the next program on this port
 * would find it. Messages are encrypted, since a page of that program could read the channel.
 */
const channel = new BroadcastChannel('cellist:clipboard')

/** Asks other tabs for copied cells. */
const ANY = 'null'

let clip: Clip | null = null

export const copied = (): Clip | null => clip

/** Stores cells for this tab. */
export function hold(path: string, cells: Copied[]): Clip {
  clip = { stamp: crypto.randomUUID(), path, cells }
  return clip
}

/** Shares cells with other tabs and other programs. */
export function share(shared: Clip): void {
  const whole = JSON.stringify(shared)
  writeSystem(shared.cells.map(({ source }) => source).join('\n\n'), whole)
  void tell(whole, () => clip === shared)
}

/** Sends a message to other tabs, unless it is outdated once it is encrypted. */
async function tell(text: string, isWanted = () => true): Promise<void> {
  const message = await seal(text)
  if (isWanted()) channel.postMessage(message)
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

/** Receives cells copied in other tabs, and answers new tabs. */
function listenToTabs(): void {
  let heard = Promise.resolve()
  channel.onmessage = ({ data }) => {
    // In order: the last message has the newest cells.
    heard = heard.then(async () => take(await unseal(data)))
  }
  void tell(ANY)
}

function take(text: string | null): void {
  if (text === ANY && clip) void tell(JSON.stringify(clip))
  else if (text !== null) clip = read(text) ?? clip
}

/** Parses cells from another page; returns null for any other text. */
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

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

function isCopied(value: unknown): value is Copied {
  if (!isRecord(value)) return false
  const { id, kind, source, json } = value
  return (
    typeof id === 'string' &&
    /^(code|markdown|raw)$/.test(String(kind)) &&
    typeof source === 'string' &&
    (json === null || typeof json === 'string')
  )
}

/** The id stored in the file, which is used where it is free. */
export function storedId({ json }: Copied): string | null {
  try {
    const { id } = JSON.parse(json ?? '{}') as { id?: unknown }
    return typeof id === 'string' && /^[\w-]{1,64}$/.test(id) ? id : null
  } catch {
    return null
  }
}

/** Starts to listen; `paste` is called for a paste outside text fields. */
export function listen(
  takesText: (target: EventTarget | null) => boolean,
  paste: (clip: Clip | string) => void,
): void {
  listenToTabs()
  addEventListener(
    'paste',
    (event) => {
      // The event's target may be an editor without focus that still has a selection.
      if (
        event.defaultPrevented ||
        takesText(document.activeElement) ||
        document.querySelector('dialog[open]')
      )
        return
      const found =
        read(event.clipboardData?.getData(TYPE) ?? '') ?? event.clipboardData?.getData('text/plain')
      if (!found) return
      event.preventDefault()
      event.stopPropagation()
      paste(found)
    },
    { capture: true },
  )
}
