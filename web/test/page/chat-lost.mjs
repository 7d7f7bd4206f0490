// Unanswered messages: the host is killed, another window intervenes, or a button is pressed twice.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { code, edit, notebook, until } from '../kit.mjs'
import { held, says } from '../models.mjs'
import {
  answered,
  choose,
  field,
  listen,
  models,
  offers,
  pane,
  say,
  talkAbout,
  told,
  turns,
} from './assistant.mjs'
import { bed } from './bed.mjs'

/** Kills and restarts the host. */
async function again(meanwhile = async () => {}) {
  await bed.kill()
  await meanwhile()
  await bed.serve()
}

const written = (page, words) =>
  until(
    async () => (await field(page).inputValue()) === words,
    async () => `${words} for ${await field(page).inputValue()}`,
  )

test('an unanswered message returns once after the host is killed, also after a reload', async () => {
  const page = await talkAbout('lost.ipynb', [code('a', 'x = 1')])
  await models.say(says('Answered.'), held(says('Half ', 'of it.')))
  await say(page, 'Ask', 'continue')
  await answered(page, 'Answered.')
  await say(page, 'Ask', 'continue')
  await turns(page).last().getByText('Half').waitFor()
  await field(page).fill('waits')
  await field(page).press('Enter')
  await page.getByRole('list', { name: 'Queued messages' }).getByText('waits').waitFor()
  await again()
  await written(page, 'continue\n\nwaits')
  assert.equal(await turns(page).count(), 1)
  await page.reload()
  await answered(page, 'Answered.')
  assert.equal(await field(page).inputValue(), 'continue\n\nwaits')
  // The page may be gone as well.
  await models.forget()
  await models.say(held(says('Half ', 'again.')))
  await page.locator('.saved.open').waitFor()
  await say(page, 'Ask', 'once more')
  await turns(page).last().getByText('Half').waitFor()
  await again(() => page.goto('about:blank'))
  // The next host does not know the cookie; the new link opens the notebook with the tab's edits.
  await page.goto(bed.link('lost.ipynb'))
  await written(page, 'once more')
})

test('an unanswered inline message returns after the host is killed', async () => {
  const page = await talkAbout('lost-inline.ipynb', [code('a', 'x = 1')])
  const line = page.locator('.inline-chat').getByRole('textbox')
  await models.say(held(says('I ', 'think.')))
  await edit(page, 'a')
  await page.keyboard.press('Control+i')
  await line.fill('make it two')
  await line.press('Enter')
  await page.locator('.inline-chat').getByText('I').first().waitFor()
  await again()
  await until(async () => (await line.inputValue()) === 'make it two', 'the words')
})

/** Whether the host knows that the user is typing in the next window. */
function reports() {
  let [asked, isTaken] = [null, false]
  bed.context.once('page', (page) =>
    page.on('websocket', (socket) => {
      socket.on('framesent', ({ payload }) => {
        const { ask } = JSON.parse(String(payload))
        if (ask?.request.notebook?.ask.present?.editing) asked = ask.id
      })
      socket.on('framereceived', ({ payload }) => {
        const { done } = JSON.parse(String(payload))
        if (asked !== null && done?.id === asked) isTaken = true
      })
    }),
  )
  return () => isTaken
}

test('notebook mode stays on beside a window with another notebook, and in an empty notebook', async () => {
  const page = await talkAbout('in-front.ipynb', [])
  await choose(page, 'Agent')
  await field(page).fill('What is here?')
  bed.write('other-window.ipynb', notebook(code('o', 'other = 1')))
  const isReported = reports()
  const other = await bed.open('other-window.ipynb')
  await edit(other, 'o')
  await until(isReported, 'the report of the other window')
  const heard = await listen()
  await models.say(says('Nothing yet.'))
  await field(page).press('Enter')
  const turn = await answered(page, 'Nothing yet.')
  offers(told(await heard.request(0)).tools, { look: true, change: true })
  assert.ok(!(await turn.locator('.with .meta').textContent()).includes('notebook mode off'))
})

test('a mode switch does not attach a detached notebook, and two presses send once', async () => {
  const page = await talkAbout('removed.ipynb', [code('a', 'x = 1')])
  const heard = await listen()
  await models.say(
    says('That needs Agent mode.'),
    says('That needs Agent mode too.'),
    held(says('Here ', 'I am.')),
  )
  await pane(page).getByRole('button', { name: 'Remove removed.ipynb' }).click()
  assert.equal(
    await pane(page)
      .getByRole('button', { name: /^Attach (selection|output)/ })
      .count(),
    0,
  )
  await say(page, 'Ask', 'change it')
  const turn = await answered(page, 'That needs Agent mode.')
  await turn.locator('.restore').waitFor()
  assert.equal(await turn.locator('.switch-mode').count(), 0)
  await pane(page).getByRole('button', { name: 'Attach removed.ipynb' }).click()
  await say(page, 'Ask', 'change it now')
  await answered(page, 'That needs Agent mode too.')
  await turns(page).last().getByRole('button', { name: 'Switch to Agent and send' }).dblclick()
  await turns(page).last().getByText('Here').waitFor()
  await models.release()
  await answered(page, 'I am.')
  assert.deepEqual(await turns(page).locator('.bubble').allTextContents(), [
    'change it',
    'change it now',
    'change it now',
  ])
  assert.equal(await heard.count(), 3)
})
