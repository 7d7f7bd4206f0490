// The page's replica against a host that is slow, forgets and crashes: no typed text is ever lost.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { build } from 'esbuild'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const built = await build({
  entryPoints: [join(here, '../src/net/replica.ts')],
  bundle: true,
  format: 'esm',
  write: false,
  platform: 'node',
  footer: { js: "export { ChangeSet, Text } from '@codemirror/state'" },
  external: ['@codemirror/state'],
})
const url = `data:text/javascript;base64,${Buffer.from(built.outputFiles[0].text.replaceAll('"@codemirror/state"', JSON.stringify(import.meta.resolve('@codemirror/state'))).replaceAll("'@codemirror/state'", JSON.stringify(import.meta.resolve('@codemirror/state')))).toString('base64')}`
const { Replica, ChangeSet, Text } = await import(url)

/** A model of the host: one order of changes, and the part of it that is on disk. */
class Host {
  constructor(cells) {
    this.version = 1000
    this.cells = cells
    /** The content of each cell beside its text, and of deleted cells. */
    this.held = new Map(cells.map(({ id }) => [id, `all of ${id}`]))
    this.graves = new Map()
    this.changes = []
    this.heard = {}
    this.touched = new Map()
    this.save()
  }

  save() {
    this.disk = {
      cells: this.cells,
      heard: { ...this.heard },
      held: new Map(this.held),
      graves: new Map(this.graves),
    }
    this.savedVersion = this.version
  }

  /** Crashes and restarts from the disk. */
  die() {
    this.version += 1000
    this.cells = this.disk.cells
    this.heard = { ...this.disk.heard }
    this.held = new Map(this.disk.held)
    this.graves = new Map(this.disk.graves)
    this.changes = []
    this.touched = new Map()
    this.savedVersion = this.version
  }

  submit({ base, tag, ops }) {
    const known = this.changes.find(
      (change) => change.tag.client === tag.client && change.tag.number === tag.number,
    )
    if (known) return 'known'
    if (base < this.version - this.changes.length) return 'too far'
    if (ops.some((op) => (this.touched.get(op.cell) ?? 0) > base)) return 'behind'
    const replica = new Replica('host', 0, this.cells)
    for (const op of ops) {
      const isThere = replica.cells().some(({ id }) => id === op.cell)
      assert.equal(isThere, op.op !== 'insert', `${JSON.stringify(op)} at ${JSON.stringify(replica.cells())}`)
      replica.act(structuredClone(op))
      this.carry(op)
    }
    this.cells = [...replica.cells()]
    this.version += 1
    for (const op of ops) this.touched.set(op.cell, this.version)
    const effects = ops.map((op) =>
      op.op === 'change'
        ? { effect: 'changed', cell: op.cell, change: op.change }
        : op.op === 'insert'
          ? { effect: 'inserted', cell: op.cell, after: op.after, kind: op.kind, source: op.source }
          : op.op === 'absorb' || op.op === 'refit'
            ? { effect: 'outputs', cell: op.cell }
            : { effect: 'deleted', cell: op.cell },
    )
    this.changes.push({ version: this.version, actor: { id: tag.client }, turn: null, tag, effects })
    this.heard[tag.client] = tag.number
    return 'taken'
  }

  /** Applies an operation to everything except texts. */
  carry({ op, cell, content, from }) {
    const of = (id) => this.held.get(id) ?? this.graves.get(id)
    if (op === 'delete') {
      this.graves.set(cell, this.held.get(cell))
      this.held.delete(cell)
    }
    if (op === 'insert')
      this.held.set(cell, content?.json ?? (content && of(content.cell.cell)) ?? 'text alone')
    if (op === 'absorb') this.held.set(cell, [this.held.get(cell), ...from.map(of)].join(' and '))
  }
}

function random(seed) {
  let state = (seed * 2654435761) >>> 0
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

  /** An editor applies the changes that it receives, and nothing else. */
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
    this.show(
      this.replica.resync(
        this.host.version,
        structuredClone(this.host.cells),
        this.host.heard[this.replica.client],
      ),
    )
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

test('two windows and a crashing host: every letter is there once', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const pick = random(seed)
    const host = new Host([
      { id: 'a', kind: 'code', source: 'start' },
      { id: 'b', kind: 'code', source: '' },
    ])
    const clients = [new Client(host, 'one'), new Client(host, 'two')]
    let next = 0
    for (let step = 0; step < 120; step++) {
      const which = pick(2)
      const client = clients[which]
      // Each window types in a cell of its own while hosts crash; typing in one cell just before a crash is
      // tested below.
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
    for (let round = 0; round < 60; round++)
      for (const client of clients) (client.send(), client.hear(Infinity))
    const all = host.cells.map((cell) => cell.source).join('\n')
    for (const client of clients) {
      assert.deepEqual(
        [...client.replica.cells()].map((cell) => cell.source),
        host.cells.map((cell) => cell.source),
        `seed ${seed}`,
      )
      for (const [id, source] of client.shown)
        assert.equal(source, host.cells.find((cell) => cell.id === id).source, `seed ${seed}: what is shown`)
      for (const letter of client.letters)
        assert.equal(all.split(letter).length, 2, `seed ${seed}: ${letter} in ${all}`)
    }
  }
})

test('whole cells survive deletion, restoration, paste and merge while hosts crash', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const pick = random(seed)
    const first = ['a', 'b', 'c', 'd'].map((id) => ({ id, kind: 'code', source: id }))
    const host = new Host(first)
    const clients = [new Client(host, 'one'), new Client(host, 'two')]
    // Cells come and go, and with them their editors.
    for (const client of clients) client.show = () => {}
    const content = (cell) => ({ cell: { cell, outputs: true } })
    // Two clients that type in one cell just before a crash are tested elsewhere.
    const dies = seed % 2 === 0
    for (let step = 0; step < 80; step++) {
      const client = clients[pick(2)]
      const cells = client.replica.cells()
      const gone = first.filter(({ id }) => !cells.some((cell) => cell.id === id))
      const some = cells[pick(cells.length)]
      const after = pick(3) === 0 ? null : (some?.id ?? null)
      const choice = pick(10)
      if (choice === 0 && some) client.replica.act({ op: 'delete', cell: some.id })
      else if (choice === 1 && gone.length > 0) {
        const { id, kind, source } = gone[pick(gone.length)]
        client.replica.act({ op: 'insert', cell: id, after, kind, source, content: content(id) })
      } else if (choice === 2) {
        client.replica.act({
          op: 'insert',
          cell: client.replica.freshName(),
          after,
          kind: 'code',
          source: '',
          content: { json: 'pasted' },
        })
      } else if (choice === 3 && some && !dies)
        client.type(some.id, String.fromCodePoint(0x4e00 + step), pick(9))
      const then = pick(12)
      if (then < 5) client.send()
      else if (then < 8) client.hear(1 + pick(3))
      else if (then === 8) host.save()
      else if (dies && then === 9 && pick(3) === 0) {
        host.die()
        for (const one of clients) one.replica.unsent()
        for (const one of clients) one.open()
      }
    }
    for (let round = 0; round < 60; round++)
      for (const client of clients) (client.send(), client.hear(Infinity))
    for (const client of clients) {
      assert.deepEqual(
        client.replica.cells().map(({ id, source }) => [id, source]),
        host.cells.map(({ id, source }) => [id, source]),
        `seed ${seed}`,
      )
    }
    for (const { id } of host.cells) {
      const held = host.held.get(id)
      if (first.some((cell) => cell.id === id)) assert.equal(held, `all of ${id}`, `seed ${seed}: ${id}`)
      else assert.notEqual(held, 'text alone', `seed ${seed}: ${id}`)
    }
  }
})

test('a merge lost in a crash is done again whole', () => {
  const host = new Host([
    { id: 'a', kind: 'code', source: 'x' },
    { id: 'b', kind: 'code', source: 'y' },
  ])
  const client = new Client(host, 'one')
  client.type('a', '1', 9)
  client.replica.act({ op: 'absorb', cell: 'a', from: ['b'] })
  client.replica.act({ op: 'delete', cell: 'b' })
  client.send()
  client.hear(Infinity)
  host.die()
  assert.equal(host.held.get('a'), 'all of a')
  client.replica.unsent()
  client.open()
  client.send()
  assert.deepEqual([host.cells.length, host.held.get('a')], [1, 'all of a and all of b'])
})

test('a whole cell that the host refuses is sent as text', () => {
  const host = new Host([{ id: 'a', kind: 'code', source: 'x' }])
  const client = new Client(host, 'one')
  client.type('a', '1', 9)
  client.replica.act({
    op: 'insert',
    cell: 'p',
    after: 'a',
    kind: 'code',
    source: 'pasted',
    content: { json: 'bad' },
  })
  assert.equal(client.replica.outgoing().ops.length, 2)
  assert.equal(client.replica.simplify(), true)
  client.send()
  assert.deepEqual(
    host.cells.map(({ source }) => source),
    ['x1', 'pasted'],
  )
  assert.equal(host.held.get('p'), 'text alone')
  assert.equal(client.replica.simplify(), false)
})

test('two windows in one cell converge with every letter', () => {
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
    for (let round = 0; round < 60; round++)
      for (const client of clients) (client.send(), client.hear(Infinity))
    const [{ source }] = host.cells
    for (const client of clients) {
      assert.equal(client.shown.get('a'), source)
      for (const letter of client.letters) assert.equal(source.split(letter).length, 2, `seed ${seed}`)
    }
  }
})

test('the next page applies the stored edits of a closed one, without those that had arrived', () => {
  const host = new Host([{ id: 'a', kind: 'code', source: 'x' }])
  const first = new Client(host, 'one')
  first.type('a', '1', 9)
  first.send()
  first.hear(Infinity)
  host.save()
  const kept = () => JSON.parse(JSON.stringify(first.replica.unsaved()))
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
