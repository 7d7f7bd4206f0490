// Synchronizes the page with the host: sends local edits, applies remote ones, and resynchronizes after a
// lost connection.

import type { ChangeSet } from '@codemirror/state'
import { batch } from '@preact/signals'
import * as doc from '../state/doc'
import { notify } from '../state/view'
import type { Op } from './cells'
import { toJSON } from './change'
import type {
  Actor,
  Change,
  ChatReply,
  NotebookAction,
  NotebookUpdate,
  NotebookReply,
  FullNotebook,
  Reply,
  Request,
} from './protocol'
import { Replica, type UnsavedEdits, type VisibleChange } from './replica'
import { Lost, Refused, Socket } from './socket'
import { holdLock, orphanedEdits, storeUnsaved } from './unsaved'

const client = `p${crypto.randomUUID().replaceAll('-', '').slice(0, 12)}`

let socket: Socket
let path = ''
let replica: Replica | null = null
let isOpened = false
let storing: ReturnType<typeof setTimeout> | undefined
/** Called for each change by another client. */
let onOthers: (actor: Actor, cells: string[]) => void = () => {}
/** Pause before the notebook is opened again after a failed request, in milliseconds. */
const AGAIN = 1000
/** Counts how often the notebook was opened; replies of an earlier time are dropped. */
let times = 0

export function connect(wanted: string, others: typeof onOthers): void {
  path = wanted
  onOthers = others
  holdLock(client)
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws'
  socket = new Socket(`${scheme}://${location.host}/socket`, {
    onOpen: () => void open(),
    onLost: () => {
      isOpened = false
      replica?.unsent()
      // A failed handshake stays the reason until the host is back.
      if (!['unverified', 'locked'].includes(doc.connection.peek()))
        doc.connection.value = replica ? 'lost' : 'connecting'
    },
    onRefused: (why) => (doc.connection.value = why),
  })
  addEventListener('pagehide', storeNow)
}

/** A request about the notebook of this page. */
export const notebook = (ask: NotebookAction): Request => ({ notebook: { path, ask } })

async function open(): Promise<void> {
  if (!path) {
    doc.connection.value = 'open'
    return
  }
  const mine = ++times
  const orphans = replica ? [] : await orphanedEdits(path, client)
  const clients = [client, ...orphans.map((kept) => kept.client)]
  try {
    begin(under(await socket.ask(notebook({ follow: { clients, outputs: 'bounded' } })), 'whole'), orphans)
    void listen(mine)
  } catch (error) {
    if (error instanceof Lost) return
    if (!(error instanceof Refused)) throw error
    // A notebook that was open stays visible, with the typed text.
    if (replica) notify(error.message)
    else doc.openError.value = error.failure
  }
}

/** Applies events while the notebook is followed. */
async function listen(mine: number): Promise<void> {
  while (mine === times) {
    const reply = await answered(notebook('news'), false)
    if (mine !== times || !isOpened) return
    if (!reply) return void setTimeout(() => mine === times && socket.isOpen && void open(), AGAIN)
    receive(under(reply, 'news'))
  }
}

function begin(whole: FullNotebook, orphans: UnsavedEdits[]): void {
  batch(() => {
    doc.openError.value = null
    if (replica) {
      show(replica.resync(whole.version, whole.cells, whole.heard[client]))
    } else {
      replica = new Replica(client, whole.version, whole.cells)
      for (const kept of orphans) {
        replica.adopt(kept, whole.heard[kept.client])
      }
      storeNow()
      for (const kept of orphans) storeUnsaved(path, kept.client, null)
      doc.showList(replica.cells())
    }
    doc.receiveWhole(whole)
    doc.version.value = whole.version
    doc.connection.value = 'open'
  })
  isOpened = true
  flush()
}

function receive(news: NotebookUpdate): void {
  if (!replica) return
  if (news.is_behind) {
    isOpened = false
    void open()
    return
  }
  batch(() => {
    takeChanges(news.changes ?? [])
    doc.receive(news)
    if (news.status) {
      replica?.saved(news.status.saved)
      settle()
    }
  })
  flush()
}

function takeChanges(changes: Change[]): void {
  if (!replica) return
  for (const change of changes) {
    if (change.version <= replica.version) continue
    const shift = replica.receive(change)
    if (!shift) {
      isOpened = false
      void open()
      return
    }
    show(shift)
    if (change.tag?.client !== client && change.effects.length > 0) {
      onOthers(
        change.actor,
        change.effects.flatMap((effect) => (effect.cell ? [effect.cell] : [])),
      )
    }
  }
  doc.version.value = replica.version
  settle()
}

function show(shift: VisibleChange): void {
  if (!replica) return
  if (shift.texts.length > 0) {
    const now = new Map(replica.cells().map((cell) => [cell.id, cell.source]))
    for (const { cell, change } of shift.texts) {
      const source = now.get(cell)
      // The shown text is that after the last change; editors apply each change.
      if (source !== undefined) doc.showText(cell, source, change)
    }
  }
  if (shift.isListChanged || shift.texts.length > 0) doc.showList(replica.cells())
}

/** Applies operations here and submits them. */
export function act(...ops: Op[]): void {
  if (!replica) return
  for (const op of ops) replica.act(op)
  batch(() => {
    doc.showList(replica?.cells() ?? [])
    settle()
  })
  flush()
}

/** Records a change made in the editor of a cell. */
export function typed(cell: string, change: ChangeSet, text: string): void {
  if (!replica) return
  replica.act({ op: 'change', cell, change: toJSON(change) })
  doc.showText(cell, text, null)
  settle()
  flush()
}

export function freshName(): string {
  return replica?.freshName() ?? ''
}

export function sourceOf(id: string): string {
  return doc.cells.get(id)?.source ?? ''
}

function settle(): void {
  doc.isSettled.value = replica?.isSettled() ?? true
  storing ??= setTimeout(storeNow, 60)
}

function storeNow(): void {
  clearTimeout(storing)
  storing = undefined
  if (replica && path) storeUnsaved(path, client, replica.unsaved())
}

function flush(): void {
  if (!replica || !isOpened) return
  const submission = replica.outgoing()
  if (!submission) return
  socket.ask(notebook({ submit: { submission, author: null } })).then(submitted, (error: unknown) => {
    if (error instanceof Refused) refused(error)
    else replica?.unsent()
  })
}

function submitted(reply: Reply): void {
  if (!replica) return
  const done = within(reply)
  if (done === 'too_far') {
    replica.unsent()
    isOpened = false
    void open()
  } else if (typeof done === 'object' && 'behind' in done) {
    replica.unsent()
    const { changes } = done.behind
    batch(() => takeChanges(changes))
    flush()
  }
  // An accepted submission comes back as an event.
}

/** The host refused the operations. Report it, and log the lost edits. */
function refused(error: Refused): void {
  if (replica?.simplify()) {
    notify(`Only the text was pasted: ${error.message}`)
    return flush()
  }
  const lost = replica?.refused() ?? []
  console.error('edit rejected', error.failure, lost)
  doc.showList(replica?.cells() ?? [])
  settle()
  notify(`Edit rejected: ${error.message}`)
}

type AnyReply = NotebookReply | ChatReply | Exclude<Reply, { notebook: unknown } | { chat: unknown }>
type KeyOf<T> = T extends object ? keyof T : never
/** The value under a key, for those members of a union that have it. */
export type Under<T, K extends PropertyKey> = T extends Record<K, infer V> ? V : never

function within(reply: Reply): AnyReply {
  return 'notebook' in reply ? reply.notebook : 'chat' in reply ? reply.chat : reply
}

/** The content of a reply of one kind. */
function under<K extends KeyOf<AnyReply>>(reply: Reply, kind: K): Under<AnyReply, K> {
  const inner = within(reply)
  if (typeof inner !== 'object' || !(kind in inner))
    throw new Error(`unexpected reply instead of ${kind}: ${JSON.stringify(inner)}`)
  return (inner as Record<K, Under<AnyReply, K>>)[kind]
}

/**
 * Sends a request with this kind of reply. Returns `null` when the host refuses it or is gone; a refusal is
 * shown unless it is quiet.
 */
export async function ask<K extends KeyOf<AnyReply>>(
  request: Request,
  kind: K,
  isQuiet = false,
): Promise<Under<AnyReply, K> | null> {
  const reply = await answered(request, isQuiet)
  return reply && under(reply, kind)
}

/** Sends a request; returns whether the host carried it out. */
export const tell = async (request: Request): Promise<boolean> => (await answered(request, false)) !== null

async function answered(request: Request, isQuiet: boolean): Promise<Reply | null> {
  try {
    return await socket.ask(request)
  } catch (error) {
    if (error instanceof Refused && isQuiet) return null
    if (error instanceof Refused)
      notify(error.failure.hint ? `${error.message}. ${error.failure.hint}` : error.message)
    else if (!(error instanceof Lost)) throw error
    return null
  }
}

/** Resolves when the notebook has all local edits. */
export function settled(): Promise<void> {
  if (doc.isSettled.peek()) return Promise.resolve()
  return new Promise((resolve) => {
    const stop = doc.isSettled.subscribe((is) => {
      if (!is) return
      resolve()
      queueMicrotask(() => stop())
    })
  })
}
