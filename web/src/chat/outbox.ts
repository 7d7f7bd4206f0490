// What was said and is not answered yet, kept beside the page: a host that is killed knows nothing of it.

import type { Message } from '../net/protocol'
import type { Talk, Turn } from './told'

interface Said {
  message: Message
  /** Answers to the same words that were there before. */
  known: string[]
  /** Whether the host was heard to be at work since. */
  isSeen: boolean
}

export class Outbox {
  private said: Said[]

  constructor(private readonly name: string, private readonly talk: Talk, private readonly store: Storage = sessionStorage) {
    this.said = this.recall()
  }

  private recall(): Said[] {
    try {
      return JSON.parse(this.store.getItem(this.name) ?? '[]') as Said[]
    } catch {
      return []
    }
  }

  private set(said: Said[]): void {
    this.said = said
    try {
      if (said.length > 0) this.store.setItem(this.name, JSON.stringify(said))
      else this.store.removeItem(this.name)
    } catch {
      // A full store keeps nothing more; the page itself still has it.
    }
  }

  /** Answers to these words so far. */
  answersTo(words: string): string[] {
    return this.talk.turns.peek().filter(({ asked }) => asked.words === words).map(({ asked }) => asked.turn)
  }

  /** The host has taken a message; its answer is none of those that were known before. */
  add(message: Message, known: string[]): void {
    this.set([...this.said, { message, known, isSeen: false }])
    this.heard()
  }

  /** Whether the very same message is still to be answered. */
  holds(message: Message): boolean {
    return this.said.some((one) => JSON.stringify(one.message) === JSON.stringify(message))
  }

  clear(): void {
    this.set([])
  }

  /** Leaves out the message that waited last with these words. */
  withdrawn(words: string): void {
    const turns = this.turns()
    const last = this.said.findLast((one) => one.message.words === words && !turns.has(one))
    this.set(this.said.filter((one) => one !== last))
  }

  /** Leaves out what is done with, after something was heard of a host that was there all the time. */
  heard(): void {
    if (this.said.length === 0) return
    const turns = this.turns()
    const left = this.said.filter((one) => !turns.get(one)?.ended.peek())
    const rests = !this.talk.isAnswering.peek() && this.talk.waiting.peek().length === 0
    // A host that has come to rest is done with all of it, whoever has withdrawn what is not answered.
    this.set(rests ? left.filter(({ isSeen }) => !isSeen) : left.map((one) => ({ ...one, isSeen: true })))
  }

  /** The words of which a host that came back knows nothing, after it has told everything; they are told once. */
  lost(): string[] {
    const [turns, last] = [this.turns(), this.talk.turns.peek().at(-1)]
    const waiting = this.talk.waiting.peek().map(({ words }) => words)
    const isAnswering = this.talk.isAnswering.peek()
    // Something is about to be answered of which nothing was told yet.
    let begins = isAnswering && !(last && !last.ended.peek())
    const [left, gone]: [Said[], string[]] = [[], []]
    for (const one of this.said) {
      const [turn, place] = [turns.get(one), waiting.indexOf(one.message.words)]
      if (turn?.ended.peek()) continue
      if (turn ? turn === last && isAnswering : place >= 0 || begins) left.push(one)
      else gone.push(one.message.words)
      if (turn) continue
      if (place >= 0) waiting.splice(place, 1)
      else begins = false
    }
    this.set(left)
    return gone
  }

  /** Which message has which answer: equal words are answered in the order in which they were said. */
  private turns(): Map<Said, Turn> {
    const free = new Set(this.talk.turns.peek())
    const found = new Map<Said, Turn>()
    for (const one of this.said) {
      for (const turn of free) {
        if (turn.asked.words !== one.message.words || one.known.includes(turn.asked.turn)) continue
        found.set(one, turn)
        free.delete(turn)
        break
      }
    }
    return found
  }
}
