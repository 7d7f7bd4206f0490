// The pane: accessibility in both themes, wide and narrow, and a restarted host.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { code, SHOTS } from '../kit.mjs'
import { calls as asks, held, refuses, says } from '../models.mjs'
import { account, answered, calls, field, models, pane, press, say, talkAbout, turns } from './assistant.mjs'
import { axe, faults } from './axe.mjs'
import { bed } from './bed.mjs'

for (const [theme, size] of [
  ['light', { width: 1360, height: 1000 }],
  ['dark', { width: 1360, height: 1000 }],
  ['light', { width: 640, height: 900 }],
]) {
  const wide = size.width > 860 ? 'wide' : 'narrow'
  test(`the assistant is accessible, in ${theme} and ${wide}`, async () => {
    account({ run_code: 'ask' })
    const cells = [code('a', 'mass = 52 * 190 - 5600'), code('b', 'print(mass)')]
    const page = await talkAbout(`everyone-${theme}-${wide}.ipynb`, cells, {
      dark: theme === 'dark',
      size,
      isHidden: wide === 'narrow',
    })
    await page.evaluate(readFileSync(axe, 'utf8'))
    await models.say(
      {
        ...says(
          'I change cell `a`:\n\n```python\nmass = 4280\n```\n\n| species | mass |\n| --- | --- |\n| Gentoo | 5092 |\n\n',
        ),
        calls: [['update_notebook_cell', { cell: 'a', content: 'mass = 52 * 190 - 5600\nassert mass > 0' }]],
      },
      asks(['run_notebook_cells', { cells: ['a', 'nowhere'] }]),
      asks(['run_notebook_cells', { cells: ['b'] }]),
      refuses(400, 'too many penguins'),
    )
    await say(page, 'Agent', 'Check the *mass*, please')
    const question = pane(page).getByRole('group', { name: 'Run this code?' })
    await question.waitFor()
    assert.deepEqual(await faults(page), [], 'a question')
    await question.getByRole('button', { name: 'Run once' }).click()
    await calls(page, 'run_notebook_cells').first().and(page.locator('.failed')).waitFor()
    await question.getByRole('button', { name: 'Always for this notebook' }).click()
    await turns(page).last().getByRole('group', { name: 'Provider error' }).waitFor()
    await calls(page, 'update_notebook_cell').locator('.call-name').click()
    assert.deepEqual(await faults(page), [], 'rows, and a provider that failed')
    if (SHOTS)
      await page.screenshot({ path: `${SHOTS}/assistant-${theme}-${wide}.png`, animations: 'disabled' })
    await models.say(held(says('One moment', '.')), says('Then.'))
    await say(page, 'Ask', 'And now?')
    await turns(page).last().getByText('One moment').waitFor()
    await field(page).fill('and then?')
    await field(page).press('Enter')
    await page.getByRole('list', { name: 'Queued messages' }).getByText('and then?').waitFor()
    await field(page).pressSequentially('@')
    await page.getByRole('listbox', { name: 'Cells and notebooks' }).waitFor()
    assert.deepEqual(await faults(page), [], 'messages that wait, and a menu')
    await field(page).fill('#runNotebookCells now')
    await press(page, 'What the model sees')
    await page.getByRole('dialog', { name: 'What the model sees' }).locator('pre').last().waitFor()
    assert.deepEqual(await faults(page), [], 'what the model sees')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await models.release()
    await answered(page, 'Then.')
  })
}

test('a conversation survives the host and continues', async () => {
  const page = await talkAbout('outlives.ipynb', [code('a', 'x = 1')])
  await models.say(asks(['update_notebook_cell', { cell: 'a', content: 'x = 2' }]), says('Said before.'))
  await say(page, 'Agent', 'remember penguins')
  await answered(page, 'Said before.')
  await bed.kill()
  await bed.serve()
  await page.locator('.saved.open').waitFor()
  // An open page signs in again; settings and keys come with the next link.
  const other = await bed.open('outlives.ipynb')
  await turns(other).last().getByText('Said before.').waitFor()
  await models.say(says('Penguins, yes.'))
  const from = await models.count()
  await say(other, 'Ask', 'what did I say?')
  await answered(other, 'Penguins, yes.')
  assert.ok(JSON.stringify((await models.request(from)).body.messages).includes('remember penguins'))
  await turns(page).last().getByText('Penguins, yes.').waitFor()
})
