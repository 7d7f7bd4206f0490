// Keeps the page and the host's notebook one: sends what is done here, takes in what others do, and comes back with
// everything after a break.

import type { ChangeSet } from '@codemirror/state'
import { batch } from '@preact/signals'
import * as doc from '../state/doc'
import { say } from '../state/view'
import type { Op } from './cells'
import { toJSON } from './change'
import { keep, leftBehind, stayAlive } from './keep'
import type {
  Actor,
  Change,
  ChatReply,
  NotebookAsk,
  NotebookNews,
  NotebookReply,
  NotebookWhole,
  Reply,
  Request,
} from './protocol'
import { type Kept, Replica, type Shift } from './replica'
import { Lost, Refused, Socket } from './socket'

const client = `p${crypto.randomUUID().replaceAll('-', '').slice(0, 12)}`

let socket: Socket
let path = ''
let replica: Replica | null = null
let isOpened = false
let keeping: ReturnType<typeof setTimeout> | undefined
/** Told of each change that someone else made. */
let onOthers: (actor: Actor, cells: string[]) => void = () => {}
/** How long a host that could not tell what is new is left alone. */
const AGAIN = 1000
/** Counts how often the notebook was opened: what comes for an earlier time is not taken. */
let times = 0

export function connect(wanted: string, others: typeof onOthers): void {
  path = wanted
  onOthers = others
  stayAlive(client)
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws'
  socket = new Socket(`${scheme}://${location.host}/socket`, {
    onOpen: () => void open(),
    onLost: () => {
      isOpened = false
      replica?.unsent()
      // Why nothing was sent stays true until the host is there.
      if (!['stranger', 'locked'].includes(doc.connection.peek()))
        doc.connection.value = replica ? 'lost' : 'connecting'
    },
    onRefused: (why) => (doc.connection.value = why),
  })
  addEventListener('pagehide', keepNow)
}

/** A request about the notebook of this page. */
export const notebook = (ask: NotebookAsk): Request => ({ notebook: { path, ask } })

async function open(): Promise<void> {
  if (!path) {
    doc.connection.value = 'open'
    return
  }
  const mine = ++times
  const left = replica ? [] : await leftBehind(path, client)
  const clients = [client, ...left.map((kept) => kept.client)]
  try {
    begin(under(await socket.ask(notebook({ follow: { clients, outputs: 'bounded' } })), 'whole'), left)
    void listen(mine)
  } catch (error) {
    if (error instanceof Lost) return
    if (!(error instanceof Refused)) throw error
    // One that was open and cannot be read now is still shown, with the typed text.
    if (replica) say(error.message)
    else doc.trouble.value = error.failure
  }
}

/** Takes in what is new for as long as the notebook is followed. */
async function listen(mine: number): Promise<void> {
  while (mine === times) {
    const reply = await answered(notebook('news'), false)
    if (mine !== times || !isOpened) return
    if (!reply) return void setTimeout(() => mine === times && socket.isOpen && void open(), AGAIN)
    receive(under(reply, 'news'))
  }
}

function begin(whole: NotebookWhole, left: Kept[]): void {
  batch(() => {
    doc.trouble.value = null
    if (replica) {
      show(replica.resync(whole.version, whole.cells, whole.heard[client]))
    } else {
      replica = new Replica(client, whole.version, whole.cells)
      for (const kept of left) {
        replica.adopt(kept, whole.heard[kept.client])
      }
      keepNow()
      for (const kept of left) keep(path, kept.client, null)
      doc.showList(replica.cells())
    }
    doc.takeWhole(whole)
    doc.version.value = whole.version
    doc.connection.value = 'open'
  })
  isOpened = true
  flush()
}

function receive(news: NotebookNews): void {
  if (!replica) return
  if (news.is_behind) {
    isOpened = false
    void open()
    return
  }
  batch(() => {
    takeChanges(news.changes ?? [])
    doc.take(news)
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

function show(shift: Shift): void {
  if (!replica) return
  if (shift.texts.length > 0) {
    const now = new Map(replica.cells().map((cell) => [cell.id, cell.source]))
    for (const { cell, change } of shift.texts) {
      const source = now.get(cell)
      // Of several changes of one cell the last one's text stands; editors take each.
      if (source !== undefined) doc.showText(cell, source, change)
    }
  }
  if (shift.isListChanged || shift.texts.length > 0) doc.showList(replica.cells())
}

/** Does something to the cells, here and, as soon as may be, in the notebook. */
export function act(...ops: Op[]): void {
  if (!replica) return
  for (const op of ops) replica.act(op)
  batch(() => {
    doc.showList(replica?.cells() ?? [])
    settle()
  })
  flush()
}

/** Someone typed in the editor of a cell. */
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
  keeping ??= setTimeout(keepNow, 60)
}

function keepNow(): void {
  clearTimeout(keeping)
  keeping = undefined
  if (replica && path) keep(path, client, replica.kept())
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
  // A version that is taken comes with the news.
}

/** The host cannot do what was asked: that is shown, and what was typed is at hand. */
function refused(error: Refused): void {
  if (replica?.simplify()) {
    say(`Only the text was pasted: ${error.message}`)
    return flush()
  }
  const lost = replica?.refused() ?? []
  console.error('not taken', error.failure, lost)
  doc.showList(replica?.cells() ?? [])
  settle()
  say(`Not taken: ${error.message}`)
}

type AnyReply = NotebookReply | ChatReply | Exclude<Reply, { notebook: unknown } | { chat: unknown }>
type KeyOf<T> = T extends object ? keyof T : never
/** The value under a key, in those of several kinds of objects that have it. */
export type Under<T, K extends PropertyKey> = T extends Record<K, infer V> ? V : never

function within(reply: Reply): AnyReply {
  return 'notebook' in reply ? reply.notebook : 'chat' in reply ? reply.chat : reply
}

/** The value of a reply of one kind. */
function under<K extends KeyOf<AnyReply>>(reply: Reply, kind: K): Under<AnyReply, K> {
  const inner = within(reply)
  if (typeof inner !== 'object' || !(kind in inner))
    throw new Error(`unexpected reply instead of ${kind}: ${JSON.stringify(inner)}`)
  return (inner as Record<K, Under<AnyReply, K>>)[kind]
}

/** Makes a request that has this kind of reply; `null` when the host cannot answer, which is then said unless it is quiet. */
export async function ask<K extends KeyOf<AnyReply>>(
  request: Request,
  kind: K,
  isQuiet = false,
): Promise<Under<AnyReply, K> | null> {
  const reply = await answered(request, isQuiet)
  return reply && under(reply, kind)
}

/** Makes a request; whether the host has carried it out. */
export const tell = async (request: Request): Promise<boolean> => (await answered(request, false)) !== null

async function answered(request: Request, isQuiet: boolean): Promise<Reply | null> {
  try {
    return await socket.ask(request)
  } catch (error) {
    if (error instanceof Refused && isQuiet) return null
    if (error instanceof Refused)
      say(error.failure.hint ? `${error.message}. ${error.failure.hint}` : error.message)
    else if (!(error instanceof Lost)) throw error
    return null
  }
}

/** Resolves when all that was done here is in the notebook. */
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
