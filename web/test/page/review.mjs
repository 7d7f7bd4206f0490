// What agents changed, waiting for someone to look at it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent } from '../agent.mjs'
import { cell, code, notebook, text, until } from '../kit.mjs'
import { bed, sources } from './bed.mjs'

test('changes of an agent wait for review, hunk by hunk, and survive a reload', async () => {
  const lines = Array.from({ length: 9 }, (_, number) => `line_${number} = ${number}`)
  const path = bed.write('review.ipynb', notebook(code('a', lines.join('\n')), code('b', 'gone = 1\nmore = 2'), code('c', 'stays')))
  const page = await bed.open('review.ipynb')
  const agent = await Agent.join(bed, 'Robot')
  const changed = lines.with(1, 'line_1 = "one"').with(7, 'line_7 = "seven"').join('\n')
  await agent.update(path, 'a', changed)
  await agent.call('delete_notebook_cells', { notebook: path, cells: ['b'] })
  await agent.call('add_notebook_cell', { notebook: path, type: 'code', content: 'new = 3' })
  await page.getByText('3 changes').waitFor()
  await page.reload()
  await page.getByText('3 changes').waitFor()
  const reviewed = cell(page, 'a')
  await reviewed.locator('.cm-deletedChunk').first().waitFor()
  assert.equal(await reviewed.locator('.cm-deletedChunk').count(), 2)
  // One place is undone, the other one kept.
  await reviewed.getByRole('button', { name: 'Undo' }).last().click()
  await until(async () => (await text(page, 'a')).endsWith('line_8 = 8') && (await text(page, 'a')).includes('line_7 = 7'), 'the line')
  await reviewed.locator('button.hunk.accept').first().click()
  await page.getByText('2 changes').waitFor()
  await page.locator('[data-grave="b"]').getByRole('button', { name: 'Restore' }).click()
  await cell(page, 'b').waitFor()
  await page.getByText('1 change', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Undo all' }).click()
  await page.locator('.dock').waitFor({ state: 'detached' })
  const { cells } = await bed.saved('review.ipynb', (cells) => cells.length === 3 && sources(cells)[0].includes('line_7 = 7') && sources(cells)[1].startsWith('gone'))
  assert.deepEqual(sources(cells), [lines.with(1, 'line_1 = "one"').join('\n'), 'gone = 1\nmore = 2', 'stays'])
})
