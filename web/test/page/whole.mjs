// Whole cells: undoing an operation restores the file byte for byte.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { cell, code, edit, notebook, source, text, until } from '../kit.mjs'
import { bed, sources } from './bed.mjs'

/** A file of format 4.4 without ids, with unusual indentation and key order. */
const OLD = `{
   "nbformat_minor": 4,
   "nbformat": 4,
   "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
   "cells": [
      {
         "source": ["x = 1\\n", "print(x)"],
         "cell_type": "code",
         "execution_count": 3,
         "metadata": {"tags": ["keep", "é"], "n": 1e0},
         "outputs": [{"output_type": "stream", "name": "stdout", "text": "1\\n"}]
      },
      {
         "source": "![p](attachment:p.png)",
         "cell_type": "markdown",
         "attachments": {"p.png": {"image/png": "iVBORw0KGgo="}},
         "metadata": {"slideshow": {"slide_type": "skip"}}
      },
      {
         "source": "# second\\n\\n![q](attachment:q.png)",
         "cell_type": "markdown",
         "metadata": {},
         "attachments": {"q.png": {"image/png": "iVBORw0KGgo="}}
      },
      {
         "source": ["y = 2"],
         "cell_type": "code",
         "outputs": [],
         "metadata": {},
         "execution_count": 4
      },
      {
         "source": ["y"],
         "cell_type": "code",
         "outputs": [{"output_type": "execute_result", "execution_count": 5, "metadata": {}, "data": {"text/plain": ["2"]}}],
         "metadata": {"collapsed": false},
         "execution_count": 5
      }
   ]
}
`

/** The same as Jupyter writes it, with ids. */
function modern() {
  const { cells, metadata } = JSON.parse(OLD)
  const named = cells.map((one, at) =>
    Object.fromEntries(Object.entries({ ...one, id: `cell-${at}` }).sort()),
  )
  return `${JSON.stringify({ cells: named, metadata, nbformat: 4, nbformat_minor: 5 }, null, 1)}\n`
}

const raw = (name) => readFileSync(join(bed.work, name), 'utf8')

for (const [format, original] of [
  ['4.4 without ids', OLD],
  ['4.5', modern()],
]) {
  test(`whole cells of format ${format} are deleted, cut, pasted, split and merged, and all of it is undone`, async () => {
    const name = `whole-${format.slice(0, 3)}.ipynb`
    writeFileSync(join(bed.work, name), original)
    const page = await bed.open(name)
    const press = async (...keys) => {
      for (const key of keys) await page.keyboard.press(key)
    }
    const count = (wanted) => bed.saved(name, (cells) => cells.length === wanted)
    const same = (step) =>
      until(
        () => raw(name) === original,
        () => `${step}: the file as it was, not ${raw(name)},`,
      )
    const select = async (at) => {
      await press('Escape')
      await page
        .locator('[data-cell]')
        .nth(at)
        .evaluate((element) => element.focus())
      await until(
        () =>
          page
            .locator('[data-cell]')
            .nth(at)
            .evaluate(
              (element) => element === document.activeElement && element.classList.contains('active'),
            ),
        'the focus',
      )
    }
    const bare = ({ id, ...rest }) => rest
    for (let at = 0; at < 5; at++) {
      await select(at)
      await press('d', 'd')
      await count(4)
      await press('z')
      await same(`undoing the deletion of ${at}`)
      await press('Shift+Z')
      await count(4)
      await page.getByRole('button', { name: 'Restore' }).click()
      await same(`restoring ${at}`)
    }
    await select(0)
    // Its outputs are back at once.
    await page.locator('[data-cell]').first().locator('.outputs').getByText('1', { exact: true }).waitFor()
    await press('Control+a', 'd', 'd')
    await count(1)
    await page.getByRole('button', { name: 'Restore' }).click()
    await same('restoring all')

    // A change of type, and cleared outputs, with and without anything printed.
    for (const at of [0, 3, 4]) {
      await select(at)
      await press('m')
      await bed.saved(name, (cells) => cells[at].cell_type === 'markdown')
      await press('z')
      await same(`m and z at ${at}`)
      await press('Shift+C')
      await bed.saved(name, (cells) => cells[at].execution_count === null)
      await press('z')
      await same(`clearing at ${at}`)
    }
    await select(0)
    await press('Control+Shift+ArrowDown')
    await bed.saved(name, (cells) => cells[1].cell_type === 'code')
    await press('z')
    await same('moving')

    // The lower part of a split keeps the outputs; both have the metadata.
    await select(0)
    await press('Enter', 'Control+Home', 'End', 'Control+Shift+-')
    const { cells: halves } = await count(6)
    assert.deepEqual(sources(halves.slice(0, 2)), ['x = 1', 'print(x)'])
    assert.deepEqual(halves[0].metadata, halves[1].metadata)
    assert.deepEqual(
      [
        halves[0].outputs.length,
        halves[0].execution_count,
        halves[1].outputs.length,
        halves[1].execution_count,
      ],
      [0, null, 1, 3],
    )
    await press('Escape', 'z')
    await same('splitting')
    await press('Shift+Z')
    const { cells: again } = await count(6)
    assert.deepEqual(again.map(bare), halves.map(bare))
    await press('z')
    await same('splitting again')

    // Merges keep the values of both.
    await select(1)
    await press('Shift+M')
    const { cells: merged } = await count(4)
    assert.deepEqual(Object.keys(merged[1].attachments), ['p.png', 'q.png'])
    await press('z')
    await same('merging Markdown')
    await press('Shift+Z')
    await count(4)
    await press('z')
    await same('merging Markdown again')
    await select(3)
    await press('Shift+M')
    const { cells: joined } = await count(4)
    assert.deepEqual([sources(joined)[3], joined[3].outputs.length], ['y = 2\n\ny', 1])
    await press('z')
    await same('merging code')

    // A copy has everything but the name.
    await select(0)
    await press('c', 'v')
    const { cells: six } = await count(6)
    assert.deepEqual(bare(six[1]), bare(six[0]))
    await press('z')
    await same('copying')

    // Cut, then undone or pasted at the same place.
    for (const [at, key] of [
      [0, 'Shift+V'],
      [2, 'Shift+V'],
      [4, 'v'],
    ]) {
      await select(at)
      await press('x')
      await count(4)
      await press('z')
      await same(`undoing the cut of ${at}`)
      await select(at)
      await press('x')
      await count(4)
      await press(key)
      await same(`cutting and pasting ${at}`)
    }

    // Cut here, pasted at the same place in another tab.
    const other = await bed.open(name)
    await countOpened(other)
    await page.bringToFront()
    for (const [at, key, place] of [
      [0, 'Shift+V', 0],
      [4, 'v', 3],
    ]) {
      await select(at)
      const before = await opened(other)
      await press('x')
      await count(4)
      await other.bringToFront()
      await until(
        () => other.evaluate(() => document.querySelectorAll('[data-cell]').length === 4),
        'the other tab',
      )
      await other
        .locator('[data-cell]')
        .nth(place)
        .evaluate((element) => element.focus())
      await until(
        () =>
          other
            .locator('[data-cell]')
            .nth(place)
            .evaluate((element) => element.classList.contains('active')),
        'the focus',
      )
      await until(async () => (await opened(other)) > before, 'the clipboard')
      await other.keyboard.press(key)
      await same(`cutting ${at} and pasting in another tab`)
      await page.bringToFront()
    }
  })
}

/** Counts the messages of other tabs that this tab can decrypt. */
const countOpened = (page) =>
  page.evaluate(() => {
    window.opened = 0
    const decrypt = crypto.subtle.decrypt.bind(crypto.subtle)
    crypto.subtle.decrypt = async (...given) => {
      const plain = await decrypt(...given)
      // Once the page has read it.
      setTimeout(() => window.opened++)
      return plain
    }
  })
const opened = (page) => page.evaluate(() => window.opened)

/** Collects the messages between tabs, as any page at this address can. */
const hearTabs = (page) =>
  page.evaluate(() => {
    window.heard = []
    window.tabs = new BroadcastChannel('cellist:clipboard')
    window.tabs.onmessage = ({ data }) => window.heard.push(data)
  })
const heard = (page) => page.evaluate(() => window.heard.length)

test('a page without the key can neither read nor send cells of other tabs', async () => {
  bed.write('told.ipynb', notebook(code('a', 'private = 4711'), code('b', '2')))
  const page = await bed.open('told.ipynb')
  await countOpened(page)
  // Of our origin, as the page of a program that took the port is.
  const stranger = await bed.context.newPage()
  const address = `http://127.0.0.1:${bed.port}/stranger`
  await stranger.route(address, (route) =>
    route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>stranger</title>' }),
  )
  await stranger.goto(address)
  await hearTabs(stranger)
  await page.bringToFront()
  await page.keyboard.press('c')
  await until(async () => (await heard(stranger)) > 0, 'the message')
  const clip = JSON.stringify({
    stamp: 's',
    path: '/x',
    cells: [{ id: 'x', kind: 'code', source: 'foreign', json: null }],
  })
  await stranger.evaluate((clip) => {
    for (const message of [null, 'null', clip, new TextEncoder().encode(clip).buffer, new ArrayBuffer(3)])
      window.tabs.postMessage(message)
    // It may replay a recorded message; our page decrypts that, and so has processed all earlier ones.
    window.tabs.postMessage(window.heard[0])
  }, clip)
  await until(async () => (await opened(page)) > 0, 'the last message')
  const messages = await stranger.evaluate(() =>
    window.heard.map((data) => (data instanceof ArrayBuffer ? new TextDecoder().decode(data) : String(data))),
  )
  assert.equal(messages.length, 1, 'a page without the key gets no answer')
  for (const word of ['private', '4711', 'told.ipynb', 'source'])
    assert.ok(!messages[0].includes(word), messages[0])
  await page.keyboard.press('v')
  const { cells } = await bed.saved('told.ipynb', (cells) => cells.length === 3)
  assert.deepEqual(sources(cells), ['private = 4711', 'private = 4711', '2'])
})

test('undo leaves later edits of other clients', async () => {
  writeFileSync(join(bed.work, 'since.ipynb'), modern())
  const page = await bed.open('since.ipynb')
  const other = await bed.open('since.ipynb')
  await page.bringToFront()
  await page
    .locator('[data-cell]')
    .nth(1)
    .evaluate((element) => element.focus())
  await page.keyboard.press('Shift+M')
  await bed.saved('since.ipynb', (cells) => cells.length === 4)
  await other.bringToFront()
  await other.keyboard.press('j')
  await other.keyboard.press('Enter')
  await other.keyboard.press('Control+End')
  await other.keyboard.type(' typed by another')
  await bed.saved('since.ipynb', (cells) => source(cells[1].source).endsWith('typed by another'))
  await page.bringToFront()
  await until(async () => (await text(page, 'cell-1')).endsWith('typed by another'), 'the text')
  await page
    .locator('[data-cell]')
    .first()
    .evaluate((element) => element.focus())
  await page.keyboard.press('z')
  const { cells } = await bed.saved('since.ipynb', (cells) => cells.length === 5)
  assert.ok(source(cells[1].source).endsWith('typed by another'))
  assert.deepEqual(cells[2], JSON.parse(modern()).cells[2])
})

test('merging renames different images of one name', async () => {
  const picture = (id, data) => ({
    cell_type: 'markdown',
    id,
    metadata: {},
    source: `![${id}](attachment:image.png)`,
    attachments: { 'image.png': { 'image/png': data } },
  })
  bed.write(
    'pictures.ipynb',
    notebook(picture('a', 'iVBORw0KGgo='), picture('b', 'iVBORw0KGgoA'), picture('c', 'iVBORw0KGgo=')),
  )
  const page = await bed.open('pictures.ipynb')
  for (const key of ['Shift+J', 'Shift+J', 'Shift+M']) await page.keyboard.press(key)
  const { cells } = await bed.saved('pictures.ipynb', (cells) => cells.length === 1)
  assert.equal(
    source(cells[0].source),
    '![a](attachment:image.png)\n\n![b](attachment:image-2.png)\n\n![c](attachment:image.png)',
  )
  assert.deepEqual(cells[0].attachments, {
    'image.png': { 'image/png': 'iVBORw0KGgo=' },
    'image-2.png': { 'image/png': 'iVBORw0KGgoA' },
  })
})

test('the system clipboard carries cells and plain text; other content is pasted as text', async () => {
  writeFileSync(join(bed.work, 'from.ipynb'), modern())
  bed.write('to.ipynb', notebook(code('t', 'plain = "text"')))
  const from = await bed.open('from.ipynb')
  await hearTabs(from)
  await from.keyboard.press('Shift+J')
  await from.keyboard.press('Control+c')
  await from.getByText('2 cells copied').waitFor({ state: 'attached' })
  await until(async () => (await heard(from)) > 0, 'the clipboard')
  const to = await bed.open('to.ipynb')
  await to.keyboard.press('Control+v')
  const { cells } = await bed.saved('to.ipynb', (cells) => cells.length === 3)
  assert.deepEqual(cells.slice(1), JSON.parse(modern()).cells.slice(0, 2))
  await cell(to, 'cell-0').locator('.outputs').getByText('1', { exact: true }).waitFor()

  // Selected text is copied as text, and becomes a cell.
  await edit(to, 't')
  await to.keyboard.press('Control+a')
  await to.keyboard.press('Control+c')
  await to.keyboard.press('Escape')
  await to.keyboard.press('Control+v')
  const { cells: four } = await bed.saved('to.ipynb', (cells) => cells.length === 4)
  assert.deepEqual(
    [source(four[1].source), four[1].cell_type, four[1].outputs],
    ['plain = "text"', 'code', []],
  )

  // Whatever a program puts there, the file stays a notebook.
  const offered = (cells) =>
    to.evaluate((cells) => {
      const clipboardData = new DataTransfer()
      clipboardData.setData(
        'application/x-cellist-cells+json',
        JSON.stringify({ stamp: 's', path: '/x', cells }),
      )
      document.activeElement.dispatchEvent(
        new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }),
      )
    }, cells)
  const hostile = (json) => [{ id: '../x', kind: 'code', source: 'kept = 1', json: JSON.stringify(json) }]
  await offered(hostile({ cell_type: 'code', source: '', metadata: [], outputs: 5 }))
  await to.locator('.toast').getByText('Only the text was pasted').waitFor()
  const { cells: five } = await bed.saved('to.ipynb', (cells) => cells.length === 5)
  assert.deepEqual(five.find((one) => source(one.source) === 'kept = 1').outputs, [])
  const script = {
    output_type: 'display_data',
    metadata: {},
    data: { 'text/html': ['<div><script>window.hacked = 1</script>hi</div>'] },
  }
  await offered(
    hostile({ cell_type: 'code', id: 't', source: '', metadata: {}, execution_count: 1, outputs: [script] }),
  )
  const { cells: all } = await bed.saved('to.ipynb', (cells) => cells.length === 6)
  assert.equal(new Set(all.map(({ id }) => id)).size, 6)
  await to.locator('.outputs iframe, .outputs :text("hi")').first().waitFor()
  assert.equal(await to.evaluate(() => window.hacked), undefined)
})

test('a cell cut while the host was gone is restored whole', async () => {
  writeFileSync(join(bed.work, 'away.ipynb'), modern())
  const page = await bed.open('away.ipynb')
  // The assistant's script loads after the notebook.
  await until(
    () =>
      page.evaluate(() =>
        performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/chat.js')),
      ),
    'all of the page',
  )
  await bed.kill()
  for (const key of ['x', 'j', 'v', 'k', 'k', 'd', 'd', 'z']) await page.keyboard.press(key)
  await bed.serve()
  await page.locator('.saved.open').waitFor()
  const { cells } = await bed.saved('away.ipynb', (cells) => cells[0].id !== 'cell-0')
  const before = JSON.parse(modern()).cells
  await until(async () => (await page.locator('.saved').textContent()) === 'Saved', 'the save')
  const now = bed.read('away.ipynb').cells
  assert.deepEqual(
    new Set(now.map((one) => JSON.stringify(one))),
    new Set(before.map((one) => JSON.stringify(one))),
    JSON.stringify(cells),
  )
})
