// Killed hosts and closed windows.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { code, edit, markdown, notebook, source, text, until } from '../kit.mjs'
import { bed, sources } from './bed.mjs'

test('no letter is lost when the host is killed during typing', async () => {
  bed.write('kill.ipynb', notebook(code('a', ''), markdown('m', 'text')))
  const page = await bed.open('kill.ipynb')
  await edit(page, 'a')
  const words = Array.from({ length: 30 }, (_, number) => `word${number} é😀 `)
  for (const [number, word] of words.entries()) {
    if (number === 8) await bed.kill()
    if (number === 20) await bed.serve()
    await page.keyboard.type(word)
  }
  await page.locator('.saved.open').waitFor()
  const whole = words.join('')
  await until(async () => (await text(page, 'a')).length >= whole.length, 'the page')
  assert.equal(await text(page, 'a'), whole)
  const { cells } = await bed.saved('kill.ipynb', (cells) => source(cells[0].source).length >= whole.length)
  assert.equal(source(cells[0].source), whole)
})

test('no letter of two windows is lost when the host is killed', async () => {
  bed.write('both-kill.ipynb', notebook(code('a', ''), code('b', ''), code('c', 'shared = []\n\n# end')))
  const windows = [await bed.open('both-kill.ipynb'), await bed.open('both-kill.ipynb')]
  const words = ['one', 'other'].map((who) =>
    Array.from({ length: 24 }, (_, number) => `${who}${number} é😀 `),
  )
  const shared = ['first', 'second']
  for (const [which, page] of windows.entries()) {
    // Both have typed in the same cell, at different ends of it.
    await edit(page, 'c')
    await page.keyboard.press(which === 0 ? 'Control+Home' : 'Control+End')
    await page.keyboard.type(`${shared[which]} `)
    await edit(page, 'ab'[which])
  }
  for (let number = 0; number < 24; number++) {
    if (number === 6) await bed.kill()
    if (number === 16) await bed.serve()
    await Promise.all(windows.map((page, which) => page.keyboard.type(words[which][number])))
  }
  for (const page of windows) await page.locator('.saved.open').waitFor()
  const whole = [...words.map((all) => all.join('')), 'first shared = []\n\n# endsecond ']
  const { cells } = await bed.saved('both-kill.ipynb', (cells) =>
    cells.every((one, at) => source(one.source).length >= whole[at].length),
  )
  assert.deepEqual(sources(cells), whole)
  for (const page of windows) {
    const now = async () => [await text(page, 'a'), await text(page, 'b'), await text(page, 'c')]
    await until(async () => (await now()).join().length >= whole.join().length, 'the page')
    assert.deepEqual(await now(), whole)
  }
})

test('text typed while the host was gone survives the page', async () => {
  bed.write('reload.ipynb', notebook(code('a', 'x = 1')))
  const page = await bed.open('reload.ipynb')
  await edit(page, 'a')
  await bed.kill()
  await page.keyboard.type('\ny = 2')
  await page.close()
  await bed.serve()
  const again = await bed.open('reload.ipynb')
  await until(async () => (await text(again, 'a')) === 'x = 1\ny = 2', 'the text')
  await bed.saved('reload.ipynb', (cells) => source(cells[0].source) === 'x = 1\ny = 2')
})
