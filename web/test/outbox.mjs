// What was said and is not answered yet, and the mode that an answer would have needed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { build } from 'esbuild'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

// What a browser has.
const kept = new Map()
const store = { getItem: (name) => kept.get(name) ?? null, setItem: (name, text) => kept.set(name, text), removeItem: (name) => kept.delete(name) }
Object.assign(globalThis, { location: { search: '' }, localStorage: store, sessionStorage: store })

const here = dirname(fileURLToPath(import.meta.url))
const contents = `
  export { Talk } from './chat/told'
  export { Outbox } from './chat/outbox'
  export { needed } from './chat/needs'
`
const built = await build({
  stdin: { contents, resolveDir: join(here, '../src'), loader: 'ts' }, bundle: true, format: 'esm', write: false, platform: 'node',
})
const { Talk, Outbox, needed } = await import(
  `data:text/javascript;base64,${Buffer.from(built.outputFiles[0].text).toString('base64')}`)

const message = (words) => ({ words, mode: 'ask', is_attached: true, attached: [], selected: [], outputs: [] })
const asked = (turn, words = turn, mode = 'ask') => ({ asked: { words, mode, model: 'm', turn, notebook_mode: true, notes: [], attached: [], selected: [], outputs: [] } })
const ended = { ended: { ending: 'done', usage: { input: 1, cached: 0, output: 1, cost: null } } }
const news = (told, more = {}) => ({ chat: 'c', inline: null, from: 0, told, is_answering: true, waiting: [], runs_on: false, ...more })
const rests = { is_answering: false }

/** A conversation with what was told in it, and its outbox, as after a reload when it is of a known name. */
function begin(told = [], name = String(Math.random())) {
  const talk = new Talk(() => {})
  talk.take(news(told, rests))
  const outbox = new Outbox(name, talk, store)
  const say = (words) => outbox.add(message(words), outbox.answersTo(words))
  const hear = (told, more) => {
    talk.take(news(told, more))
    outbox.heard()
  }
  const back = (told, more) => {
    talk.take(news(told, more), true)
    return outbox.lost()
  }
  return { name, outbox, say, hear, back }
}

test('what a killed host was to answer is lost once, also after a reload, though the same was said before', () => {
  const old = [asked('1', 'continue'), ended]
  const before = begin(old)
  before.say('continue')
  before.hear([...old, asked('2', 'continue'), { text: 'Half' }])
  const { back } = begin([], before.name)
  assert.deepEqual(back(old, rests), ['continue'])
  assert.deepEqual(back(old, rests), [])
})

test('a message that was taken and of which nothing was told is given back', () => {
  const { say, back } = begin()
  say('hello')
  assert.deepEqual(back([], rests), ['hello'])
})

test('nothing is lost where the host was there all the time', () => {
  const { say, back } = begin([asked('1', 'one'), ended])
  for (const words of ['two', 'three', 'three']) say(words)
  const told = [asked('1', 'one'), ended, asked('2', 'two')]
  const waiting = [{ number: 3, words: 'three' }, { number: 4, words: 'three' }]
  assert.deepEqual(back(told, { waiting }), [])
  // The first has ended, and the next is about to begin.
  assert.deepEqual(back([...told, ended], { waiting: waiting.slice(1) }), [])
  assert.deepEqual(back([...told, ended, asked('3', 'three')], { waiting: waiting.slice(1) }), [])
  assert.deepEqual(back([...told, ended, asked('3', 'three'), ended], rests), ['three'])
})

test('what was answered or withdrawn is not kept', () => {
  const { name, outbox, say, hear } = begin()
  say('one')
  say('two')
  say('three')
  hear([asked('1', 'one')], { waiting: [{ number: 2, words: 'two' }, { number: 3, words: 'three' }] })
  assert.ok(outbox.holds(message('one')) && outbox.holds(message('three')))
  outbox.withdrawn('three')
  hear([asked('1', 'one'), ended], { waiting: [{ number: 2, words: 'two' }] })
  assert.deepEqual(['one', 'two', 'three'].map((words) => outbox.holds(message(words))), [false, true, false])
  // Another window has withdrawn it.
  hear([asked('1', 'one'), ended], rests)
  assert.equal(kept.has(name), false)
})

test('an answer that ends before the host has said that it took the message is none that is waited for', () => {
  const { outbox, hear } = begin()
  const known = outbox.answersTo('quick')
  hear([asked('1', 'quick'), ended], rests)
  outbox.add(message('quick'), known)
  assert.equal(outbox.holds(message('quick')), false)
})

/** The mode that an answer of this needs. */
function needs(mode, ...told) {
  const talk = new Talk(() => {})
  talk.take(news([asked('t', 't', mode), ...told]))
  return needed(talk.turns.value[0])
}
const call = (id, needs_mode) => [
  { call: { id, tool: 'write', arguments: {} } },
  { result: { id, text: 'no', images: 0, is_failure: true, duration_ms: 1, deeds: [], needs_mode } },
]

test('the mode that is offered is the highest that was needed, or that a model without calls names', () => {
  assert.equal(needs('ask', ...call('a', 'edit')), 'edit')
  assert.equal(needs('ask', ...call('a', 'agent'), ...call('b', 'edit')), 'agent')
  assert.equal(needs('ask', ...call('a', null), { text: 'In Agent mode I would.' }), null)
  assert.equal(needs('ask', { text: 'Switch to Agent mode, please.' }), 'agent')
  assert.equal(needs('ask', { text: 'I can’t. Agent mode is needed.' }), 'agent')
  assert.equal(needs('agent', { text: 'I am in Agent mode.' }), null)
  for (const text of ["You don't need Agent mode.", 'There is no need for Agent mode.', 'It works without Agent mode.']) assert.equal(needs('ask', { text }), null)
})
