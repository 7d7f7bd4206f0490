// An agent that works in notebooks of the host, by the host's own socket.

import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'

export class Agent {
  static async join(bed, name = 'Agent') {
    const agent = new Agent()
    agent.actor = { id: `agent-${name}`, name, kind: 'agent' }
    const { socket, version } = JSON.parse(readFileSync(join(bed.home, 'run/host.json'), 'utf8'))
    agent.socket = connect(socket)
    agent.waiting = new Map()
    agent.next = 1
    let bytes = Buffer.alloc(0)
    let greeted
    const hello = new Promise((resolve) => (greeted = resolve))
    agent.socket.on('data', (data) => {
      bytes = Buffer.concat([bytes, data])
      while (bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt32BE(0)) {
        const length = bytes.readUInt32BE(0)
        const frame = JSON.parse(bytes.subarray(4, 4 + length).toString())
        bytes = bytes.subarray(4 + length)
        if (frame.answer) greeted(frame)
        else if (frame.done) {
          const { id, result } = frame.done
          const { resolve, reject } = agent.waiting.get(id)
          agent.waiting.delete(id)
          if ('Ok' in result) resolve(result.Ok)
          else reject(new Error(JSON.stringify(result.Err)))
        }
      }
    })
    agent.send({ cellist: version, wish: 'attach' })
    await hello
    return agent
  }

  send(value) {
    const body = Buffer.from(JSON.stringify(value))
    const head = Buffer.alloc(4)
    head.writeUInt32BE(body.length)
    this.socket.write(Buffer.concat([head, body]))
  }

  ask(request) {
    const id = this.next++
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject })
      this.send({ ask: { id, request } })
    })
  }

  /** The cells of a notebook as they are now, and the revision to base a change on. */
  async read(path) {
    const { notebook } = await this.ask({ notebook: { path, ask: { read: this.actor } } })
    return { cells: JSON.parse(notebook.state.text).cells, base: notebook.state.revision }
  }

  /** Changes cells, each as in `{action: 'edit', cell: 'a', content: 'x'}`. */
  edit(path, operations, { turn = null, base = null } = {}) {
    const author = { actor: this.actor, turn }
    return this.ask({ notebook: { path, ask: { edit: { edit: { operations }, base, author } } } })
  }

  leave() {
    this.socket.destroy()
  }
}
