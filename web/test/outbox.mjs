// Unanswered messages, and the mode that an answer would have needed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { build } from 'esbuild'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

// A stand-in for the browser's storage.
const kept = new Map()
const store = {
  getItem: (name) => kept.get(name) ?? null,
  setItem: (name, text) => kept.set(name, text),
  removeItem: (name) => kept.delete(name),
}
Object.assign(globalThis, { location: { search: '' }, localStorage: store, sessionStorage: store })

const here = dirname(fileURLToPath(import.meta.url))
const contents = `
  export { Transcript } from './chat/transcript'
  export { Outbox } from './chat/outbox'
  export { neededMode } from './chat/neededMode'
`
const built = await build({
  stdin: { contents, resolveDir: join(here, '../src'), loader: 'ts' },
  bundle: true,
  format: 'esm',
  write: false,
  platform: 'node',
})
const { Transcript, Outbox, neededMode } = await import(
  `data:text/javascript;base64,${Buffer.from(built.outputFiles[0].text).toString('base64')}`
)

const message = (id, words = id) => ({
  id,
  words,
  mode: 'ask',
  is_attached: true,
  attached: [],
  selected: [],
  outputs: [],
})
const asked = (id, words = id, mode = 'ask') => ({
  asked: {
    message: id,
    words,
    mode,
    model: 'm',
    turn: id,
    notebook_mode: true,
    notes: [],
    attached: [],
    selected: [],
    outputs: [],
  },
})
const ended = { ended: { ending: 'done', usage: { input: 1, cached: 0, output: 1, cost: null } } }
const news = (told, more = {}) => ({
  told,
  answering: null,
  waiting: [],
  runs_on: false,
  next: told.length,
  mark: 1,
  is_over: false,
  ...more,
})
const waiting = (...ids) => ids.map((id) => ({ message: id, words: id }))

/** A transcript and its outbox; a known name stands for a reload. */
function begin(told = [], name = String(Math.random())) {
  const transcript = new Transcript(() => {})
  transcript.receive(news(told), 0, 0)
  const outbox = new Outbox(name, transcript, store)
  const hear = (told, more) => {
    transcript.receive(news(told, more), 0, 0)
    outbox.removeFinished()
  }
  const back = (told, more) => {
    transcript.receive(news(told, more), 0, told.length)
    return outbox.takeLost()
  }
  return { name, outbox, hear, back }
}

test('an unanswered message of a killed host is returned once, also after a reload', () => {
  const old = [asked('1', 'continue'), ended]
  const before = begin(old)
  before.outbox.add(message('2', 'continue'))
  before.hear([...old, asked('2', 'continue'), { text: 'Half' }], { answering: '2' })
  const { back } = begin([], before.name)
  assert.deepEqual(back(old), ['continue'])
  assert.deepEqual(back(old), [])
})

test('an accepted message without any event is returned', () => {
  const { outbox, back } = begin()
  outbox.add(message('1', 'hello'))
  assert.deepEqual(back([]), ['hello'])
})

test('no message is returned while the host lives', () => {
  const { outbox, back } = begin([asked('1', 'one'), ended])
  for (const [id, words] of [
    ['2', 'two'],
    ['3', 'three'],
    ['4', 'three'],
  ])
    outbox.add(message(id, words))
  const told = [asked('1', 'one'), ended, asked('2', 'two')]
  assert.deepEqual(back(told, { answering: '2', waiting: waiting('3', '4') }), [])
  // The first has ended, and the next is about to begin.
  assert.deepEqual(back([...told, ended], { answering: '3', waiting: waiting('4') }), [])
  assert.deepEqual(back([...told, ended, asked('3', 'three')], { answering: '3', waiting: waiting('4') }), [])
  assert.deepEqual(back([...told, ended, asked('3', 'three'), ended]), ['three'])
})

test('answered and withdrawn messages are not kept', () => {
  const { name, outbox, hear } = begin()
  const ids = ['a.1', 'b.2', 'c.3']
  for (const id of ids) outbox.add(message(id))
  const held = () => ['a', 'b', 'c'].map((button) => outbox.holds(button))
  // No event has arrived since they were sent.
  hear([])
  assert.deepEqual(held(), [true, true, true])
  hear([asked('a.1')], { answering: 'a.1', waiting: waiting('b.2', 'c.3') })
  assert.deepEqual(held(), [true, true, true])
  outbox.remove('c.3')
  hear([asked('a.1'), ended], { answering: 'b.2' })
  assert.deepEqual(held(), [false, true, false])
  // Another window has withdrawn it.
  hear([asked('a.1'), ended])
  assert.equal(kept.has(name), false)
})

test('an answer that ends before the acceptance arrives is not waited for', () => {
  const { outbox, hear } = begin()
  outbox.add(message('quick.1'))
  hear([asked('quick.1'), ended])
  assert.equal(outbox.holds('quick'), false)
})

/** The mode that this answer needs. */
function needs(mode, ...told) {
  const transcript = new Transcript(() => {})
  transcript.receive(news([asked('t', 't', mode), ...told]), 0, 0)
  return neededMode(transcript.turns.value[0])
}
const call = (id, needs_mode) => [
  { call: { id, tool: 'write', arguments: {} } },
  { result: { id, text: 'no', images: 0, is_failure: true, duration_ms: 1, deeds: [], needs_mode } },
]

test('the offered mode is the highest that was needed, or that an answer without calls names', () => {
  assert.equal(needs('ask', ...call('a', 'edit')), 'edit')
  assert.equal(needs('ask', ...call('a', 'agent'), ...call('b', 'edit')), 'agent')
  assert.equal(needs('ask', ...call('a', null), { text: 'In Agent mode I would.' }), null)
  assert.equal(needs('ask', { text: 'Switch to Agent mode, please.' }), 'agent')
  assert.equal(needs('ask', { text: 'I can’t. Agent mode is needed.' }), 'agent')
  assert.equal(needs('agent', { text: 'I am in Agent mode.' }), null)
  for (const text of [
    "You don't need Agent mode.",
    'There is no need for Agent mode.',
    'It works without Agent mode.',
  ])
    assert.equal(needs('ask', { text }), null)
})
