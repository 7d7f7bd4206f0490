// Keeps the page and the host's notebook one: sends what is done here, takes in what others do, and comes back with
// everything after a break.

import type { ChangeSet } from '@codemirror/state'
import { batch } from '@preact/signals'
import * as doc from '../state/doc'
import { say } from '../state/view'
import { toJSON } from './change'
import { keep, leftBehind, stayAlive } from './keep'
import type { Actor, Answer, Ask, Change, ChatNews, News, Op, Whole } from './protocol'
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
/** Told of what is new in conversations with the assistant. */
let onChat: (news: ChatNews) => void = () => {}

export function connect(wanted: string, others: typeof onOthers): void {
  path = wanted
  onOthers = others
  stayAlive(client)
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws'
  socket = new Socket(`${scheme}://${location.host}/socket`, {
    onOpen: () => void open(),
    onNews: (news) => receive(news),
    onChat: (news) => onChat(news),
    onLost: () => {
      isOpened = false
      replica?.unsent()
      // Why nothing was sent stays true until the host is there.
      if (!['stranger', 'locked'].includes(doc.connection.peek())) doc.connection.value = replica ? 'lost' : 'connecting'
    },
    onRefused: (why) => (doc.connection.value = why),
  })
  addEventListener('pagehide', keepNow)
}

export function hearChat(listener: typeof onChat): void {
  onChat = listener
}

async function open(): Promise<void> {
  if (!path) {
    doc.connection.value = 'open'
    return
  }
  const left = replica ? [] : await leftBehind(path, client)
  try {
    const answer = await socket.ask({ open: { path, clients: [client, ...left.map((kept) => kept.client)] } })
    if (typeof answer === 'object' && 'whole' in answer) begin(answer.whole, left)
  } catch (error) {
    if (!(error instanceof Refused)) return
    // One that was open and cannot be read now is still shown, with the typed text.
    if (replica) say(error.message)
    else doc.trouble.value = error.failure
  }
}

function begin(whole: Whole, left: Kept[]): void {
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

function receive(news: News): void {
  if (!replica || !isOpened) return
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
      onOthers(change.actor, change.effects.flatMap((effect) => (effect.cell ? [effect.cell] : [])))
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
  socket.ask({ submit: submission }).then(submitted, (error: unknown) => {
    if (error instanceof Refused) refused(error)
    else replica?.unsent()
  })
}

function submitted(answer: Answer): void {
  if (!replica) return
  if (answer === 'too_far') {
    replica.unsent()
    isOpened = false
    void open()
  } else if (typeof answer === 'object' && 'behind' in answer) {
    replica.unsent()
    const { changes } = answer.behind
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

/** Asks the host something; `null` when it cannot answer, which is then said unless it is quiet. */
export async function ask(question: Ask, isQuiet = false): Promise<Answer | null> {
  try {
    return await socket.ask(question)
  } catch (error) {
    if (error instanceof Refused && isQuiet) return null
    if (error instanceof Refused) say(error.failure.hint ? `${error.message}. ${error.failure.hint}` : error.message)
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
