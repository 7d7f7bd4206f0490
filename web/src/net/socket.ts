// The socket to the host: numbered requests, and reconnection after the host restarts or the machine sleeps.

import { Handshake, signIn } from './handshake'
import type { ClientFrame, Failure, HostFrame, Reply, Request } from './protocol'

export class Refused extends Error {
  constructor(readonly failure: Failure) {
    super(failure.message)
  }
}

/** The socket closed before the reply came. */
export class Lost extends Error {}

interface Waiting {
  resolve: (reply: Reply) => void
  reject: (error: Error) => void
}

export interface Listener {
  onOpen: () => void
  onLost: () => void
  /** The handshake failed: another program answers, or this browser is signed out. */
  onRefused: (why: 'unverified' | 'locked') => void
}

const SHORTEST = 150
const LONGEST = 4000

export class Socket {
  private socket: WebSocket | null = null
  private waiting = new Map<number, Waiting>()
  private next = 1
  private pause = SHORTEST
  private timer: ReturnType<typeof setTimeout> | undefined
  /** Whether the handshake on this socket is complete. */
  private isProven = false

  constructor(
    private readonly address: string,
    private readonly listener: Listener,
  ) {
    addEventListener('online', () => this.hurry())
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) this.hurry()
    })
    this.connect()
  }

  get isOpen(): boolean {
    return this.isProven && this.socket?.readyState === WebSocket.OPEN
  }

  ask(request: Request): Promise<Reply> {
    const socket = this.socket
    if (!socket || !this.isOpen) return Promise.reject(new Lost('not connected to the host'))
    const id = this.next++
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject })
      socket.send(JSON.stringify({ ask: { id, request } } satisfies ClientFrame))
    })
  }

  private connect(): void {
    const handshake = new Handshake()
    const socket = new WebSocket(`${this.address}?${handshake.parameters}`)
    this.socket = socket
    this.isProven = false
    const opened = () => {
      if (socket !== this.socket || socket.readyState !== WebSocket.OPEN) return
      this.pause = SHORTEST
      this.isProven = true
      socket.onmessage = (event) => {
        if (socket === this.socket) this.receive(JSON.parse(event.data as string) as HostFrame)
      }
      this.listener.onOpen()
    }
    const refused = (why: 'unverified' | 'locked') => {
      this.pause = LONGEST
      this.listener.onRefused(why)
      socket.close()
      // Another program may keep the socket half closed for any time.
      this.lose(socket)
    }
    socket.onmessage = (event) => {
      socket.onmessage = (next) => void signIn(next.data as string).then(opened, () => socket.close())
      handshake.answer(event.data as string).then(
        ({ standing, proof }) => {
          if (standing === 'signed_out') return refused('locked')
          socket.send(JSON.stringify({ proof }))
          if (standing === 'signed_in') opened()
        },
        () => refused('unverified'),
      )
    }
    socket.onclose = () => this.lose(socket)
  }

  /** Drops the socket; the next attempt follows after a pause. */
  private lose(socket: WebSocket): void {
    if (socket !== this.socket) return
    this.socket = null
    this.isProven = false
    const waiting = [...this.waiting.values()]
    this.waiting.clear()
    for (const { reject } of waiting) reject(new Lost('connection to the host lost'))
    this.listener.onLost()
    this.timer = setTimeout(() => this.connect(), this.pause)
    this.pause = Math.min(this.pause * 1.6, LONGEST)
  }

  /** The network or the user is back: reconnect at once. */
  private hurry(): void {
    if (this.socket) return
    clearTimeout(this.timer)
    this.pause = SHORTEST
    this.connect()
  }

  private receive(down: HostFrame): void {
    const { id, result } = down.done
    const waiting = this.waiting.get(id)
    this.waiting.delete(id)
    if ('Ok' in result) waiting?.resolve(result.Ok)
    else waiting?.reject(new Refused(result.Err))
  }
}
