// Answers in progress: stopped, reloaded, queued, approved, restored, and beside a typing user.

import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { cell, code, edit, notebook, source, text, until } from '../kit.mjs'
import { calls as asks, held, says } from '../models.mjs'
import {
  account,
  answered,
  calls,
  field,
  listen,
  models,
  pane,
  press,
  results,
  say,
  talkAbout,
  told,
  turns,
} from './assistant.mjs'
import { bed, sources } from './bed.mjs'

test('a failed tool call is shown, and the answer continues', async () => {
  const page = await talkAbout('fails.ipynb', [code('a', '1/0')])
  const heard = await listen()
  await models.say(
    asks(
      ['update_notebook_cell', { cell: 'nowhere', content: '1' }],
      ['run_notebook_cells', { cells: ['a'] }],
    ),
    says('Neither worked.'),
  )
  await say(page, 'Agent', 'try')
  await answered(page, 'Neither worked.')
  const [update, run] = [calls(page, 'update_notebook_cell'), calls(page, 'run_notebook_cells')]
  await update.and(page.locator('.failed')).locator('.call-name').click()
  await update.locator('pre.result').getByText('nowhere').waitFor()
  await run.and(page.locator('.failed')).waitFor()
  const [one, other] = results(await heard.request(1))
  assert.ok(
    one.text.startsWith('Error: ') &&
      one.isFailure &&
      other.isFailure &&
      other.text.includes('ZeroDivisionError'),
    other.text,
  )
  assert.equal(await text(page, 'a'), '1/0')
})

test("a model's edit of a cell loses no letter that the user types in it", async () => {
  const page = await talkAbout('typing.ipynb', [code('a', 'one\ntwo\nthree\nfour')])
  await models.say(
    {
      ...held(says('I see. ', 'So.')),
      calls: [['update_notebook_cell', { cell: 'a', content: 'one\ntwo\nthree\nfour by the model' }]],
    },
    says('Done.'),
  )
  await say(page, 'Agent', 'change the last line')
  await turns(page).last().getByText('I see.').waitFor()
  await edit(page, 'a')
  await page.keyboard.press('Control+Home')
  await page.keyboard.type('typed before, ')
  await models.release()
  const typing = page.keyboard.type('and while it came, '.repeat(4), { delay: 5 })
  await answered(page, 'Done.')
  await typing
  await page.keyboard.type('and after: ')
  const whole = `typed before, ${'and while it came, '.repeat(4)}and after: one\ntwo\nthree\nfour by the model`
  await until(
    async () => (await text(page, 'a')) === whole,
    async () => `${await text(page, 'a')} as ${whole}`,
  )
  await bed.saved('typing.ipynb', (cells) => sources(cells)[0] === whole)
})

test('Stop ends an answer, not the kernel, and the next message is answered', async () => {
  const waits =
    'import os, time\nprint("begun", flush=True)\nwhile not os.path.exists("go-stop"): time.sleep(0.01)\nprint("ended by itself")'
  const page = await talkAbout('stop.ipynb', [code('a', waits)])
  const heard = await listen()
  await models.say(held(says('I begin ', 'and never end')))
  await say(page, 'Agent', 'first')
  await turns(page).last().getByText('I begin').waitFor()
  await press(page, 'Stop')
  await turns(page).last().locator('.ending.stopped').waitFor()
  assert.ok((await turns(page).last().locator('.answer').textContent()).includes('I begin'))
  await models.say(asks(['run_notebook_cells', { cells: ['a'] }]))
  await say(page, 'Agent', 'run it')
  await cell(page, 'a').locator('.outputs').getByText('begun').waitFor()
  await press(page, 'Stop')
  await turns(page).last().locator('.ending.stopped').waitFor()
  assert.equal(await cell(page, 'a').getAttribute('aria-label'), 'Cell 1 of 1, code, running')
  bed.write('go-stop', {})
  await cell(page, 'a').locator('.outputs').getByText('ended by itself').waitFor()
  await models.say(says('Here I am.'))
  await say(page, 'Ask', 'and now?')
  await answered(page, 'Here I am.')
  assert.equal(await heard.count(), 3)
  // The transcript has the text before the stop, and the stop.
  assert.ok(JSON.stringify((await heard.request(2)).messages).includes('The user stopped this answer'))
})

test('a second Stop interrupts the code that an answer started', async () => {
  const page = await talkAbout('interrupt.ipynb', [
    code('a', 'import time\nprint("begun", flush=True)\nwhile True: time.sleep(0.01)'),
  ])
  await models.say(asks(['run_notebook_cells', { cells: ['a'] }]))
  await say(page, 'Agent', 'run it')
  await cell(page, 'a').locator('.outputs').getByText('begun').waitFor()
  await press(page, 'Stop')
  await turns(page).last().locator('.ending.stopped').waitFor()
  await pane(page).locator('.above').getByRole('button', { name: 'Interrupt' }).click()
  await cell(page, 'a').locator('.outputs').getByText('KeyboardInterrupt').first().waitFor()
})

test('an answer continues during a reload, and a second window shows it', async () => {
  const page = await talkAbout('reload-chat.ipynb', [code('a', 'x = 1')])
  await models.say(
    {
      ...held(says('Before. ', 'After.')),
      calls: [['update_notebook_cell', { cell: 'a', content: 'x = 2' }]],
    },
    says('All of it.'),
  )
  await say(page, 'Agent', 'go on while I am away')
  await turns(page).last().getByText('Before.').waitFor()
  await page.reload()
  await turns(page).last().getByText('Before.').waitFor()
  await pane(page).locator('.conversation[aria-busy=true]').waitFor()
  const other = await bed.open('reload-chat.ipynb')
  await turns(other).last().getByText('Before.').waitFor()
  await page.goto('about:blank')
  await models.release()
  await answered(other, 'All of it.')
  await page.goBack()
  await answered(page, 'All of it.')
  for (const window of [page, other]) {
    assert.equal(await turns(window).count(), 1)
    assert.equal(await turns(window).locator('.bubble').textContent(), 'go on while I am away')
    assert.equal(await calls(window, 'update_notebook_cell').and(window.locator('.done')).count(), 1)
    assert.equal(await text(window, 'a'), 'x = 2')
  }
})

test('messages are queued, and a queued message can be withdrawn', async () => {
  const page = await talkAbout('queue.ipynb', [code('a', 'x = 1')])
  const heard = await listen()
  await models.say(held(says('One', '.')), says('Two.'))
  await say(page, 'Ask', 'first')
  await turns(page).last().getByText('One').waitFor()
  for (const words of ['second', 'third']) {
    await field(page).fill(words)
    await field(page).press('Enter')
    await page.getByRole('list', { name: 'Queued messages' }).getByText(words).waitFor()
  }
  await page.getByRole('button', { name: 'Remove the queued message third' }).click()
  await page.getByRole('list', { name: 'Queued messages' }).getByText('third').waitFor({ state: 'detached' })
  await models.release()
  await answered(page, 'Two.')
  assert.deepEqual(await turns(page).locator('.bubble').allTextContents(), ['first', 'second'])
  assert.equal(await heard.count(), 2)
  assert.match(told(await heard.request(1)).message, /second$/)
})

test("the user's approval lets code run once, always or not at all", async () => {
  account({ run_code: 'ask' })
  const made = () =>
    source(
      bed
        .read('approve.ipynb')
        .cells[0].outputs.map((output) => source(output.text))
        .join(''),
    )
  const page = await talkAbout('approve.ipynb', [
    code('a', 'ran = 1 + globals().get("ran", 0)\nprint("ran", ran)'),
  ])
  const run = ['run_notebook_cells', { cells: ['a'] }]
  const question = pane(page).getByRole('group', { name: 'Run this code?' })
  await models.say(asks(run), says('Not run.'))
  await say(page, 'Agent', 'run it')
  await question.getByRole('button', { name: /Don.t run/ }).click()
  await answered(page, 'Not run.')
  assert.equal(made(), '')
  await models.say(asks(run), asks(run), says('Run twice.'))
  await say(page, 'Agent', 'run it twice')
  await question.getByRole('button', { name: 'Run once' }).click()
  await cell(page, 'a').locator('.outputs').getByText('ran 1').waitFor()
  // The second call asks again; a reloaded page shows the question.
  await question.waitFor()
  await page.reload()
  await question.getByRole('button', { name: 'Always for this notebook' }).click()
  await answered(page, 'Run twice.')
  await models.say(asks(run), says('Run again.'))
  await say(page, 'Agent', 'once more')
  await answered(page, 'Run again.')
  assert.equal(await question.count(), 0)
  await bed.saved('approve.ipynb', () => made() === 'ran 3\n')
  // A new conversation about the same notebook keeps the approval.
  await press(page, 'New conversation')
  await turns(page).first().waitFor({ state: 'detached' })
  await models.say(asks(run), says('Run in a new one.'))
  await say(page, 'Agent', 'again')
  await answered(page, 'Run in a new one.')
  await bed.saved('approve.ipynb', () => made() === 'ran 4\n')
})

test('a file that other programs run changes only after an approval that names it', async () => {
  account({ run_code: 'ask' })
  const page = await talkAbout('consent.ipynb', [code('a', 'x = 1')])
  const path = join(bed.work, '.vscode/tasks.json')
  mkdirSync(join(bed.work, '.vscode'))
  const write = (content) => ['write', { path: '.vscode/tasks.json', content }]
  const question = pane(page).getByRole('group', { name: `Allow changes to ${path}?` })
  const content = () => (existsSync(path) ? readFileSync(path, 'utf8') : null)
  await models.say(asks(write('{"first": 1}')), says('Not changed.'))
  await say(page, 'Agent', 'write the tasks')
  await question.waitFor()
  assert.equal(
    await question.locator('p').textContent(),
    `Other programs run ${path} or take settings from it. Allow the change?`,
  )
  assert.equal(await question.locator('code').textContent(), path)
  assert.deepEqual(await question.getByRole('button').allTextContents(), [
    'Allow in this conversation',
    'Don’t change',
  ])
  // The user sees the content before deciding.
  await calls(page, 'write').last().locator('.arguments').getByText('{"first": 1}').waitFor()
  await question.getByRole('button', { name: 'Don’t change' }).click()
  await answered(page, 'Not changed.')
  assert.equal(content(), null)
  await models.say(asks(write('{"second": 2}')), asks(write('{"third": 3}')), says('Changed.'))
  await say(page, 'Agent', 'write them again')
  await question.getByRole('button', { name: 'Allow in this conversation' }).click()
  await answered(page, 'Changed.')
  assert.equal(await question.count(), 0)
  assert.equal(content(), '{"third": 3}')
})

test('restoring to a message undoes its changes and all later ones, and tells the model', async () => {
  const page = await talkAbout('restore.ipynb', [code('a', 'a = 1'), code('b', 'b = 1')])
  const heard = await listen()
  const change = (id, content) => asks(['update_notebook_cell', { cell: id, content }])
  await models.say(
    change('b', 'b = 2'),
    says('First.'),
    change('a', 'a = 2'),
    says('Second.'),
    change('a', 'a = 3'),
    asks(['add_notebook_cell', { type: 'code', content: 'new = 1' }]),
    says('Third.'),
  )
  for (const [words, said] of [
    ['change b', 'First.'],
    ['change a', 'Second.'],
    ['again', 'Third.'],
  ]) {
    await say(page, 'Agent', words)
    await answered(page, said)
  }
  await bed.saved('restore.ipynb', (cells) => sources(cells).join() === 'a = 3,b = 2,new = 1')
  const restore = async (turn) => {
    await turns(page).nth(turn).getByRole('button', { name: 'Restore to here' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Restore', exact: true }).click()
  }
  await restore(1)
  await page.locator('[role=status]', { hasText: 'Restored 2 cells of restore.ipynb' }).waitFor()
  await bed.saved('restore.ipynb', (cells) => sources(cells).join() === 'a = 1,b = 2')
  await turns(page).nth(2).and(page.locator('.undone')).waitFor()
  assert.deepEqual(
    await turns(page).evaluateAll((all) => all.map((turn) => turn.classList.contains('undone'))),
    [false, true, true],
  )
  await models.say(says('I see.'))
  await say(page, 'Ask', 'and now?')
  await answered(page, 'I see.')
  assert.match(told(await heard.request(7)).message, /undone/)
  await restore(3)
  await page.locator('[role=status]', { hasText: 'Nothing to undo' }).waitFor()
})
