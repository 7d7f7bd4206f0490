// Cells on their way to another place: in this tab, in other tabs, or through the system's clipboard.

import type { CellText } from '../net/protocol'
import { seal, unseal } from '../net/seal'

/** A cell that was copied. Without `json` only the host that it came from knows all of it. */
export interface Copied extends CellText {
  json: string | null
}
/** Cells of one notebook, as they were when they were copied. */
export interface Clip {
  stamp: string
  path: string
  cells: Copied[]
}

/** The type of cells on the system's clipboard. */
export const TYPE = 'application/x-cellist-cells+json'
/**
 * Tabs tell each other. Nothing stays in the browser's storage, where the next program at this port would find it, and
 * all messages are sealed: a page of that program hears this channel too.
 */
const channel = new BroadcastChannel('cellist:clipboard')

/** Asks other tabs for the cells that they have. */
const ANY = 'null'

let clip: Clip | null = null

export const copied = (): Clip | null => clip

/** Puts cells where this tab finds them at once. */
export function hold(path: string, cells: Copied[]): Clip {
  clip = { stamp: crypto.randomUUID(), path, cells }
  return clip
}

/** Puts cells where other tabs and other programs find them. */
export function share(shared: Clip): void {
  const whole = JSON.stringify(shared)
  writeSystem(shared.cells.map(({ source }) => source).join('\n\n'), whole)
  void tell(whole, () => clip === shared)
}

/** Tells other tabs, unless that is not wanted any more once the message is sealed. */
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

/** Takes the cells that other tabs have copied, and gives ours to a tab that is new. */
function listenToTabs(): void {
  let heard = Promise.resolve()
  channel.onmessage = ({ data }) => {
    // One after the other: the newest clip is the one that came last.
    heard = heard.then(async () => take(await unseal(data)))
  }
  void tell(ANY)
}

function take(text: string | null): void {
  if (text === ANY && clip) void tell(JSON.stringify(clip))
  else if (text !== null) clip = read(text) ?? clip
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
export function listen(
  takesText: (target: EventTarget | null) => boolean,
  paste: (clip: Clip | string) => void,
): void {
  listenToTabs()
  addEventListener(
    'paste',
    (event) => {
      // Text that is still marked in an editor that was left makes that editor the target.
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
