// Changes by agents under review.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent } from '../agent.mjs'
import { cell, code, notebook, text, until } from '../kit.mjs'
import { bed, sources } from './bed.mjs'

test("an agent's changes are reviewed hunk by hunk, and the review survives a reload", async () => {
  const lines = Array.from({ length: 9 }, (_, number) => `line_${number} = ${number}`)
  const path = bed.write(
    'review.ipynb',
    notebook(code('a', lines.join('\n')), code('b', 'gone = 1\nmore = 2'), code('c', 'stays')),
  )
  const page = await bed.open('review.ipynb')
  const agent = await Agent.join(bed, 'Robot')
  const changed = lines.with(1, 'line_1 = "one"').with(7, 'line_7 = "seven"').join('\n')
  await agent.update(path, 'a', changed)
  await agent.call('delete_notebook_cells', { notebook: path, cells: ['b'] })
  await agent.call('add_notebook_cell', { notebook: path, type: 'code', content: 'new = 3' })
  await page.locator('.dock').getByText('3 changes').waitFor()
  await page.reload()
  await page.locator('.dock').getByText('3 changes').waitFor()
  const reviewed = cell(page, 'a')
  await reviewed.locator('.cm-deletedChunk').first().waitFor()
  assert.equal(await reviewed.locator('.cm-deletedChunk').count(), 2)
  // One hunk is undone, the other one kept.
  await reviewed.getByRole('button', { name: 'Undo' }).last().click()
  await until(
    async () =>
      (await text(page, 'a')).endsWith('line_8 = 8') && (await text(page, 'a')).includes('line_7 = 7'),
    'the line',
  )
  await reviewed.locator('button.hunk.accept').first().click()
  await page.locator('.dock').getByText('2 changes').waitFor()
  await page.locator('[data-deleted-cell="b"]').getByRole('button', { name: 'Restore' }).click()
  await cell(page, 'b').waitFor()
  await page.getByText('1 change', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Undo all' }).click()
  await page.locator('.dock').waitFor({ state: 'detached' })
  const { cells } = await bed.saved(
    'review.ipynb',
    (cells) =>
      cells.length === 3 && sources(cells)[0].includes('line_7 = 7') && sources(cells)[1].startsWith('gone'),
  )
  assert.deepEqual(sources(cells), [
    lines.with(1, 'line_1 = "one"').join('\n'),
    'gone = 1\nmore = 2',
    'stays',
  ])
})

test('a turn is kept or undone as a whole, and a kept turn can still be undone', async () => {
  const name = 'turns.ipynb'
  const path = bed.write(name, notebook(code('a', 'a = 1'), code('b', 'b = 1'), code('c', 'c = 1')))
  const page = await bed.open(name)
  // Two agents make two turns.
  const [one, other] = [await Agent.join(bed, 'First'), await Agent.join(bed, 'Second')]
  await one.read(path)
  await one.update(path, 'a', 'a = 2')
  await one.call('move_notebook_cell', { notebook: path, cell: 'c', index: 0 })
  await other.read(path)
  await other.update(path, 'b', 'b = 2')
  await page.locator('.dock').getByText('3 changes').waitFor()
  await cell(page, 'c').getByText('moved it here').waitFor()
  const turn = (who) => page.locator('.dock .turn', { hasText: who })
  await turn('First').getByRole('button', { name: 'Undo turn' }).click()
  await page.getByText('1 change', { exact: true }).waitFor()
  await bed.saved(name, (cells) => sources(cells).join() === 'a = 1,b = 2,c = 1')
  await page.getByRole('button', { name: 'Keep all' }).click()
  await page.locator('.dock').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Changes' }).click()
  const kept = page.locator('.turns li', { hasText: 'Second' })
  await kept.getByText('edited cell 1').waitFor()
  await kept.getByRole('button', { name: 'Undo' }).click()
  await kept.getByText('undone').waitFor()
  await bed.saved(name, (cells) => sources(cells).join() === 'a = 1,b = 1,c = 1')
})

test('review can be turned off for a notebook, and stays off', async () => {
  const path = bed.write('off.ipynb', notebook(code('a', 'a = 1')))
  const page = await bed.open('off.ipynb')
  const agent = await Agent.join(bed)
  await agent.read(path)
  const reviewOn = (page) => page.getByRole('checkbox', { name: 'Review agent changes in this notebook' })
  const review = reviewOn(page)
  await page.keyboard.press('Shift+H')
  await review.uncheck()
  await page.keyboard.press('Escape')
  // Wait until another window has it too.
  const other = await bed.open('off.ipynb')
  await other.keyboard.press('Shift+H')
  await until(async () => !(await reviewOn(other).isChecked()), 'the other window')
  await agent.update(path, 'a', 'a = 2')
  await until(async () => (await text(page, 'a')) === 'a = 2', 'the change')
  assert.equal(await page.locator('.dock').count(), 0)
  await page.reload()
  await page.locator('.saved.open').waitFor()
  await page.keyboard.press('Shift+H')
  assert.equal(await review.isChecked(), false)
})
