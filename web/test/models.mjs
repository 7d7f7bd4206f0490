// A provider of models that says what a test wrote for it: the one that the official clients are tried on, as a program.

import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { program, until } from './kit.mjs'

/** Answers, as the program takes them. */
export const says = (...pieces) => ({ pieces })
export const calls = (...tools) => ({ calls: tools })
export const held = (said) => ({ ...said, ending: 'held' })
export const cut = (said) => ({ ...said, ending: 'cut' })
export const garbled = (said) => ({ ...said, ending: 'garbled' })
export const paced = (said, pace_ms) => ({ ...said, pace_ms })
export const refuses = (status, words, headers = []) => ({ ending: { refused: { status, words, headers } } })

export class Models {
  /** What was asked, in order: path, headers and body. */
  asked = []
  /** Which piece of which answer was sent when. */
  sent = []
  /** How many orders were given, and how many are done. */
  given = 0
  done = 0

  static async start() {
    const models = new Models()
    // It ends with its input, and so with this process, however that ends.
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

  /** Resolves when it is done; by then all that was asked before is known here. */
  async order(order) {
    this.child.stdin.write(`${JSON.stringify(order)}\n`)
    const number = ++this.given
    await until(() => this.done >= number, 'the models')
  }

  /** Says this, one answer after the other, after what is left. */
  async say(...answers) {
    await Promise.all(answers.map((say) => this.order({ say })))
  }

  /** Says nothing of what is left. */
  forget() {
    return this.order('forget')
  }

  /** Lets answers that are held go on. */
  release(count = 1) {
    return this.order({ release: count })
  }

  /** How often it was asked so far. */
  async count() {
    await this.order('wait')
    return this.asked.length
  }

  /** The request of that number, from 0, once it came. */
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
