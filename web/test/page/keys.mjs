// The keyboard, and the list of notebooks.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { code, notebook, until } from '../kit.mjs'
import { bed, sources } from './bed.mjs'

test('everything is done by the keyboard alone', async () => {
  bed.write('keys.ipynb', notebook(code('a', 'a = 1')))
  const page = await bed.open('keys.ipynb')
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key)
  }
  await until(() => page.evaluate(() => document.activeElement?.dataset.cell === 'a'), 'the focus')
  await press('b', 'Enter')
  await page.keyboard.type('b = a + 1')
  await press('Shift+Enter')
  // At the end a new cell is there to be typed in at once.
  await page.keyboard.type('print(b)')
  await press('Escape', 'ArrowUp', 'ArrowUp')
  await press('Control+Enter', 'ArrowDown', 'Control+Enter', 'ArrowDown', 'Control+Enter')
  await page.locator('.outputs').getByText('2', { exact: true }).waitFor()
  await press('m', 'Enter', 'Control+Home')
  await page.keyboard.type('# Title ')
  await press('Control+Enter')
  await page.getByRole('heading', { name: 'Title print(b)' }).waitFor()
  await press('c', 'v', 'd', 'd', 'z')
  await until(async () => (await page.locator('[data-cell]').count()) === 4, 'the cells')
  await press('k', 'k', 'Shift+M')
  await until(async () => (await page.locator('[data-cell]').count()) === 3, 'the merged cell')
  await press('h')
  await page.getByRole('dialog', { name: 'Keys' }).waitFor()
  await press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  const { cells } = await bed.saved('keys.ipynb', (cells) => cells.length === 3 && sources(cells)[1].includes('Title'))
  assert.deepEqual(sources(cells), ['a = 1', 'b = a + 1\n\n# Title print(b)', '# Title print(b)'])
})

test('notebooks are listed and made', async () => {
  const page = await bed.open()
  await page.getByRole('textbox', { name: 'Name of a new notebook' }).fill('fresh')
  await page.getByRole('button', { name: 'New notebook' }).click()
  await page.getByRole('heading', { name: 'fresh.ipynb' }).waitFor()
  await page.locator('[data-cell]').waitFor()
  await page.getByRole('button', { name: 'Notebooks' }).click()
  await page.getByRole('link', { name: 'fresh.ipynb' }).waitFor()
})
