// A conversation as signals, made of what is told of it: one answer after the other, each of words and calls.

import { batch, computed, type Signal, signal } from '@preact/signals'
import type { AnswerEnding, Approval, ConversationUpdate, TokenUsage, TranscriptEntry } from '../net/protocol'
import type { Under } from '../net/sync'

export type Asked = Under<TranscriptEntry, 'asked'>
export type Result = Under<TranscriptEntry, 'result'>

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
  question: Signal<'asked' | Approval | null>
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
  ended: Signal<{ ending: AnswerEnding; usage: TokenUsage } | null>
  isUndone: Signal<boolean>
}

export class Talk {
  readonly turns = signal<Turn[]>([])
  /** The message whose answer is under way. */
  readonly answering = signal<string | null>(null)
  readonly isAnswering = computed(() => this.answering.value !== null)
  readonly waiting = signal<ConversationUpdate['waiting']>([])
  /** Whether code that the last answer began still runs. */
  readonly runsOn = signal(false)
  readonly proposal = signal<string | null>(null)
  private keys = 0

  /** `onEnd` is told of each answer that ends while the page looks on. */
  constructor(private readonly onEnd: (ending: AnswerEnding) => void, private readonly onQuestion: () => void = () => {}) {}

  clear(): void {
    this.turns.value = []
    this.answering.value = null
    this.waiting.value = []
    this.runsOn.value = false
    this.proposal.value = null
  }

  /** Takes in what was heard from a place on; what was told before `old` was told before the page looked. */
  take(heard: ConversationUpdate, from: number, old: number): void {
    batch(() => {
      if (from === 0) this.clear()
      heard.told.forEach((told, at) => this.hear(told, from + at < old))
      this.answering.value = heard.answering
      this.runsOn.value = heard.runs_on
      if (JSON.stringify(this.waiting.peek()) !== JSON.stringify(heard.waiting)) this.waiting.value = heard.waiting
    })
  }

  private add(part: Part): void {
    const turn = this.turns.peek().at(-1)
    if (turn) turn.parts.value = [...turn.parts.peek(), part]
  }

  private call(id: string): Call | undefined {
    const parts = this.turns.peek().at(-1)?.parts.peek() ?? []
    return parts.findLast((part): part is Call => part.kind === 'call' && part.id === id)
  }

  private hear(told: TranscriptEntry, isOld: boolean): void {
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
