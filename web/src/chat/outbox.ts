// Messages that are not answered yet, kept beside the page: a host that is killed knows nothing of them.

import type { ChatMessage } from '../net/protocol'
import type { Talk } from './told'

export class Outbox {
  private messages: ChatMessage[]
  /** Messages that the host was heard to know. */
  private readonly known = new Set<string>()

  constructor(
    private readonly name: string,
    private readonly talk: Talk,
    private readonly store: Storage = sessionStorage,
  ) {
    this.messages = this.recall()
  }

  private recall(): ChatMessage[] {
    try {
      return JSON.parse(this.store.getItem(this.name) ?? '[]') as ChatMessage[]
    } catch {
      return []
    }
  }

  private set(messages: ChatMessage[]): void {
    this.messages = messages
    try {
      if (messages.length > 0) this.store.setItem(this.name, JSON.stringify(messages))
      else this.store.removeItem(this.name)
    } catch {
      // A full store keeps nothing more; the page itself still has it.
    }
  }

  add(message: ChatMessage): void {
    this.set([...this.messages, message])
  }

  /** Leaves out a message that the host has not taken, or that was withdrawn. */
  remove(id: string): void {
    this.set(this.messages.filter((message) => message.id !== id))
  }

  clear(): void {
    this.set([])
  }

  /** Whether a message of this button is still to be answered. */
  holds(button: string): boolean {
    return this.messages.some(({ id }) => id.startsWith(`${button}.`))
  }

  /** Leaves out the messages that are done with, after something was heard of a host that was there all the time. */
  heard(): void {
    const left = this.messages.filter(({ id }) => {
      if (this.isOpen(id)) this.known.add(id)
      // The host has not taken a message that it never knew.
      return this.isOpen(id) || !(this.known.has(id) || this.isAnswered(id))
    })
    if (left.length < this.messages.length) this.set(left)
  }

  /** The words of which a host that came back knows nothing, after it has told everything; they are told once. */
  lost(): string[] {
    const gone = this.messages.filter(({ id }) => !this.isOpen(id) && !this.isAnswered(id))
    this.set(this.messages.filter(({ id }) => this.isOpen(id)))
    return gone.map(({ words }) => words)
  }

  private isOpen(id: string): boolean {
    return this.talk.answering.peek() === id || this.talk.waiting.peek().some(({ message }) => message === id)
  }

  private isAnswered(id: string): boolean {
    return this.talk.turns.peek().some(({ asked, ended }) => asked.message === id && ended.peek() !== null)
  }
}
