// Notebooks of many cells.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cell, code, edit, markdown, notebook, source, until } from '../kit.mjs'
import { bed } from './bed.mjs'

test('a notebook of 1,000 cells loads with few editors', async () => {
  const cells = Array.from({ length: 1000 }, (_, at) =>
    at % 5 === 4
      ? markdown(`m${at}`, `## Part ${at}`)
      : code(`c${at}`, `value_${at} = ${at}\nprint(value_${at})`),
  )
  bed.write('large.ipynb', notebook(...cells))
  const page = await bed.open('large.ipynb')
  await until(async () => (await page.locator('[data-cell]').count()) === 1000, 'the cells')
  assert.ok((await page.locator('.cm-editor').count()) < 40)
  await cell(page, 'c997').scrollIntoViewIfNeeded()
  await edit(page, 'c997')
  await page.keyboard.type(' # end')
  await bed.saved('large.ipynb', (saved) => source(saved[997].source).endsWith(' # end'))
  await page.keyboard.press('Escape')
  assert.equal(
    await page.evaluate(() => (getSelection().removeAllRanges(), window.find('value_500 =', false, true))),
    true,
  )
})
