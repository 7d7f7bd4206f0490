// The page's copy of a notebook against a host that is slow, forgets and dies: nothing typed is ever lost.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { build } from 'esbuild'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const built = await build({
  entryPoints: [join(here, '../src/net/replica.ts')], bundle: true, format: 'esm', write: false, platform: 'node',
  footer: { js: "export { ChangeSet, Text } from '@codemirror/state'" }, external: ['@codemirror/state'],
})
const url = `data:text/javascript;base64,${Buffer.from(built.outputFiles[0].text.replaceAll('"@codemirror/state"', JSON.stringify(import.meta.resolve('@codemirror/state'))).replaceAll("'@codemirror/state'", JSON.stringify(import.meta.resolve('@codemirror/state')))).toString('base64')}`
const { Replica, ChangeSet, Text } = await import(url)

/** The host, as far as the page knows it: one order of changes, and what of it is on disk. */
class Host {
  constructor(cells) {
    this.version = 1000
    this.cells = cells
    this.changes = []
    this.heard = {}
    this.touched = new Map()
    this.save()
  }

  save() {
    this.disk = { cells: this.cells, heard: { ...this.heard } }
    this.savedVersion = this.version
  }

  /** Dies and comes back with what is on disk. */
  die() {
    this.version += 1000
    this.cells = this.disk.cells
    this.heard = { ...this.disk.heard }
    this.changes = []
    this.touched = new Map()
    this.savedVersion = this.version
  }

  submit({ base, tag, ops }) {
    const known = this.changes.find((change) => change.tag.client === tag.client && change.tag.number === tag.number)
    if (known) return 'known'
    if (base < this.version - this.changes.length) return 'too far'
    if (ops.some((op) => (this.touched.get(op.cell) ?? 0) > base)) return 'behind'
    const replica = new Replica('host', 0, this.cells)
    for (const op of ops) replica.act(structuredClone(op))
    this.cells = [...replica.cells()]
    this.version += 1
    for (const op of ops) this.touched.set(op.cell, this.version)
    const effects = ops.map((op) => op.op === 'change' ? { effect: 'changed', cell: op.cell, change: op.change }
      : op.op === 'insert' ? { effect: 'inserted', cell: op.cell, after: op.after, kind: op.kind, source: op.source }
      : { effect: 'deleted', cell: op.cell })
    this.changes.push({ version: this.version, actor: { id: tag.client }, turn: null, tag, effects })
    this.heard[tag.client] = tag.number
    return 'taken'
  }
}

function random(seed) {
  let state = seed * 2654435761 >>> 0
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

class Client {
  constructor(host, name) {
    this.host = host
    this.replica = new Replica(name, host.version, host.cells)
    this.shown = new Map(host.cells.map((cell) => [cell.id, cell.source]))
    this.letters = []
  }

  type(id, letter, at) {
    const source = this.replica.cells().find((cell) => cell.id === id).source
    const place = Math.min(at, source.length)
    const change = ChangeSet.of({ from: place, insert: Text.of([letter]) }, source.length)
    this.replica.act({ op: 'change', cell: id, change: change.toJSON() })
    this.shown.set(id, source.slice(0, place) + letter + source.slice(place))
    this.letters.push(letter)
  }

  /** An editor follows the changes that it is told, and nothing else. */
  show({ texts }) {
    for (const { cell, change } of texts) {
      const text = Text.of((this.shown.get(cell) ?? '').split('\n'))
      this.shown.set(cell, change.apply(text).toString())
    }
  }

  hear(most) {
    const news = this.host.changes.filter((change) => change.version > this.replica.version).slice(0, most)
    for (const change of news) {
      const shift = this.replica.receive(structuredClone(change))
      if (!shift) return this.open()
      this.show(shift)
    }
    if (this.replica.version < this.host.version - this.host.changes.length) this.open()
    this.replica.saved(this.host.savedVersion)
  }

  open() {
    this.host.save()
    this.show(this.replica.resync(this.host.version, structuredClone(this.host.cells), this.host.heard[this.replica.client]))
  }

  send() {
    const submission = this.replica.outgoing()
    if (!submission) return
    const answer = this.host.submit(structuredClone(submission))
    if (answer === 'behind') {
      this.replica.unsent()
      this.hear(Infinity)
    } else if (answer === 'too far') {
      this.replica.unsent()
      this.open()
    }
  }
}

test('two windows and a host that dies again and again: every letter is there, once', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const pick = random(seed)
    const host = new Host([{ id: 'a', kind: 'code', source: 'start' }, { id: 'b', kind: 'code', source: '' }])
    const clients = [new Client(host, 'one'), new Client(host, 'two')]
    let next = 0
    for (let step = 0; step < 120; step++) {
      const which = pick(2)
      const client = clients[which]
      // Each window types in a cell of its own while hosts die: what two type in one cell in the moment before is tested below.
      if (pick(3) < 2) client.type(which === 0 ? 'a' : 'b', String.fromCodePoint(0x4e00 + next++), pick(30))
      const what = pick(12)
      if (what < 5) client.send()
      else if (what < 8) client.hear(1 + pick(3))
      else if (what === 8) host.save()
      else if (what === 9 && pick(3) === 0) {
        host.die()
        for (const one of clients) one.replica.unsent()
        for (const one of clients) one.open()
      }
    }
    for (let round = 0; round < 60; round++) for (const client of clients) (client.send(), client.hear(Infinity))
    const all = host.cells.map((cell) => cell.source).join('\n')
    for (const client of clients) {
      assert.deepEqual([...client.replica.cells()].map((cell) => cell.source), host.cells.map((cell) => cell.source), `seed ${seed}`)
      for (const [id, source] of client.shown) assert.equal(source, host.cells.find((cell) => cell.id === id).source, `seed ${seed}: what is shown`)
      for (const letter of client.letters) assert.equal(all.split(letter).length, 2, `seed ${seed}: ${letter} in ${all}`)
    }
  }
})

test('two windows in one cell come to one text with every letter', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const pick = random(seed)
    const host = new Host([{ id: 'a', kind: 'code', source: 'start 😀 end' }])
    const clients = [new Client(host, 'one'), new Client(host, 'two')]
    let next = 0
    for (let step = 0; step < 100; step++) {
      const client = clients[pick(2)]
      if (pick(2)) client.type('a', String.fromCodePoint(0x4e00 + next++), pick(6))
      if (pick(2)) client.send()
      if (pick(3) === 0) client.hear(1 + pick(3))
      if (pick(9) === 0) host.save()
    }
    for (let round = 0; round < 60; round++) for (const client of clients) (client.send(), client.hear(Infinity))
    const [{ source }] = host.cells
    for (const client of clients) {
      assert.equal(client.shown.get('a'), source)
      for (const letter of client.letters) assert.equal(source.split(letter).length, 2, `seed ${seed}`)
    }
  }
})

test('what a page left behind is done by the next one, without what had arrived', () => {
  const host = new Host([{ id: 'a', kind: 'code', source: 'x' }])
  const first = new Client(host, 'one')
  first.type('a', '1', 9)
  first.send()
  first.hear(Infinity)
  host.save()
  const kept = () => JSON.parse(JSON.stringify(first.replica.kept()))
  first.type('a', '2', 9)
  first.send()
  first.type('a', '3', 9)
  const left = kept()
  host.die()
  const next = new Client(host, 'two')
  next.replica.adopt(left, host.heard.one)
  assert.equal(next.replica.cells()[0].source, 'x123')
  next.send()
  assert.equal(host.cells[0].source, 'x123')
})
