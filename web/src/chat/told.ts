// A conversation as signals, built from its transcript: turns of text and tool calls.

import { batch, computed, type Signal, signal } from '@preact/signals'
import type { Approval, Ending, Heard, Told, Usage } from '../net/protocol'
import type { Under } from '../net/sync'

export type Asked = Under<Told, 'asked'>
export type Result = Under<Told, 'result'>

export interface Words {
  kind: 'words'
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
  begun: number | null
  /** Whether the user is asked for approval, and the verdict. */
  question: Signal<'asked' | Approval | null>
  /** The file that needs approval. */
  path: Signal<string | null>
  result: Signal<Result | null>
}
export type Part = Words | Call

/** A message and its answer. */
export interface Turn {
  key: number
  asked: Asked
  parts: Signal<Part[]>
  /** The error of the provider, and the time of the next attempt. */
  again: Signal<{ message: string; at: number } | null>
  ended: Signal<{ ending: Ending; usage: Usage } | null>
  isUndone: Signal<boolean>
}

export class Talk {
  readonly turns = signal<Turn[]>([])
  /** The message that is being answered. */
  readonly answering = signal<string | null>(null)
  readonly isAnswering = computed(() => this.answering.value !== null)
  readonly waiting = signal<Heard['waiting']>([])
  /** Whether code that the last answer started still runs. */
  readonly runsOn = signal(false)
  readonly proposal = signal<string | null>(null)
  private keys = 0

  /** `onEnd` is called for each answer that ends while the page is open. */
  constructor(
    private readonly onEnd: (ending: Ending) => void,
    private readonly onQuestion: () => void = () => {},
  ) {}

  clear(): void {
    this.turns.value = []
    this.answering.value = null
    this.waiting.value = []
    this.runsOn.value = false
    this.proposal.value = null
  }

  /** Applies entries that begin at `from`. Entries before `old` are older than the page. */
  take(heard: Heard, from: number, old: number): void {
    batch(() => {
      if (from === 0) this.clear()
      heard.told.forEach((told, at) => this.hear(told, from + at < old))
      this.answering.value = heard.answering
      this.runsOn.value = heard.runs_on
      if (JSON.stringify(this.waiting.peek()) !== JSON.stringify(heard.waiting))
        this.waiting.value = heard.waiting
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

  private hear(told: Told, isOld: boolean): void {
    const turn = this.turns.peek().at(-1)
    const key = ++this.keys
    if ('asked' in told) {
      this.proposal.value = null
      const asked: Turn = {
        key,
        asked: told.asked,
        parts: signal([]),
        again: signal(null),
        ended: signal(null),
        isUndone: signal(false),
      }
      this.turns.value = [...this.turns.peek(), asked]
    } else if ('text' in told) {
      const last = turn?.parts.peek().at(-1)
      if (last?.kind === 'words') last.text.value += told.text
      else this.add({ kind: 'words', key, text: signal(told.text) })
    } else if ('call' in told) {
      this.add({
        kind: 'call',
        key,
        ...told.call,
        begun: isOld ? null : Date.now(),
        question: signal(null),
        path: signal(null),
        result: signal(null),
      })
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
      // The provider repeats the text since the last call.
      const parts = turn.parts.peek()
      turn.parts.value = parts.slice(0, parts.findLastIndex((part) => part.kind === 'call') + 1)
      turn.again.value = { message: told.again.message, at: Date.now() + told.again.after_ms }
    } else if (turn.again.peek()) {
      turn.again.value = null
    }
  }
}
