// Inline chat, Fix and Explain: proposals that the user accepts or rejects.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { cell, code, edit, notebook, text, until } from '../kit.mjs'
import { calls as asks, held, says } from '../models.mjs'
import {
  answered,
  calls,
  choose,
  field,
  listen,
  models,
  offers,
  pane,
  results,
  talkAbout,
  told,
  turns,
} from './assistant.mjs'
import { axe, faults } from './axe.mjs'
import { bed, sources } from './bed.mjs'

const inline = (page) => page.locator('.inline-chat')

/** Opens the inline chat of a cell and sends a message. */
async function sayInline(page, id, words) {
  await edit(page, id)
  await page.keyboard.press('Control+i')
  await inline(page).getByRole('textbox').fill(words)
  await page.keyboard.press('Enter')
}

test('inline chat proposes a change in place and applies it on Accept', async () => {
  const page = await talkAbout('inline.ipynb', [
    code('a', 'before = 1'),
    code('b', 'total = 1\nprint(total)'),
  ])
  await choose(page, 'Agent')
  const heard = await listen()
  await models.say(
    asks(
      ['update_notebook_cell', { cell: 'b', content: 'by force' }],
      ['run_notebook_cells', {}],
      ['get_notebook_cells', {}],
    ),
    { ...says('So it is clearer.'), calls: [['propose_change', { source: 'total = 42\nprint(total)' }]] },
    says('Done.'),
  )
  await sayInline(page, 'b', 'make it 42')
  await inline(page).locator('.cm-deletedChunk').first().waitFor()
  // No call has changed the notebook; the mode of the pane does not apply here.
  assert.deepEqual(sources(bed.read('inline.ipynb').cells), ['before = 1', 'total = 1\nprint(total)'])
  const first = told(await heard.request(0))
  offers(first.tools, { look: true, change: false })
  assert.ok(
    first.tools.includes('propose_change') &&
      !first.tools.includes('python') &&
      !first.tools.includes('edit'),
    String(first.tools),
  )
  assert.match(first.message, /selected: 1 \(id b\)/)
  const tried = results(await heard.request(1))
  assert.deepEqual(
    tried.map(({ isFailure }) => isFailure),
    [true, true, false],
  )
  await inline(page).getByRole('button', { name: 'Accept' }).click()
  await inline(page).waitFor({ state: 'detached' })
  await until(async () => (await text(page, 'b')) === 'total = 42\nprint(total)', 'the change')
  const { cells } = await bed.saved(
    'inline.ipynb',
    (cells) => sources(cells)[1] === 'total = 42\nprint(total)',
  )
  assert.equal(sources(cells)[0], 'before = 1')
  // The change is the user's own, and the pane shows nothing of it.
  assert.equal(await page.locator('.dock').count(), 0)
  assert.equal(await turns(page).count(), 0)
})

test('a rejected or stopped proposal leaves no trace', async () => {
  const page = await talkAbout('reject.ipynb', [code('a', 'a = 1')])
  await models.say(asks(['propose_change', { source: 'a = 2' }]), says('So.'))
  await sayInline(page, 'a', 'make it two')
  await inline(page).getByRole('button', { name: 'Reject' }).click()
  await inline(page).waitFor({ state: 'detached' })
  await models.say({ ...held(says('I think ', 'on')), calls: [['propose_change', { source: 'a = 3' }]] })
  await sayInline(page, 'a', 'make it three')
  await inline(page).getByText('I think').waitFor()
  await inline(page).getByRole('button', { name: 'Stop' }).click()
  await inline(page).waitFor({ state: 'detached' })
  assert.equal(await text(page, 'a'), 'a = 1')
  assert.deepEqual(sources(bed.read('reject.ipynb').cells), ['a = 1'])
})

test("a proposal survives a reload without storing the cell's text, and applies only to that text", async () => {
  const page = await talkAbout('kept.ipynb', [code('a', 'private = 4711\nx = 1')])
  await models.say(asks(['propose_change', { source: 'private = 4711\nx = 2' }]), says('So.'))
  await sayInline(page, 'a', 'make it two')
  const accept = inline(page).getByRole('button', { name: 'Accept' })
  await accept.waitFor()
  await inline(page).getByText('So.').waitFor()
  const kept = () => page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))
  await until(async () => (await kept()).includes('cellist:inline:'), 'the conversation in the store')
  assert.ok(!(await kept()).includes('4711'), await kept())
  await page.reload()
  await accept.waitFor()
  assert.ok(await accept.isEnabled())
  assert.ok(!(await kept()).includes('4711'), await kept())
  // The file changed while no page was open.
  await page.goto('about:blank')
  bed.write('kept.ipynb', notebook(code('a', 'private = 4711\nx = 1\ny = 3')))
  await page.goBack()
  await accept.waitFor()
  await inline(page).getByText('This part of the cell has changed').first().waitFor()
  assert.ok(await accept.isDisabled())
  await inline(page).getByRole('button', { name: 'Reject' }).click()
  assert.equal(await text(page, 'a'), 'private = 4711\nx = 1\ny = 3')
})

test('a proposal does not apply where the cell has changed, and the focus stays visible', async () => {
  const page = await talkAbout('meanwhile.ipynb', [code('a', 'x = 1')])
  await models.say(
    { ...held(says('I think ', 'on')), calls: [['propose_change', { source: 'x = 2' }]] },
    says('So.'),
  )
  await sayInline(page, 'a', 'make it two')
  await inline(page).getByText('I think').waitFor()
  await edit(page, 'a')
  await page.keyboard.type('0')
  await models.release()
  const accept = inline(page).getByRole('button', { name: 'Accept' })
  await accept.waitFor()
  assert.ok(await accept.isDisabled())
  await inline(page).getByText('This part of the cell has changed').first().waitFor()
  // Further typing is not lost, and the cell is unchanged.
  await until(
    () =>
      inline(page)
        .locator('input')
        .evaluate((element) => element === document.activeElement),
    'the keyboard',
  )
  await page.keyboard.press('Alt+y')
  await page.keyboard.type('ten it is')
  assert.equal(await inline(page).locator('input').inputValue(), 'ten it is')
  await page.keyboard.press('Escape')
  await inline(page).waitFor({ state: 'detached' })
  assert.equal(await text(page, 'a'), 'x = 10')
  await bed.saved('meanwhile.ipynb', (cells) => sources(cells)[0] === 'x = 10')
})

test('hiding the pane returns the focus, and dialogs capture the keyboard', async () => {
  const page = await talkAbout('keyboard.ipynb', [code('a', 'x = 1')])
  const isIn = (where) =>
    until(
      () => page.evaluate((where) => document.activeElement?.closest(where) != null, where),
      `the keyboard in ${where}`,
    )
  await edit(page, 'a')
  await page.keyboard.press('Control+l')
  await isIn('.assistant')
  await page.keyboard.press('Control+j')
  await isIn('.cm-content')
  await page.keyboard.type('0')
  await until(async () => (await text(page, 'a')) === 'x = 10', 'the letter')
  await page.keyboard.press('Control+l')
  await isIn('.assistant')
  await pane(page).getByRole('button', { name: 'Hide the assistant' }).click()
  await isIn('.cm-content')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+l')
  await isIn('.assistant')
  await pane(page).getByRole('button', { name: 'What the model sees' }).click()
  const dialog = page.getByRole('dialog', { name: 'What the model sees' })
  await dialog.getByText('would be sent now').click()
  for (const key of ['x', 'd', 'd', 'b']) await page.keyboard.press(key)
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  assert.equal(await page.locator('[data-cell]').count(), 1)
})

test('an unknown word after @ is sent as plain text', async () => {
  const page = await talkAbout('decorated.ipynb', [code('a', '@dataclass\nclass A: pass')])
  const heard = await listen()
  await models.say(says('It writes methods.'))
  await field(page).pressSequentially('why @dataclass')
  await page.getByRole('option', { name: /^cell/ }).waitFor()
  await field(page).press('Enter')
  await answered(page, 'It writes methods.')
  assert.match(told(await heard.request(0)).message, /why @dataclass$/)
})

test('Fix sends the error and proposes a change to the failed cell', async () => {
  const page = await talkAbout('fix.ipynb', [code('a', 'penguin_count + 1')])
  await cell(page, 'a').locator('.run').click({ force: true })
  await cell(page, 'a').getByRole('button', { name: 'Fix' }).waitFor()
  const heard = await listen()
  await models.say(
    asks(['propose_change', { source: 'penguin_count = 0\npenguin_count + 1' }]),
    says('It was never set.'),
  )
  await cell(page, 'a').getByRole('button', { name: 'Fix' }).click()
  await inline(page).getByRole('button', { name: 'Accept' }).waitFor()
  const { message, tools } = told(await heard.request(0))
  assert.ok(message.includes('NameError') && message.includes('penguin_count + 1'), message)
  assert.ok(tools.includes('propose_change') && !tools.includes('update_notebook_cell'), String(tools))
  assert.deepEqual(sources(bed.read('fix.ipynb').cells), ['penguin_count + 1'])
  await page.evaluate(readFileSync(axe, 'utf8'))
  assert.deepEqual(await faults(page), [])
  await page.keyboard.press('Alt+y')
  await bed.saved('fix.ipynb', (cells) => sources(cells)[0] === 'penguin_count = 0\npenguin_count + 1')
})

test('Explain always uses Ask mode and cannot edit', async () => {
  const page = await talkAbout('explain.ipynb', [code('a', 'penguin_count + 1')])
  await choose(page, 'Agent')
  await cell(page, 'a').locator('.run').click({ force: true })
  const heard = await listen()
  await models.say(
    asks(['update_notebook_cell', { cell: 'a', content: 'gone' }], ['run_notebook_cells', {}]),
    says('The name was never set.'),
  )
  await cell(page, 'a').getByRole('button', { name: 'Explain' }).click()
  await answered(page, 'The name was never set.')
  const { instructions, message, tools } = told(await heard.request(0))
  assert.match(instructions, /You are in Ask mode/)
  offers(tools, { look: true, change: false })
  assert.ok(message.includes('NameError') && message.includes('selected: 0 (id a)'), message)
  for (const { text, isFailure } of results(await heard.request(1)))
    assert.ok(isFailure && text.includes('needs Agent mode'), text)
  await calls(page, 'update_notebook_cell').and(page.locator('.failed')).waitFor()
  assert.deepEqual(sources(bed.read('explain.ipynb').cells), ['penguin_count + 1'])
  assert.equal(await page.getByRole('radio', { name: 'Agent' }).getAttribute('aria-checked'), 'true')
  assert.equal(await field(page).inputValue(), '')
  assert.equal(await pane(page).locator('.bubble').count(), 1)
})
