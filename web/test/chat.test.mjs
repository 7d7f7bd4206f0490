// Conversations on the page: transcripts, mentions and proposals for a cell.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { build } from 'esbuild'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import './outbox.mjs'

// A stand-in for the browser's storage.
const store = { getItem: () => null, setItem: () => {}, removeItem: () => {} }
Object.assign(globalThis, { location: { search: '' }, localStorage: store, sessionStorage: store })

const here = dirname(fileURLToPath(import.meta.url))
const contents = `
  export { Transcript } from './chat/transcript'
  export { rebased } from './chat/rebase'
  export { beyond, means, mentions, triggerAt } from './chat/mentions'
  export { isAttached } from './chat/draft'
  export { apply } from './net/change'
  export { cells, file, order } from './state/doc'
`
const built = await build({
  stdin: { contents, resolveDir: join(here, '../src'), loader: 'ts' },
  bundle: true,
  format: 'esm',
  write: false,
  platform: 'node',
})
const { Transcript, rebased, beyond, means, mentions, triggerAt, isAttached, apply, cells, file, order } =
  await import(`data:text/javascript;base64,${Buffer.from(built.outputFiles[0].text).toString('base64')}`)

const asked = (turn, more = {}) => ({
  asked: {
    words: turn,
    mode: 'agent',
    model: 'm',
    turn,
    notebook_mode: true,
    notes: [],
    attached: [],
    selected: [],
    outputs: [],
    ...more,
  },
})
const result = (id, more = {}) => ({
  result: {
    id,
    text: 'ok',
    images: 0,
    is_failure: false,
    duration_ms: 3,
    deeds: [],
    needs_mode: null,
    ...more,
  },
})
const ended = (ending = 'done') => ({
  ended: { ending, usage: { input: 1, cached: 0, output: 1, cost: null } },
})
const heard = (told, more = {}) => ({
  told,
  answering: 'm',
  waiting: [],
  runs_on: false,
  next: told.length,
  mark: 1,
  is_over: false,
  ...more,
})
/** Applies entries that begin at `from`. */
const take = (transcript, from, told, more) => transcript.receive(heard(told, more), from, 0)

/** An answer in short: text as it is, calls by name and state. */
const inShort = (turn) =>
  turn.parts.value.map((part) =>
    part.kind === 'text'
      ? part.text.value
      : `${part.tool}:${part.result.value ? 'done' : (part.question.value ?? 'running')}`,
  )

test('an answer has text and calls in order', () => {
  const transcript = new Transcript(() => {})
  take(transcript, 0, [
    asked('t'),
    { text: 'I ' },
    { text: 'look.' },
    { call: { id: 'a', tool: 'read', arguments: {} } },
  ])
  take(transcript, 4, [result('a'), { text: 'Done.' }, ended()], { answering: null })
  assert.deepEqual(transcript.turns.value.map(inShort), [['I look.', 'read:done', 'Done.']])
  assert.equal(transcript.turns.value[0].ended.value.ending, 'done')
  assert.equal(transcript.isAnswering.value, false)
})

test('text that the provider repeats is not doubled', () => {
  const transcript = new Transcript(() => {})
  take(transcript, 0, [
    asked('t'),
    { call: { id: 'a', tool: 'read', arguments: {} } },
    result('a'),
    { text: 'Half an' },
    { again: { message: 'busy', after_ms: 50 } },
  ])
  assert.equal(transcript.turns.value[0].again.value.message, 'busy')
  take(transcript, 5, [{ text: 'Half an answer' }])
  assert.deepEqual(inShort(transcript.turns.value[0]), ['read:done', 'Half an answer'])
  assert.equal(transcript.turns.value[0].again.value, null)
})

test('a transcript sent from the beginning replaces the old one', () => {
  const transcript = new Transcript(() => {})
  take(transcript, 0, [asked('t'), { text: 'a' }])
  take(transcript, 2, [{ text: 'b' }])
  assert.deepEqual(transcript.turns.value.map(inShort), [['ab']])
  take(transcript, 0, [asked('t'), { text: 'abc' }])
  assert.deepEqual(transcript.turns.value.map(inShort), [['abc']])
})

test('a question is open until it is answered', () => {
  const transcript = new Transcript(() => {})
  take(transcript, 0, [
    asked('t'),
    { call: { id: 'a', tool: 'python', arguments: {} } },
    { question: { id: 'a' } },
  ])
  assert.deepEqual(inShort(transcript.turns.value[0]), ['python:asked'])
  take(transcript, 3, [{ verdict: { id: 'a', verdict: 'once' } }])
  assert.deepEqual(inShort(transcript.turns.value[0]), ['python:once'])
})

test('calls with the same id belong to their own turns', () => {
  const transcript = new Transcript(() => {})
  const call = { call: { id: 'call_1', tool: 'read', arguments: {} } }
  take(transcript, 0, [asked('one'), call, result('call_1'), ended(), asked('two'), call])
  assert.deepEqual(transcript.turns.value.map(inShort), [['read:done'], ['read:running']])
  take(transcript, 6, [{ undone: { turn: 'one' } }])
  assert.deepEqual(
    transcript.turns.value.map((turn) => turn.isUndone.value),
    [true, false],
  )
})

test('only answers that end while the page is open are announced', () => {
  const announced = []
  const transcript = new Transcript((ending) => announced.push(ending))
  transcript.receive(heard([asked('t'), ended(), asked('u'), ended('stopped')]), 0, 2)
  assert.deepEqual(announced, ['stopped'])
})

test('a mention begins only at the start of a word', () => {
  assert.deepEqual(triggerAt('run #run', 8), { sign: '#', query: 'run', from: 4 })
  assert.deepEqual(triggerAt('(@pen', 5), { sign: '@', query: 'pen', from: 1 })
  assert.equal(triggerAt('ann@example', 11), null)
  assert.equal(triggerAt('#run cells', 10), null)
})

const chat = {
  references: [
    { name: '#runNotebookCells', mode: 'agent' },
    { name: '#getNotebookCells', mode: 'ask' },
  ],
  notebooks: ['b.ipynb'],
}

test("mentions list the mode's tools, and nothing of a detached notebook", () => {
  const listed = (mode) => mentions({ sign: '#', query: '' }, mode, chat).map(({ label }) => label)
  assert.deepEqual(listed('ask'), ['#getNotebookCells'])
  assert.deepEqual(listed('edit'), ['#getNotebookCells'])
  assert.deepEqual(listed('agent'), ['#runNotebookCells', '#getNotebookCells'])
  isAttached.value = false
  assert.deepEqual(listed('agent'), [])
  assert.deepEqual(mentions({ sign: '@', query: 'cell' }, 'agent', chat), [])
  isAttached.value = true
  assert.deepEqual(
    mentions({ sign: '@', query: 'b.ip' }, 'ask', chat).map(({ label }) => label),
    ['b.ipynb'],
  )
})

test('names that begin with the query come first, and a word inside a cell is not chosen', () => {
  for (const [id, source] of [
    ['a1', 'import b, cell_of'],
    ['b2', '@dataclass'],
  ])
    cells.set(id, { source, outputs: { value: [] } })
  order.value = ['a1', 'b2']
  const first = (query) => {
    const [found] = mentions({ sign: '@', query }, 'ask', { ...chat, notebooks: ['old/pen.ipynb'] })
    return [found.key, means(query, found)]
  }
  assert.deepEqual(first('dataclass'), ['cell:b2', false])
  assert.deepEqual(first('cell'), ['cell:a1', true])
  assert.deepEqual(first('B2'), ['cell:b2', true])
  assert.deepEqual(first('pen'), ['notebook:old/pen.ipynb', true])
  const [tool] = mentions({ sign: '#', query: 'cells' }, 'ask', chat)
  assert.ok(means('cells', tool))
  cells.clear()
  order.value = []
})

test('a notebook of the same name in another folder is distinct', () => {
  file.value = { path: '/desk/old/b.ipynb', name: 'b.ipynb', language: 'python' }
  assert.deepEqual(
    mentions({ sign: '@', query: 'b.ip' }, 'ask', chat).map(({ about }) => about),
    ['notebook'],
  )
  file.value = null
})

test('tools that the mode does not allow are found in the text', () => {
  assert.deepEqual(beyond('please #runNotebookCells now', 'ask', chat), ['#runNotebookCells'])
  assert.deepEqual(beyond('please #runNotebookCells now', 'agent', chat), [])
  assert.deepEqual(beyond('see http://a/#runNotebookCells', 'ask', chat), [])
})

test('a proposal keeps text typed since the request', () => {
  const base = 'a = 1\nb = 2\nprint(a)'
  const proposed = 'a = 1\nb = 2\nprint(a + b)'
  assert.equal(apply(rebased(base, proposed, base), base), proposed)
  const now = 'a = 10\nb = 2\nprint(a)  # 🐧'
  assert.equal(apply(rebased(base, proposed, now), now), 'a = 10\nb = 2\nprint(a + b)  # 🐧')
})

test('a proposal does not apply where text was typed in the same place', () => {
  for (const [base, proposed, now] of [
    ['x = 1', 'x = 2', 'x = 10'],
    ['def f(x)', 'def f(x, y)', 'def f(x, y=0)'],
    ['a = 1\nb = 2\nc = 3', 'a = 1\nb = 2\nc = 4', 'a = 1'],
    ['a = 1', 'a = 1\nb = 2', 'a = 1\nc = 3'],
  ])
    assert.equal(rebased(base, proposed, now), null, now)
})

test('a proposal built on typed text contains it once', () => {
  for (const [base, proposed, now] of [
    ['a = 1', 'a = 1\nb = 2\nc = 3', 'a = 1\nb = 2'],
    ['a = 1\nb = 2', 'a = 1\nb = 3', 'a = 1\nb = 3'],
    ['', 'import os\nprint(os.name)', 'import os'],
    ['a = 1\nb = 2\nc = 3', 'a = 1\nc = 4', 'a = 1\nc = 3'],
  ])
    assert.equal(apply(rebased(base, proposed, now), now), proposed, now)
})

test('a proposal never splits a character', () => {
  const [base, proposed] = ['x = "🐧🐧"', 'x = "🐧🐨"']
  const change = rebased(base, proposed, base)
  assert.equal(apply(change, base), proposed)
  change.iterChanges((from, to, _from, _to, inserted) => {
    for (const text of [base.slice(from, to), inserted.toString()]) assert.ok(text.isWellFormed(), text)
  })
})
