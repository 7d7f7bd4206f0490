// Notebooks that cannot be opened, and true states.

import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { cell, code, edit, notebook, SHOTS, until } from '../kit.mjs'
import { bed } from './bed.mjs'

async function visit(page, path) {
  await page.goto(`http://127.0.0.1:${bed.port}/?path=${encodeURIComponent(path)}`)
}

test('a notebook that cannot be opened shows the error and the next steps', async () => {
  const at = (name) => join(bed.work, name)
  bed.write('near.ipynb', notebook(code('a', '1')))
  writeFileSync(at('broken.ipynb'), '{\n "cells": [\n  {"cell_type": \n')
  writeFileSync(at('new.ipynb'), '{"cells": [], "metadata": {}, "nbformat": 5, "nbformat_minor": 0}')
  writeFileSync(at('list.ipynb'), '[]')
  mkdirSync(at('folder.ipynb'))
  const page = await bed.open()

  await visit(page, at('broken.ipynb'))
  await page.getByRole('heading', { name: 'This file is damaged' }).waitFor()
  await page.getByRole('alert').getByText('line 4 column 1').waitFor()
  assert.equal(await page.title(), 'broken.ipynb · cellist')
  if (SHOTS) await page.screenshot({ path: join(SHOTS, 'trouble.png') })
  const [opened] = await Promise.all([
    page.context().waitForEvent('page'),
    page.getByRole('link', { name: 'Open as text' }).click(),
  ])
  await opened.waitForLoadState()
  assert.match(await opened.locator('body').textContent(), /"cell_type":/)
  await opened.close()
  // Once fixed, it opens.
  bed.write('broken.ipynb', notebook(code('a', 'mended')))
  await page.getByRole('button', { name: 'Try again' }).click()
  await cell(page, 'a').waitFor()

  await visit(page, at('new.ipynb'))
  await page.getByRole('heading', { name: 'needs a newer cellist' }).waitFor()
  await visit(page, at('list.ipynb'))
  await page.getByRole('heading', { name: 'not a notebook' }).waitFor()
  await visit(page, at('folder.ipynb'))
  await page.getByRole('heading', { name: 'This is a folder' }).waitFor()

  await visit(page, at('missing.ipynb'))
  await page.getByRole('heading', { name: 'Notebook not found' }).waitFor()
  await page.getByRole('link', { name: 'near.ipynb' }).waitFor()
  if (SHOTS) await page.screenshot({ path: join(SHOTS, 'missing.png') })
  await page.getByRole('button', { name: 'Create this notebook' }).click()
  await page.locator('[data-cell]').waitFor()
  await page.getByRole('heading', { name: 'missing.ipynb' }).waitFor()
  await visit(page, at('no/such/folder/x.ipynb'))
  await page.getByRole('heading', { name: 'Notebook not found' }).waitFor()
  await page.getByRole('link', { name: 'near.ipynb' }).waitFor()
  const answer = await page.request.get(
    `http://127.0.0.1:${bed.port}/raw?path=${encodeURIComponent('/etc/passwd')}`,
  )
  assert.equal(answer.status(), 404)
})

test('a live kernel is not shown as gone after a reload', async () => {
  bed.write('alive.ipynb', notebook(code('a', 'b = 2'), code('b', 'print(b)')))
  const page = await bed.open('alive.ipynb')
  await page.getByRole('button', { name: 'Run all' }).click()
  await cell(page, 'b').locator('.run-state.ok').waitFor()
  await page.goto(`http://127.0.0.1:${bed.port}/`)
  await visit(page, join(bed.work, 'alive.ipynb'))
  await cell(page, 'b').locator('.run-state').waitFor()
  assert.match(await cell(page, 'a').locator('.run-state').textContent(), /^ran in [^,]*$/)
  assert.match(await cell(page, 'b').locator('.run-state').textContent(), /^ran in [^,]*$/)
})

test('a stopped run names its cell and counts the cells not run', async () => {
  const many = Array.from({ length: 30 }, (_, at) =>
    code(`c${at}`, at === 2 ? '{}["missing"]' : `print(${at})\n${'#\n'.repeat(8)}`),
  )
  bed.write('stops.ipynb', notebook(...many))
  const page = await bed.open('stops.ipynb')
  await page
    .locator('[data-cell]')
    .last()
    .evaluate((element) => element.focus())
  await page.getByRole('button', { name: 'Run all' }).click()
  const toast = page.locator('.toast')
  await toast.getByText("Stopped at cell 2: KeyError: 'missing'; 27 cells not run").waitFor()
  await toast.getByRole('button', { name: 'Show' }).click()
  await until(
    () =>
      cell(page, 'c2').evaluate((element) => {
        const { top, bottom } = element.getBoundingClientRect()
        return element.classList.contains('active') && top >= 0 && bottom <= innerHeight
      }),
    'the cell',
  )
  // A complete run shows no notice.
  await edit(page, 'c2')
  await page.keyboard.press('Control+a')
  await page.keyboard.type('import os, time\nwhile not os.path.exists("stops-go"): time.sleep(0.01)')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+Enter')
  await cell(page, 'c2').locator('.running').waitFor()
  // It failed before; a running cell does not show that.
  assert.equal(await cell(page, 'c2').locator('.run-state').count(), 0)
  assert.equal(await cell(page, 'c2').getAttribute('aria-label'), 'Cell 3 of 30, code, running')
  bed.write('stops-go', {})
  await cell(page, 'c2').locator('.run-state.ok').waitFor()
})

test('an empty cell is not queued', async () => {
  bed.write('empty.ipynb', notebook(code('a', ''), code('b', 'print("ran")'), code('c', ' ')))
  const page = await bed.open('empty.ipynb')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('button', { name: 'Run all' }).click()
  await cell(page, 'b').locator('.run-state.ok').waitFor()
  assert.equal(await page.locator('.queued, .run-state.queued').count(), 0)
})

test('interrupted and timed-out cells are not shown as failed, and skipped cells are counted', async () => {
  bed.write(
    'stopped.ipynb',
    notebook(
      code('a', 'print("begun", flush=True)\nimport time; time.sleep(600)'),
      code('b', '2'),
      code('c', '3'),
    ),
  )
  const page = await bed.open('stopped.ipynb')
  const told = (id) => cell(page, id).locator('.run-state.stopped')
  await cell(page, 'a').locator('.run').click({ force: true })
  await cell(page, 'a').locator('.outputs').getByText('begun').waitFor()
  // A second run waits behind the first one; Stop ends both.
  await page.getByRole('button', { name: 'Run all' }).click()
  await cell(page, 'b').locator('.run-state.queued').waitFor()
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  await told('a')
    .getByText(/^interrupted after \d/)
    .waitFor()
  assert.equal(await cell(page, 'a').getAttribute('aria-label'), 'Cell 1 of 3, code, interrupted')
  assert.equal(await cell(page, 'a').locator('.count.stopped').count(), 1)
  assert.equal(await page.locator('.count.failed, .run-state.failed').count(), 0)
  await page.locator('.toast').getByText('Stopped: interrupted; 3 cells not run').waitFor()
  // A time limit of another client.
  assert.throws(() => bed.run('run', 'stopped.ipynb', '--timeout', '1'), /run stopped\.ipynb --timeout 1/)
  await told('a')
    .getByText(/^timed out after \d/)
    .waitFor()
  assert.equal(await cell(page, 'a').getAttribute('aria-label'), 'Cell 1 of 3, code, timed out')
})

test("the kernel's label tells how long it stays, that it is stuck, and the reason of its end", async () => {
  const stubborn =
    'import os, time\nwhile not os.path.exists("stuck-go"):\n    try: time.sleep(0.02)\n    except KeyboardInterrupt: print("no", flush=True)'
  bed.write('stuck.ipynb', notebook(code('a', stubborn)))
  const page = await bed.open('stuck.ipynb')
  const pill = page.locator('.kernel')
  const says = (words, title) =>
    until(
      async () => {
        const [said, why] = [await pill.textContent(), await pill.getAttribute('title')]
        return words.test(said) && title.test(why)
      },
      async () => `${words}, not ${await pill.textContent()} (${await pill.getAttribute('title')}),`,
    )
  await says(/not started$/, /not started$/)
  await cell(page, 'a').locator('.run').click({ force: true })
  await says(/busy$/, /^busy; kept for 60 minutes after the last page, agent or terminal disconnects$/)
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  await cell(page, 'a').locator('.outputs').getByText('no').first().waitFor()
  await says(
    /not stopping$/,
    /^The interrupted code has not stopped\. Stop interrupts again; Restart ends the kernel and loses its variables\.$/,
  )
  bed.write('stuck-go', {})
  await says(/idle$/, /^idle; kept for 60 minutes /)
  bed.run('sessions', 'stop', 'stuck.ipynb')
  await says(/no kernel: the last one was stopped$/, /^no kernel: the last one was stopped$/)
})
