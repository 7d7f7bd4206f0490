// The modes, and notebook mode: a notebook that is attached and active.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { cell, code, notebook, text, until } from '../kit.mjs'
import { calls as asks, says } from '../models.mjs'
import {
  answered,
  calls,
  choose,
  field,
  listen,
  models,
  offers,
  pane,
  press,
  results,
  say,
  talkAbout,
  told,
  turns,
} from './assistant.mjs'
import { bed, sources } from './bed.mjs'

const TRIES = [
  ['update_notebook_cell', { cell: 'a', content: 'gone' }],
  ['run_notebook_cells', {}],
  ['write', { path: 'held.ipynb', content: '' }],
  ['python', { code: "open('made', 'w')" }],
]

for (const mode of ['Ask', 'Edit']) {
  test(`${mode} mode refuses to change or run cells and offers Agent mode`, async () => {
    const name = `forbidden-${mode.toLowerCase()}.ipynb`
    const page = await talkAbout(name, [code('a', 'x = 1')])
    const heard = await listen()
    await models.say(asks(...TRIES, ['get_notebook_cells', {}]), says('That needs Agent mode.'))
    await say(page, mode, 'change it')
    const turn = await answered(page, 'That needs Agent mode.')
    offers(told(await heard.request(0)).tools, { look: true, change: false })
    const came = results(await heard.request(1))
    for (const { text, isFailure } of came.slice(0, 4))
      assert.ok(isFailure && text.includes('needs Agent mode'), text)
    assert.ok(!came[4].isFailure && came[4].text.includes('x = 1'), came[4].text)
    assert.equal(await pane(page).locator('.call.failed').count(), 4)
    assert.equal(await pane(page).locator('.call.done').count(), 1)
    assert.equal(await calls(page, 'update_notebook_cell').locator('.counts').count(), 0)
    assert.equal(await text(page, 'a'), 'x = 1')
    assert.deepEqual(sources(bed.read(name).cells), ['x = 1'])
    assert.ok(!existsSync(join(bed.work, 'made')))
    // The same message again, in the mode that it needs.
    await models.say(asks(['update_notebook_cell', { cell: 'a', content: 'x = 2' }]), says('Now it is done.'))
    await turn.getByRole('button', { name: 'Switch to Agent and send' }).click()
    await answered(page, 'Now it is done.')
    assert.match(told(await heard.request(2)).instructions, /You are in Agent mode/)
    assert.match(told(await heard.request(2)).message, /change it$/)
    await until(async () => (await text(page, 'a')) === 'x = 2', 'the change')
    assert.equal(await page.getByRole('radio', { name: 'Agent' }).getAttribute('aria-checked'), 'true')
  })
}

test('in Agent mode a model edits, adds, runs and deletes cells, and each row shows the effect', async () => {
  const page = await talkAbout('agent.ipynb', [
    code('a', 'one = 1\ntwo = 2'),
    code('b', 'print(one + two)'),
    code('c', 'c = 3'),
  ])
  const heard = await listen()
  await models.say(
    {
      ...says('I change `a`. '),
      calls: [['update_notebook_cell', { cell: 'a', content: 'one = 1\ntwo = 41\nthree = 3' }]],
    },
    asks(['run_notebook_cells', { cells: ['a', 'b'] }]),
    asks(
      ['add_notebook_cell', { type: 'markdown', index: 0, content: '# Sum' }],
      ['delete_notebook_cells', { cells: ['c'] }],
    ),
    says('It prints 42 in cell b.'),
  )
  await say(page, 'Agent', 'make it 42')
  const turn = await answered(page, 'It prints 42')
  offers(told(await heard.request(0)).tools, { look: true, change: true })
  assert.ok(results(await heard.request(2))[0].text.includes('42'))
  assert.match(await calls(page, 'update_notebook_cell').locator('.counts').textContent(), /^\+2\s*−1$/)
  for (const [tool, verb] of [
    ['run_notebook_cells', 'ran'],
    ['add_notebook_cell', 'added'],
    ['delete_notebook_cells', 'deleted'],
  ]) {
    await calls(page, tool).locator('.call-name').click()
    await calls(page, tool).locator('.deeds', { hasText: verb }).waitFor()
  }
  await cell(page, 'b').locator('.outputs').getByText('42').waitFor()
  const { cells } = await bed.saved('agent.ipynb', (cells) => cells.length === 3)
  assert.deepEqual(sources(cells), ['# Sum', 'one = 1\ntwo = 41\nthree = 3', 'print(one + two)'])
  // Cells that an answer names are links to them.
  await flashes(page, 'b', () => turn.locator('.prose button.cell-chip[data-chip=b]').click())
  assert.equal(await pane(page).locator('.to-review').textContent(), '3 changes to review')
})

/** Runs an action that tints a cell for a moment. */
async function flashes(page, id, act) {
  await cell(page, id).and(page.locator(':not(.touched)')).waitFor()
  await cell(page, id).evaluate((element) => {
    new MutationObserver(() => (window.flashed ||= element.classList.contains('touched'))).observe(element, {
      attributes: true,
    })
  })
  await act()
  await page.waitForFunction(() => window.flashed)
}

/** Attaches or detaches the notebook of the page, and others. */
async function attach(page, { own, others }) {
  const leaveOut = pane(page).getByRole('button', { name: /^Remove .*\.ipynb$/ })
  if (!own) await leaveOut.click()
  for (const other of others) {
    await field(page).pressSequentially(`@${other}`)
    await page
      .getByRole('listbox', { name: 'Cells and notebooks' })
      .getByRole('option', { name: other })
      .click()
  }
}

const SCENARIOS = [
  { number: 1, own: true, others: [], modes: ['Ask'], look: true, change: false },
  { number: 2, own: true, others: [], modes: ['Edit'], look: true, change: false },
  { number: 3, own: true, others: [], modes: ['Agent'], look: true, change: true },
  {
    number: 4,
    own: false,
    others: ['beside-one.ipynb'],
    modes: ['Ask', 'Edit', 'Agent'],
    look: false,
    change: false,
  },
  { number: 5, own: false, others: [], modes: ['Ask', 'Edit', 'Agent'], look: false, change: false },
  { number: 6, own: true, others: ['beside-one.ipynb'], modes: ['Ask', 'Edit'], look: true, change: false },
  {
    number: 7,
    own: true,
    others: ['beside-one.ipynb', 'beside-two.ipynb'],
    modes: ['Agent'],
    look: true,
    change: true,
  },
  {
    number: 8,
    own: false,
    others: ['beside-one.ipynb', 'beside-two.ipynb'],
    modes: ['Ask', 'Edit', 'Agent'],
    look: false,
    change: false,
  },
]

for (const { number, own, others, modes, look, change } of SCENARIOS) {
  const which = `${own ? 'attached' : 'not attached'}${others.length > 0 ? `, with ${others.length} other` : ''}`
  test(`notebook mode is ${look ? 'on' : 'off'} with the active notebook ${which}, in ${modes.join(', ')}`, async () => {
    for (const other of ['one', 'two'])
      bed.write(`beside-${other}.ipynb`, notebook(code('o', `beside_${other} = 1`)))
    const page = await talkAbout(`scenario-${number}.ipynb`, [code('a', 'in_front = 1')])
    await attach(page, { own, others })
    assert.equal(await pane(page).locator('.missing').count(), own ? 0 : 1)
    const heard = await listen()
    for (const [at, mode] of modes.entries()) {
      await models.say(
        asks(['get_notebook_cells', { notebook: `scenario-${number}.ipynb` }]),
        says(`Said in ${mode}.`),
      )
      await say(page, mode, 'What is here?')
      const turn = await answered(page, `Said in ${mode}.`)
      const { message, tools, instructions } = told(await heard.request(2 * at))
      offers(tools, { look, change })
      assert.equal(message.includes('in_front = 1'), own, message)
      assert.equal(/# (Looking at|Working on) a notebook/.test(instructions), look)
      for (const other of others)
        assert.ok(message.includes(other.replace(/-|\.ipynb/g, (it) => (it === '-' ? '_' : ''))), message)
      assert.equal(results(await heard.request(2 * at + 1))[0].isFailure, !look)
      assert.equal((await turn.locator('.with .meta').textContent()).includes('notebook mode off'), !look)
    }
    // The menu of tools agrees.
    for (const mode of modes) {
      await choose(page, mode)
      await field(page).fill('#')
      const names = await page.getByRole('listbox', { name: 'Tools' }).getByRole('option').allTextContents()
      const named = (name) => names.some((one) => one.includes(`#${name}`))
      assert.deepEqual(
        [named('getNotebookCells'), named('runNotebookCells')],
        [look, change],
        `${mode}: ${names}`,
      )
      await field(page).fill('')
    }
  })
}

test('one press sends a message that needs Agent mode in that mode', async () => {
  const page = await talkAbout('switch.ipynb', [code('a', 'x = 1')])
  const heard = await listen()
  await choose(page, 'Ask')
  await field(page).fill('#runNotebookCells please')
  await models.say(says('Ready.'))
  await pane(page).locator('.above').getByRole('button', { name: 'Switch to Agent and send' }).click()
  await answered(page, 'Ready.')
  const { message, tools } = told(await heard.request(0))
  offers(tools, { look: true, change: true })
  assert.match(message, /# Tools named in the message\n\n- `run_notebook_cells`\n/)
  // Without the switch the model's call is refused.
  await models.say(says('No.'))
  await say(page, 'Ask', '#runNotebookCells please')
  await answered(page, 'No.')
  assert.match(told(await heard.request(1)).message, /- `run_notebook_cells` \(it needs Agent mode\)/)
})

test('the preview shows the prompt exactly as it is sent', async () => {
  const page = await talkAbout('seen.ipynb', [
    code('a', 'x = 1'),
    { ...code('b', 'x + 1'), outputs: [{ output_type: 'stream', name: 'stdout', text: 'as it printed\n' }] },
  ])
  await models.say(says('First.'))
  await say(page, 'Agent', 'a first word')
  await answered(page, 'First.')
  // A notebook created after the page was opened.
  bed.write('made-since.ipynb', notebook(code('o', 'made_since = 1')))
  await attach(page, { own: true, others: ['made-since.ipynb'] })
  for (const what of [/^cell.*x = 1/, /^output.*x \+ 1/]) {
    await field(page).pressSequentially('@')
    await page.getByRole('option', { name: what }).click()
  }
  await choose(page, 'Ask')
  await field(page).fill('What is it, by #getCellOutputs?')
  await press(page, 'What the model sees')
  const dialog = page.getByRole('dialog', { name: 'What the model sees' })
  await dialog.locator('.seen pre').last().waitFor()
  const seen = await dialog.locator('.seen').evaluate((element) => ({
    texts: [...element.querySelectorAll('details > pre')].map((pre) => pre.textContent),
    tools: [...element.querySelectorAll('dt')].map((name) => name.textContent),
    descriptions: [...element.querySelectorAll('dd')].map((name) => name.textContent),
  }))
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  const heard = await listen()
  await models.say(says('Second.'))
  await field(page).press('Enter')
  await answered(page, 'Second.')
  const body = await heard.request(0)
  const { instructions, message, tools } = told(body)
  assert.equal(seen.texts[0], instructions)
  assert.deepEqual(
    seen.texts.slice(1),
    body.messages.map(({ content }) => content.map((part) => part.text).join('')),
  )
  assert.deepEqual(seen.tools, tools)
  assert.deepEqual(
    seen.descriptions,
    body.tools.map(({ description }) => description),
  )
  for (const part of ['made_since = 1', 'as it printed', 'selected: 0 (id a)', '`get_cell_outputs`'])
    assert.ok(message.includes(part), message)
  assert.equal(await turns(page).count(), 2)
})
