// A conversation as signals, made of what is told of it: one answer after the other, each of words and calls.

import { batch, type Signal, signal } from '@preact/signals'
import type { Asked, ChatNews, Ending, Result, Told, Usage, Verdict } from '../net/protocol'

export interface Words { kind: 'words'; key: number; text: Signal<string> }
export interface Call {
  kind: 'call'
  key: number
  id: string
  tool: string
  arguments: unknown
  /** When it was heard of, if that was when it was made. */
  begun: number | null
  /** Whether a person is asked, or what they said. */
  question: Signal<'asked' | Verdict | null>
  /** The file that it would change, where that is the question. */
  path: Signal<string | null>
  result: Signal<Result | null>
}
export type Part = Words | Call

/** A message and its answer. */
export interface Turn {
  key: number
  asked: Asked
  parts: Signal<Part[]>
  /** The provider failed, and is asked again at this time. */
  again: Signal<{ message: string; at: number } | null>
  ended: Signal<{ ending: Ending; usage: Usage } | null>
  isUndone: Signal<boolean>
}

export class Talk {
  readonly turns = signal<Turn[]>([])
  readonly isAnswering = signal(false)
  readonly waiting = signal<ChatNews['waiting']>([])
  /** Whether code that the last answer began still runs. */
  readonly runsOn = signal(false)
  readonly proposal = signal<string | null>(null)
  private next = 0
  private keys = 0

  /** `onEnd` is told of each answer that ends while the page looks on. */
  constructor(private readonly onEnd: (ending: Ending) => void, private readonly onQuestion: () => void = () => {}) {}

  clear(): void {
    this.next = 0
    this.turns.value = []
    this.isAnswering.value = false
    this.waiting.value = []
    this.runsOn.value = false
    this.proposal.value = null
  }

  /** Takes in what is new, or was told before the page looked; `false` when something before it is missing. */
  take(news: ChatNews, isOld = false): boolean {
    if (news.from > this.next) return false
    batch(() => {
      if (news.from === 0) this.clear()
      for (const told of news.told.slice(this.next - news.from)) this.hear(told, isOld)
      this.next = Math.max(this.next, news.from + news.told.length)
      this.isAnswering.value = news.is_answering
      this.runsOn.value = news.runs_on
      if (JSON.stringify(this.waiting.peek()) !== JSON.stringify(news.waiting)) this.waiting.value = news.waiting
    })
    return true
  }

  private add(part: Part): void {
    const turn = this.turns.peek().at(-1)
    if (turn) turn.parts.value = [...turn.parts.peek(), part]
  }

  private call(id: string): Call | undefined {
    const parts = this.turns.peek().at(-1)?.parts.peek() ?? []
    return parts.findLast((part): part is Call => part.kind === 'call' && part.id === id)
  }

  private hear(told: Told, isOld: boolean): void {
    const turn = this.turns.peek().at(-1)
    const key = ++this.keys
    if ('asked' in told) {
      this.proposal.value = null
      const asked: Turn = { key, asked: told.asked, parts: signal([]), again: signal(null), ended: signal(null), isUndone: signal(false) }
      this.turns.value = [...this.turns.peek(), asked]
    } else if ('text' in told) {
      const last = turn?.parts.peek().at(-1)
      if (last?.kind === 'words') last.text.value += told.text
      else this.add({ kind: 'words', key, text: signal(told.text) })
    } else if ('call' in told) {
      this.add({ kind: 'call', key, ...told.call, begun: isOld ? null : Date.now(), question: signal(null), path: signal(null), result: signal(null) })
    } else if ('question' in told) {
      const call = this.call(told.question.id)
      if (call) {
        call.path.value = told.question.path ?? null
        call.question.value = 'asked'
      }
      if (!isOld) this.onQuestion()
    } else if ('verdict' in told) {
      const call = this.call(told.verdict.id)
      if (call) call.question.value = told.verdict.verdict
    } else if ('result' in told) {
      const call = this.call(told.result.id)
      if (call) call.result.value = told.result
    } else if ('ended' in told) {
      if (turn) turn.ended.value = told.ended
      if (!isOld) this.onEnd(told.ended.ending)
    } else if ('undone' in told) {
      const undone = this.turns.peek().find(({ asked }) => asked.turn === told.undone.turn)
      if (undone) undone.isUndone.value = true
    } else if ('proposal' in told) {
      this.proposal.value = told.proposal.source
    }
    if (!turn) return
    if ('again' in told) {
      // The words since the last call do not count.
      const parts = turn.parts.peek()
      turn.parts.value = parts.slice(0, parts.findLastIndex((part) => part.kind === 'call') + 1)
      turn.again.value = { message: told.again.message, at: Date.now() + told.again.after_ms }
    } else if (turn.again.peek()) {
      turn.again.value = null
    }
  }
}
