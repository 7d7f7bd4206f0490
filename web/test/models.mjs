// A model provider with scripted answers: the program that the official clients are tested against.

import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { program, until } from './kit.mjs'

/** Answers, in the program's format. */
export const says = (...pieces) => ({ pieces })
export const calls = (...tools) => ({ calls: tools })
export const held = (said) => ({ ...said, ending: 'held' })
export const cut = (said) => ({ ...said, ending: 'cut' })
export const garbled = (said) => ({ ...said, ending: 'garbled' })
export const paced = (said, pace_ms) => ({ ...said, pace_ms })
export const refuses = (status, words, headers = []) => ({ ending: { refused: { status, words, headers } } })

export class Models {
  /** Requests received, in order: path, headers and body. */
  asked = []
  /** The time at which each chunk of each answer was sent. */
  sent = []
  /** The number of commands sent, and of commands done. */
  given = 0
  done = 0

  static async start() {
    const models = new Models()
    // It ends when its input closes, and so with this process.
    models.child = spawn(join(dirname(program), 'scripted-models'), { stdio: ['pipe', 'pipe', 'inherit'] })
    models.child.stdin.on('error', () => {})
    models.ended = new Promise((resolve, reject) => models.child.once('exit', resolve).once('error', reject))
    models.ended.catch(() => {})
    const lines = createInterface({ input: models.child.stdout })
    lines.on('line', (line) => models.hear(JSON.parse(line)))
    await until(() => models.port, 'the port of the models')
    return models
  }

  hear({ port, asked, sent, done }) {
    if (port) this.port = port
    if (done) this.done = done
    if (asked) this.asked.push(asked)
    if (sent) this.sent.push(sent)
  }

  get url() {
    return `http://127.0.0.1:${this.port}`
  }

  /** Resolves when the command is done; all earlier requests are known by then. */
  async order(order) {
    this.child.stdin.write(`${JSON.stringify(order)}\n`)
    const number = ++this.given
    await until(() => this.done >= number, 'the models')
  }

  /** Queues answers after those that are left. */
  async say(...answers) {
    await Promise.all(answers.map((say) => this.order({ say })))
  }

  /** Drops the queued answers. */
  forget() {
    return this.order('forget')
  }

  /** Releases answers that are held. */
  release(count = 1) {
    return this.order({ release: count })
  }

  /** The number of requests so far. */
  async count() {
    await this.order('wait')
    return this.asked.length
  }

  /** The request with this number, from 0, once it has arrived. */
  async request(number) {
    return await until(
      () => this.asked[number],
      () => `request ${number} of ${this.asked.length}`,
    )
  }

  async stop() {
    this.child.stdin.end()
    await this.ended
  }
}
