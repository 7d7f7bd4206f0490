// A conversation as signals, built from its transcript: turns of text and tool calls.

import { batch, computed, type Signal, signal } from '@preact/signals'
import type { AnswerEnding, Approval, ConversationUpdate, TokenUsage, TranscriptEntry } from '../net/protocol'
import type { Under } from '../net/sync'

export type AskedMessage = Under<TranscriptEntry, 'asked'>
export type Result = Under<TranscriptEntry, 'result'>

export interface TextPart {
  kind: 'text'
  key: number
  text: Signal<string>
}
export interface Call {
  kind: 'call'
  key: number
  id: string
  tool: string
  arguments: unknown
  /** The time of the call; null if the call is older than the page. */
  startedAt: number | null
  /** Whether the user is asked for approval, and the verdict. */
  question: Signal<'asked' | Approval | null>
  /** The file that needs approval. */
  path: Signal<string | null>
  result: Signal<Result | null>
}
export type Part = TextPart | Call

/** A message and its answer. */
export interface TurnModel {
  key: number
  asked: AskedMessage
  parts: Signal<Part[]>
  /** The error of the provider, and the time of the next attempt. */
  again: Signal<{ message: string; at: number } | null>
  ended: Signal<{ ending: AnswerEnding; usage: TokenUsage } | null>
  isUndone: Signal<boolean>
}

export class Transcript {
  readonly turns = signal<TurnModel[]>([])
  /** The message that is being answered. */
  readonly answering = signal<string | null>(null)
  readonly isAnswering = computed(() => this.answering.value !== null)
  readonly waiting = signal<ConversationUpdate['waiting']>([])
  /** Whether code that the last answer started still runs. */
  readonly isCodeRunning = signal(false)
  readonly proposal = signal<string | null>(null)
  private keys = 0

  /** `onEnd` is called for each answer that ends while the page is open. */
  constructor(
    private readonly onEnd: (ending: AnswerEnding) => void,
    private readonly onQuestion: () => void = () => {},
  ) {}

  clear(): void {
    this.turns.value = []
    this.answering.value = null
    this.waiting.value = []
    this.isCodeRunning.value = false
    this.proposal.value = null
  }

  /** Applies entries that begin at `from`. Entries before `old` are older than the page. */
  receive(received: ConversationUpdate, from: number, old: number): void {
    batch(() => {
      if (from === 0) this.clear()
      received.told.forEach((entry, at) => this.apply(entry, from + at < old))
      this.answering.value = received.answering
      this.isCodeRunning.value = received.runs_on
      if (JSON.stringify(this.waiting.peek()) !== JSON.stringify(received.waiting))
        this.waiting.value = received.waiting
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

  private apply(entry: TranscriptEntry, isOld: boolean): void {
    const turn = this.turns.peek().at(-1)
    const key = ++this.keys
    if ('asked' in entry) {
      this.proposal.value = null
      const asked: TurnModel = {
        key,
        asked: entry.asked,
        parts: signal([]),
        again: signal(null),
        ended: signal(null),
        isUndone: signal(false),
      }
      this.turns.value = [...this.turns.peek(), asked]
    } else if ('text' in entry) {
      const last = turn?.parts.peek().at(-1)
      if (last?.kind === 'text') last.text.value += entry.text
      else this.add({ kind: 'text', key, text: signal(entry.text) })
    } else if ('call' in entry) {
      this.add({
        kind: 'call',
        key,
        ...entry.call,
        startedAt: isOld ? null : Date.now(),
        question: signal(null),
        path: signal(null),
        result: signal(null),
      })
    } else if ('question' in entry) {
      const call = this.call(entry.question.id)
      if (call) {
        call.path.value = entry.question.path ?? null
        call.question.value = 'asked'
      }
      if (!isOld) this.onQuestion()
    } else if ('verdict' in entry) {
      const call = this.call(entry.verdict.id)
      if (call) call.question.value = entry.verdict.verdict
    } else if ('result' in entry) {
      const call = this.call(entry.result.id)
      if (call) call.result.value = entry.result
    } else if ('ended' in entry) {
      if (turn) turn.ended.value = entry.ended
      if (!isOld) this.onEnd(entry.ended.ending)
    } else if ('undone' in entry) {
      const undone = this.turns.peek().find(({ asked }) => asked.turn === entry.undone.turn)
      if (undone) undone.isUndone.value = true
    } else if ('proposal' in entry) {
      this.proposal.value = entry.proposal.source
    }
    if (!turn) return
    if ('again' in entry) {
      // The provider repeats the text since the last call.
      const parts = turn.parts.peek()
      turn.parts.value = parts.slice(0, parts.findLastIndex((part) => part.kind === 'call') + 1)
      turn.again.value = { message: entry.again.message, at: Date.now() + entry.again.after_ms }
    } else if (turn.again.peek()) {
      turn.again.value = null
    }
  }
}
