// A program that takes the host's port, pages of other origins, and revoked browsers.

import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { cell, code, edit, markdown, notebook, source, text, until } from '../kit.mjs'
import { bed } from './bed.mjs'

/** A program that listens on the host's port and records everything it receives. */
async function squat(port) {
  const heard = []
  const sockets = new Set()
  const server = createServer((request, response) => {
    heard.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`)
    request.on('data', (data) => heard.push(String(data)))
    response.writeHead(200, { 'content-type': 'text/javascript', 'access-control-allow-origin': '*' })
    response.end('document.title = "owned"; export default { render() { document.title = "owned" } }')
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  server.on('upgrade', (request, socket) => {
    heard.push(`UPGRADE ${request.url} ${JSON.stringify(request.headers)}`)
    const key = createHash('sha1')
      .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64')
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`,
    )
    // It imitates the host's messages as well as it can.
    const said = JSON.stringify({
      host: {
        challenge: randomBytes(16).toString('hex'),
        standing: 'signed_in',
        proof: randomBytes(16).toString('hex'),
      },
    })
    assert.ok(said.length < 126)
    socket.write(Buffer.concat([Buffer.from([0x81, said.length]), Buffer.from(said)]))
    socket.on('data', (frame) => heard.push(unmasked(frame)))
  })
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  const close = () =>
    new Promise((resolve) => {
      for (const socket of sockets) socket.destroy()
      server.close(() => resolve())
    })
  return { heard, close }
}

/** The text of a short frame from a browser. Closing frames have none. */
function unmasked(frame) {
  if ((frame[0] & 15) === 8) return ''
  const from = (frame[1] & 127) === 126 ? 4 : 2
  const mask = frame.subarray(from, from + 4)
  return String(Buffer.from(frame.subarray(from + 4).map((byte, at) => byte ^ mask[at % 4])))
}

test("a program on the host's port gets only a worthless cookie from an open page", async (context) => {
  const picture = {
    output_type: 'display_data',
    metadata: {},
    data: {
      'image/png':
        'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    },
  }
  const far = Array.from({ length: 40 }, (_, at) => code(`f${at}`, '#\n'.repeat(8)))
  bed.write(
    'squatted.ipynb',
    notebook(
      code('a', 'private = 1'),
      ...far,
      { ...code('p', ''), outputs: [picture] },
      markdown('m', 'Text'),
    ),
  )
  const page = await bed.open('squatted.ipynb')
  bed.wasKilled = true
  bed.run('stop')
  await bed.ended
  const squatter = await squat(bed.port)
  context.after(async () => {
    await squatter.close()
    if (bed.host.exitCode !== null || bed.host.signalCode !== null) await bed.serve()
  })
  await page.locator('.saved.unverified').waitFor()
  // The user goes on meanwhile: typing, formulas, images, the assistant, the clipboard, the theme.
  await edit(page, 'a')
  await page.keyboard.type(' + 4711')
  await page.keyboard.press('Escape')
  await page.keyboard.press('c')
  await page.keyboard.press('Control+Enter')
  await cell(page, 'p').scrollIntoViewIfNeeded()
  await cell(page, 'm').evaluate((element) => element.focus())
  await page.keyboard.press('Enter')
  await page.keyboard.press('Control+End')
  await page.keyboard.type(' $\\sqrt{4711}$')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+Enter')
  await page.keyboard.press('Control+l')
  const before = squatter.heard.length
  await until(() => squatter.heard.length > before, 'another attempt')
  assert.notEqual(await page.title(), 'owned')
  const heard = squatter.heard.filter(Boolean)
  for (const line of heard)
    assert.match(
      line,
      /^UPGRADE \/socket\?browser=[0-9a-f]{8}&salt=[0-9a-f]{32}&challenge=[0-9a-f]{32} /,
      line,
    )
  const challenges = heard.map((line) => /challenge=(\w+)/.exec(line)[1])
  assert.equal(new Set(challenges).size, challenges.length, 'a challenge is never used twice')
  const all = heard.join('\n')
  for (const word of ['4711', 'squatted', 'private', bed.work]) assert.ok(!all.includes(word), word)
  const cookies = JSON.parse(/\{.*\}/.exec(heard[0])[0]).cookie
  assert.match(cookies, new RegExp(`cellist-${bed.port}=[0-9a-f]{64}`))

  // The recorded cookie and greeting do not work on the next host.
  await squatter.close()
  await bed.serve()
  const base = `http://127.0.0.1:${bed.port}`
  for (const path of ['/', '/session', '/raw?path=x.ipynb', '/output', '/plotly.js']) {
    assert.equal((await fetch(base + path, { headers: { cookie: cookies } })).status, 401, path)
  }
  // The page reconnects by itself, with all edits and images.
  await page.locator('.saved.open').waitFor()
  await until(async () => (await text(page, 'a')).endsWith('4711'), 'the text')
  await bed.saved('squatted.ipynb', (cells) => source(cells[0].source).endsWith('4711'))
  await cell(page, 'p').scrollIntoViewIfNeeded()
  await until(
    () =>
      cell(page, 'p')
        .locator('img')
        .evaluate((image) => image.complete && image.naturalWidth > 0),
    'the picture',
  )
  // Neither outputs nor saved text stay in the browser.
  const address = await cell(page, 'p').locator('img').getAttribute('src')
  assert.match(address, /^\/output\?/)
  const isCached = await page.evaluate(
    (address) =>
      fetch(address, { cache: 'only-if-cached', mode: 'same-origin' }).then(
        ({ ok }) => ok,
        () => false,
      ),
    address,
  )
  assert.equal(isCached, false)
  await until(
    async () => !JSON.stringify(await stored(page)).includes('4711'),
    async () => `${JSON.stringify(await stored(page))} is in the store, which`,
  )
})

/** Everything that the browser stores for the page. */
const stored = (page) =>
  page.evaluate(async () => {
    const cached = []
    for (const name of await caches.keys()) {
      const cache = await caches.open(name)
      for (const request of await cache.keys())
        cached.push(request.url, await (await cache.match(request)).text())
    }
    return [{ ...localStorage }, { ...sessionStorage }, cached, await indexedDB.databases()]
  })

test('a private file opens the page and is removed', async () => {
  bed.write('filed.ipynb', notebook(code('a', 'x = 1')))
  const desktop = join(bed.folder, 'desktop')
  mkdirSync(desktop)
  writeFileSync(
    join(desktop, 'xdg-open'),
    `#!/bin/sh\nprintf %s "$1" > ${desktop}/given.new && mv ${desktop}/given.new ${desktop}/given\n`,
  )
  chmodSync(join(desktop, 'xdg-open'), 0o755)
  const before = { ...bed.environment }
  Object.assign(bed.environment, { DISPLAY: ':99', PATH: `${desktop}:${before.PATH}` })
  try {
    assert.equal(JSON.parse(bed.run('open', '--json', 'filed.ipynb')).browser, true)
  } finally {
    bed.environment = before
  }
  await until(() => existsSync(join(desktop, 'given')), 'the file')
  const address = readFileSync(join(desktop, 'given'), 'utf8')
  // A browser without any state.
  await bed.context.clearCookies()
  const page = await bed.context.newPage()
  await page.goto(address)
  await page.locator('.saved.open').waitFor()
  await until(() => !page.url().includes('code='), 'the address')
  assert.ok(!existsSync(fileURLToPath(address)))
  await page.reload()
  await page.locator('.saved.open').waitFor()
})

test('a page of another origin cannot read, send or frame anything', async () => {
  bed.write('target.ipynb', notebook(code('a', 'secret = 4711')))
  const ours = await bed.open('target.ipynb')
  const hostile = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    response.end('<!doctype html><title>hostile</title>')
  })
  await new Promise((resolve) => hostile.listen(0, '127.0.0.1', resolve))
  const page = await bed.context.newPage()
  // Another site, another site whose name points at our address, and another port of this machine, whose
  // requests carry our cookie.
  for (const name of ['evil.test', '127.0.0.1', 'localhost']) {
    await page.goto(`http://${name}:${hostile.address().port}/`)
    const tried = await page.evaluate(async (port) => {
      const [base, found] = [`127.0.0.1:${port}`, {}]
      const attempt = async (name, what) => {
        try {
          found[name] = await what()
        } catch {
          found[name] = 'blocked'
        }
      }
      const element = (tag, name, value) =>
        new Promise((resolve, reject) => {
          const made = document.createElement(tag)
          made[name] = value
          made.onload = () => resolve('reached')
          made.onerror = reject
          document.body.append(made)
        })
      for (const path of ['/', '/session', '/raw?path=target.ipynb', '/main.js']) {
        await attempt(
          `fetch ${path}`,
          async () => (await fetch(`http://${base}${path}`, { credentials: 'include' })).status,
        )
      }
      await attempt(
        'post',
        async () =>
          (await fetch(`http://${base}/session`, { method: 'POST', body: 'x', credentials: 'include' }))
            .status,
      )
      await attempt('picture', () => element('img', 'src', `http://${base}/icon.svg`))
      await attempt('script', () => element('script', 'src', `http://${base}/main.js`))
      await attempt(
        'socket',
        () =>
          new Promise((resolve, reject) => {
            const zeros = '0'.repeat(32)
            const socket = new WebSocket(
              `ws://${base}/socket?browser=00000000&salt=${zeros}&challenge=${zeros}`,
            )
            socket.onmessage = () => resolve('reached')
            socket.onerror = reject
          }),
      )
      await attempt('frame', async () => {
        const frame = document.createElement('iframe')
        frame.src = `http://${base}/`
        const loaded = new Promise((resolve) => (frame.onload = resolve))
        document.body.append(frame)
        await loaded
        return frame.contentDocument.body.textContent.length
      })
      return found
    }, bed.port)
    for (const [what, how] of Object.entries(tried)) assert.equal(how, 'blocked', `${name}: ${what}`)
  }
  // A form is posted as a navigation; the host refuses it.
  const [answer] = await Promise.all([
    page.waitForResponse((response) => response.request().method() === 'POST'),
    page.evaluate((port) => {
      const form = Object.assign(document.createElement('form'), {
        method: 'post',
        action: `http://127.0.0.1:${port}/session`,
      })
      document.body.append(form)
      form.submit()
    }, bed.port),
  ])
  assert.equal(answer.status(), 403)
  // The real page keeps working.
  await ours.locator('.saved.open').waitFor()
  await new Promise((resolve) => {
    hostile.closeAllConnections()
    hostile.close(resolve)
  })
})

test('a revoked browser is signed out at once, keeps its edits, and signs in by a new link', async () => {
  bed.write('revoked.ipynb', notebook(code('a', 'x = 1')))
  const page = await bed.open('revoked.ipynb')
  const { browsers } = JSON.parse(bed.run('status', '--browsers', '--json'))
  const open = browsers.filter(({ pages }) => pages > 0)
  assert.equal(open.length, 1)
  assert.match(open[0].name, /^Chrome \d+ on Linux$/)
  bed.wasKilled = true
  bed.run('revoke', open[0].id)
  await page.locator('.saved.locked').waitFor()
  await edit(page, 'a')
  await page.keyboard.type(' + 1')
  const reloaded = await bed.context.newPage()
  assert.equal((await reloaded.goto(`http://127.0.0.1:${bed.port}/`)).status(), 401)
  await page.close()
  const again = await bed.open('revoked.ipynb')
  await until(async () => (await text(again, 'a')) === 'x = 1 + 1', 'the text')
})
