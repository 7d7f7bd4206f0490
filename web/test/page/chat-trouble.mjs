// Providers that refuse, fail, are slow or missing; and secrets that no provider, page or file may see.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { cell, code, notebook, source, until } from '../kit.mjs'
import { calls as asks, cut, garbled, held, Models, paced, refuses, says } from '../models.mjs'
import {
  account,
  answered,
  calls,
  field,
  KEY,
  listen,
  models,
  noAccount,
  pane,
  results,
  say,
  talkAbout,
  told,
  turns,
} from './assistant.mjs'
import { bed } from './bed.mjs'

const failed = (page) => turns(page).last().getByRole('group', { name: 'Provider error' })

test('a rate-limited request is retried at the given time, or fails if that is too late', async () => {
  const page = await talkAbout('limited.ipynb', [code('a', 'x = 1')])
  const heard = await listen()
  await models.say(refuses(429, 'slow down', [['retry-after', '6']]), says('Now.'))
  await say(page, 'Ask', 'hello')
  await turns(page).last().locator('.ending.again', { hasText: 'slow down' }).waitFor()
  await answered(page, 'Now.')
  assert.equal(await heard.count(), 2)
  assert.equal(await turns(page).last().locator('.ending.again').count(), 0)
  await models.say(refuses(429, 'come back tomorrow', [['retry-after', '86400']]))
  await say(page, 'Ask', 'and now?')
  await failed(page).getByText('come back tomorrow').waitFor()
  assert.equal(await heard.count(), 3)
  await models.say(says('Tomorrow it is.'))
  await failed(page).getByRole('button', { name: 'Try again' }).click()
  await answered(page, 'Tomorrow it is.')
  assert.match(told(await heard.request(3)).message, /and now\?$/)
})

test('an unreachable provider and a rejected key are reported with a hint', async () => {
  const gone = await Models.start()
  await gone.stop()
  account({ base_url: gone.url })
  const page = await talkAbout('dead.ipynb', [code('a', 'x = 1')])
  await say(page, 'Ask', 'is anyone there?')
  await failed(page).getByText('chat.base_url').waitFor()
  account()
  await models.say(refuses(401, 'who are you?'), says('Welcome.'))
  await failed(page).getByRole('button', { name: 'Try again' }).click()
  await failed(page).getByText('rejected the API key').waitFor()
  await say(page, 'Ask', 'again')
  await answered(page, 'Welcome.')
})

test('a dropped answer is requested again, and its partial text is discarded', async () => {
  const page = await talkAbout('broken.ipynb', [code('a', 'x = 1')])
  for (const provider of ['openai', 'gemini', 'anthropic']) {
    account({ provider, base_url: provider === 'openai' ? `${models.url}/v1` : models.url })
    await models.say(cut(says('Half of')), says('A whole ', `by ${provider}.`))
    await say(page, 'Ask', 'tell me')
    const turn = await answered(page, `A whole by ${provider}.`)
    assert.ok(!(await turn.locator('.answer').textContent()).includes('Half'))
  }
  await models.say(garbled(says('Noise')))
  await say(page, 'Ask', 'and now?')
  await failed(page).getByText('unexpected response from').waitFor()
})

test('a slow answer appears as it streams, and markup in it stays text', async () => {
  const page = await talkAbout('slow.ipynb', [code('a', 'x = 1')])
  await models.say(paced(held(says('<img src=x onerror="document.title=1"> ', '**bold** ', 'end.')), 30))
  await say(page, 'Ask', 'slowly')
  await turns(page).last().locator('.prose strong').waitFor()
  assert.ok(!(await turns(page).last().textContent()).includes('end.'))
  await pane(page).locator('.conversation[aria-busy=true]').waitFor()
  await models.release()
  await answered(page, 'end.')
  assert.equal(await page.title(), 'slow.ipynb · cellist')
  assert.equal(await pane(page).locator('[onerror]').count(), 0)
})

test('markup in an answer loads nothing, runs nothing and cannot imitate the page, also after a reload', async () => {
  const page = await talkAbout('markup.ipynb', [code('a', 'x = 1')])
  const fetched = []
  page.on('request', (request) => fetched.push(request.url()))
  await models.say(
    says(
      'Look:\n\n![far away](http://evil.test/p.png)\n\n[press](javascript:document.title=1)\n\n',
      '<svg><a href="https://evil.test/"><text>drawn link</text></a><image href="http://evil.test/q.png" /></svg>\n\n',
      '<div class="call done toast">receipt</div>\n\n<video poster="http://evil.test/v.png" src="http://evil.test/v.mp4"></video>\n\nThe end.',
    ),
  )
  await say(page, 'Ask', 'show me')
  for (const isAgain of [false, true]) {
    if (isAgain) await page.reload()
    const answer = (await answered(page, 'The end.')).locator('.answer')
    await answer.getByText('far away').waitFor()
    assert.equal(await answer.locator('svg a').getAttribute('target'), '_blank')
    assert.equal(await answer.getByText('receipt').getAttribute('class'), null)
    assert.equal(await answer.locator('img, [src], [poster], image[href], a[href^=javascript]').count(), 0)
  }
  assert.equal(await page.title(), 'markup.ipynb · cellist')
  assert.deepEqual(
    fetched.filter((url) => url.includes('evil.test')),
    [],
  )
})

test('without a model the pane explains the setup, and uses a model configured later', async () => {
  noAccount()
  const page = await talkAbout('none.ipynb', [code('a', 'x = 1')])
  const problem = page.getByRole('group', { name: 'No AI model configured' })
  await problem.getByText('config.toml').waitFor()
  account()
  await models.say(says('Here.'))
  await say(page, 'Ask', 'hello?')
  await answered(page, 'Here.')
  assert.equal(await problem.count(), 0)
})

/** All files below a folder. */
const files = (folder) =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))

test('no key, token or private file appears in any request, log, notebook or page', async () => {
  const kept = {
    environment: 'sk-environment-4711',
    gateway: 'gateway-token-4711',
    dotenv: 'dotenv-word-4711',
    notebook: 'excluded-word-4711',
    key: KEY,
  }
  writeFileSync(join(bed.work, '.env'), `PASSWORD=${kept.dotenv}\n`)
  writeFileSync(join(bed.work, 'careless.txt'), `the key is ${KEY}, or so\n`)
  bed.write('private.ipynb', notebook(code('p', `word = "${kept.notebook}"`)))
  bed.write('privy.ipynb', notebook(code('q', 'anyone = "may read it"')))
  account({ exclude: ['private.ipynb'] })
  Object.assign(bed.environment, { OPENAI_API_KEY: kept.environment, PI_PYTHON_GATEWAY_TOKEN: kept.gateway })
  const frames = []
  const onPage = (page) =>
    page.on('websocket', (socket) => {
      for (const event of ['framesent', 'framereceived'])
        socket.on(event, ({ payload }) => frames.push(String(payload)))
    })
  bed.context.once('page', onPage)
  const page = await talkAbout('hushed.ipynb', [code('a', 'import os\nprint(sorted(os.environ.items()))')])
  delete bed.environment.OPENAI_API_KEY
  delete bed.environment.PI_PYTHON_GATEWAY_TOKEN
  kept.page = (await bed.context.cookies()).map(({ value }) => value).find((value) => value.length >= 16)
  kept.host = bed.run('status', '--token').trim()
  assert.ok(kept.page && kept.host)
  const from = await models.count()
  const read = (path) => ['read', { path }]
  await models.say(
    asks(
      read('.env'),
      read('private.ipynb'),
      ['get_notebook_cells', { notebook: 'private.ipynb' }],
      read(join(bed.home, 'config.toml')),
      read('~/.cellist/config.toml'),
    ),
    asks(['run_notebook_cells', { cells: ['a'] }], ['get_cell_outputs', { cell: 'a' }], read('careless.txt')),
    says('I was not let in.'),
  )
  await say(page, 'Agent', 'read @.env and @private.ipynb')
  await answered(page, 'I was not let in.')
  await cell(page, 'a').locator('.outputs').getByText('PATH').waitFor()
  for (const { text, isFailure } of results((await models.request(from + 1)).body))
    assert.ok(isFailure && !text.includes('4711'), text)
  // A notebook that contains the key is read without it.
  assert.ok(results((await models.request(from + 2)).body)[2].text.includes('the key is ['))
  // A provider that echoes the key, as some do.
  await models.say(refuses(400, `the key ${KEY} is not known`))
  await say(page, 'Ask', 'once more')
  await failed(page).waitFor()
  // The menu does not offer it either.
  await field(page).pressSequentially('@priv')
  await page.getByRole('option', { name: 'privy.ipynb' }).waitFor()
  assert.equal(await page.getByRole('option', { name: 'private.ipynb' }).count(), 0)
  await models.count()
  const requests = models.asked.slice(from)
  assert.ok(
    requests.length === 4 &&
      requests.every(({ headers }) => headers.some(([name, value]) => name === 'x-api-key' && value === KEY)),
  )
  await bed.saved('hushed.ipynb', (cells) => cells[0].outputs.length > 0)
  assert.ok(source(bed.read('hushed.ipynb').cells[0].outputs[0].text).includes('PATH'))
  await until(() => frames.some((frame) => frame.includes('once more')), 'the frames')
  const storage = await page.evaluate(() =>
    JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
  )
  // The user's settings have the key, and the host has its own credentials, in private files.
  const own = files(join(bed.home, 'run')).filter((path) =>
    [kept.host, kept.page].some((token) => readFileSync(path, 'latin1').includes(token)),
  )
  assert.ok(
    own.every((path) => (statSync(path).mode & 0o077) === 0),
    String(own),
  )
  const others = files(bed.home).filter(
    (path) => !own.includes(path) && path !== join(bed.home, 'config.toml'),
  )
  const state = others.map((path) => [path, readFileSync(path, 'latin1')])
  const places = [
    ['the requests', requests.map(({ path, body }) => path + JSON.stringify(body)).join('\n')],
    ['the log', bed.log],
    ['the notebook', JSON.stringify(bed.read('hushed.ipynb'))],
    ['the page', (await page.content()).replace(/nonce\S*=?"[^>]*>/g, '>')],
    ['the frames', frames.join('\n')],
    ['the storage', storage],
    ...state,
  ]
  for (const [place, text] of places) {
    for (const [name, secret] of Object.entries(kept))
      assert.ok(!text.includes(secret), `${name} is in ${place}`)
  }
  // Nor anything that looks like the token of the tools.
  for (const [place, text] of places.slice(0, 5)) assert.doesNotMatch(text, /\b[0-9a-f]{64}\b/, place)
  assert.equal(await calls(page, 'read').and(page.locator('.failed')).count(), 4)
})
