// Unanswered messages, kept in the browser's store: a killed host does not know them.

import type { ChatMessage } from '../net/protocol'
import type { Transcript } from './transcript'

export class Outbox {
  private messages: ChatMessage[]
  /** Messages that the host has reported as queued or under way. */
  private readonly known = new Set<string>()

  constructor(
    private readonly name: string,
    private readonly transcript: Transcript,
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
      // The store is full; the page keeps the messages in memory.
    }
  }

  add(message: ChatMessage): void {
    this.set([...this.messages, message])
  }

  /** Removes a message that the host refused or the user withdrew. */
  remove(id: string): void {
    this.set(this.messages.filter((message) => message.id !== id))
  }

  clear(): void {
    this.set([])
  }

  /** Whether a message of this button is unanswered. */
  holds(button: string): boolean {
    return this.messages.some(({ id }) => id.startsWith(`${button}.`))
  }

  /** Removes finished messages, after an event from a host that did not restart. */
  removeFinished(): void {
    const left = this.messages.filter(({ id }) => {
      if (this.isOpen(id)) this.known.add(id)
      // The host has not accepted the message yet.
      return this.isOpen(id) || !(this.known.has(id) || this.isAnswered(id))
    })
    if (left.length < this.messages.length) this.set(left)
  }

  /**
   * Returns and removes the messages that a restarted host does not know. Call it once the transcript is
   * complete.
   */
  takeLost(): string[] {
    const gone = this.messages.filter(({ id }) => !this.isOpen(id) && !this.isAnswered(id))
    this.set(this.messages.filter(({ id }) => this.isOpen(id)))
    return gone.map(({ words }) => words)
  }

  private isOpen(id: string): boolean {
    return (
      this.transcript.answering.peek() === id ||
      this.transcript.waiting.peek().some(({ message }) => message === id)
    )
  }

  private isAnswered(id: string): boolean {
    return this.transcript.turns
      .peek()
      .some(({ asked, ended }) => asked.message === id && ended.peek() !== null)
  }
}
