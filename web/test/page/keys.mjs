// The keyboard, and the list of notebooks.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { code, notebook, until } from '../kit.mjs'
import { bed, sources } from './bed.mjs'

test('the keyboard alone does everything', async () => {
  bed.write('keys.ipynb', notebook(code('a', 'a = 1')))
  const page = await bed.open('keys.ipynb')
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key)
  }
  await until(() => page.evaluate(() => document.activeElement?.dataset.cell === 'a'), 'the focus')
  await press('b', 'Enter')
  await page.keyboard.type('b = a + 1')
  await press('Shift+Enter')
  // At the end a new cell is ready for typing.
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
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  await press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  const { cells } = await bed.saved(
    'keys.ipynb',
    (cells) => cells.length === 3 && sources(cells)[1].includes('Title'),
  )
  assert.deepEqual(sources(cells), ['a = 1', 'b = a + 1\n\n# Title print(b)', '# Title print(b)'])
})

test('notebooks are listed and created', async () => {
  const page = await bed.open()
  await page.getByRole('textbox', { name: 'Name of the new notebook' }).fill('fresh')
  await page.getByRole('button', { name: 'New notebook' }).click()
  await page.getByRole('heading', { name: 'fresh.ipynb' }).waitFor()
  await page.locator('[data-cell]').waitFor()
  await page.getByRole('button', { name: 'Notebooks' }).click()
  await page.getByRole('link', { name: 'fresh.ipynb' }).waitFor()
})

test('the palette finds commands by name; cells are split, merged, undone and redone', async () => {
  bed.write('commands.ipynb', notebook(code('a', 'one = 1\ntwo = 2')))
  const page = await bed.open('commands.ipynb')
  const count = (wanted) =>
    until(async () => (await page.locator('[data-cell]').count()) === wanted, `${wanted} cells`)
  await page.keyboard.press('Enter')
  await page.keyboard.press('Control+End')
  await page.keyboard.press('Home')
  await page.keyboard.press('Control+Shift+-')
  await count(2)
  await page.keyboard.press('Escape')
  await page.keyboard.press('k')
  await page.keyboard.press('Shift+M')
  await count(1)
  await page.keyboard.press('z')
  await count(2)
  await page.keyboard.press('Shift+Z')
  await count(1)
  await bed.saved('commands.ipynb', (cells) => sources(cells).join() === 'one = 1\n\ntwo = 2')
  await page.keyboard.press('z')
  await page.keyboard.press('z')
  await count(1)
  await bed.saved('commands.ipynb', (cells) => sources(cells).join() === 'one = 1\ntwo = 2')
  await page.keyboard.press('Control+Shift+c')
  await page.getByRole('combobox', { name: 'Command' }).fill('insert abo')
  await page.keyboard.press('Enter')
  await count(2)
  await page.keyboard.press('Control+Shift+ArrowDown')
  await bed.saved('commands.ipynb', (cells) => sources(cells).join('|') === 'one = 1\ntwo = 2|')
  for (const key of ['1', 'Enter', 'Control+End']) await page.keyboard.press(key)
  await page.keyboard.type('Heading')
  await page.keyboard.press('Control+m')
  await page.getByRole('heading', { name: 'Heading', level: 1 }).waitFor()
})

test('cells deleted together are restored in place', async () => {
  bed.write('back.ipynb', notebook(...['a', 'b', 'c', 'd', 'e'].map((id) => code(id, id))))
  const page = await bed.open('back.ipynb')
  for (const key of ['j', 'Shift+J', 'Shift+J', 'd', 'd']) await page.keyboard.press(key)
  await bed.saved('back.ipynb', (cells) => sources(cells).join('') === 'ae')
  await page.keyboard.press('z')
  await bed.saved('back.ipynb', (cells) => sources(cells).join('') === 'abcde')
  // Two cells move above the one before them, and back.
  for (const key of ['Shift+J', 'Control+Shift+ArrowUp']) await page.keyboard.press(key)
  await bed.saved('back.ipynb', (cells) => sources(cells).join('') === 'bcade')
  await page.keyboard.press('z')
  await bed.saved('back.ipynb', (cells) => sources(cells).join('') === 'abcde')
})
