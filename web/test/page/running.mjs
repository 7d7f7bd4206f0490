// Running cells, completion and documentation.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cell, code, edit, notebook, source, text, until } from '../kit.mjs'
import { bed } from './bed.mjs'

test('a cell is edited and run, and its output appears while it runs', async () => {
  bed.write('run.ipynb', notebook(code('a', 'import os, time'), code('b', '')))
  const page = await bed.open('run.ipynb')
  await edit(page, 'b')
  await page.keyboard.insertText(
    'print("first", flush=True)\nwhile not os.path.exists("go"): time.sleep(0.01)\nprint("last")',
  )
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Run all' }).click()
  const output = cell(page, 'b').locator('.outputs')
  await output.getByText('first').waitFor()
  assert.equal(await output.textContent(), 'first\n')
  assert.equal(await cell(page, 'b').getAttribute('aria-label'), 'Cell 2 of 2, code, running')
  bed.write('go', {})
  await output.getByText('last').waitFor()
  await cell(page, 'b').locator('.run-state.ok').waitFor()
  const { cells } = await bed.saved(
    'run.ipynb',
    (cells) => cells[1].outputs.length > 0 && cells[1].execution_count !== null,
  )
  assert.equal(source(cells[1].outputs[0].text), 'first\nlast\n')
})

test('deleted cells are restored; completion and documentation work', async () => {
  bed.write('help.ipynb', notebook(code('a', 'alphabet = 1'), code('b', 'alph')))
  const page = await bed.open('help.ipynb')
  await cell(page, 'a').locator('.run').click({ force: true })
  await cell(page, 'a').locator('.run-state.ok').waitFor()
  await edit(page, 'b')
  await page.keyboard.press('Tab')
  await page.locator('.cm-tooltip-autocomplete').getByText('alphabet').waitFor()
  await page.keyboard.press('Enter')
  await until(async () => (await text(page, 'b')) === 'alphabet', 'the name')
  await page.keyboard.press('Shift+Tab')
  await page.locator('.documentation').waitFor()
  await page.keyboard.press('Escape')
  await page.locator('.documentation').waitFor({ state: 'detached' })
  await page.keyboard.press('Escape')
  await page.keyboard.press('d')
  await page.keyboard.press('d')
  await cell(page, 'b').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Restore' }).click()
  await cell(page, 'b').waitFor()
  assert.equal(await text(page, 'b'), 'alphabet')
})
