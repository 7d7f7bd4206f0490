// Hostile content: markup in outputs, foreign host names and pages.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { code, markdown, notebook } from '../kit.mjs'
import { bed } from './bed.mjs'

test('active markup cannot reach the page, the cookie or the network', async () => {
  const hostile = `<p>hostile</p><script>
    const tried = {}
    const attempt = (name, what) => { try { tried[name] = String(what()) } catch (error) { tried[name] = 'blocked' } }
    attempt('parent', () => parent.document.body.innerHTML)
    attempt('cookie', () => document.cookie)
    attempt('storage', () => localStorage.length)
    attempt('top', () => { top.location = 'http://evil.test/' })
    attempt('popup', () => window.open('http://evil.test/') ?? 'blocked')
    const socket = new Promise((resolve) => {
      const socket = new WebSocket('ws://PORT/socket')
      socket.onopen = () => resolve('reached')
      socket.onerror = () => resolve('blocked')
    }).catch(() => 'blocked').then((how) => { tried.socket = how })
    const picture = new Promise((resolve) => {
      const picture = new Image()
      picture.onload = () => resolve('reached')
      picture.onerror = () => resolve('blocked')
      picture.src = 'http://PORT/icon.svg'
    }).then((how) => { tried.picture = how })
    const fetched = fetch('http://PORT/session').then(() => { tried.fetch = 'reached' }, () => { tried.fetch = 'blocked' })
    Promise.all([socket, picture, fetched]).finally(() => {
      const told = document.createElement('pre')
      told.id = 'tried'
      told.textContent = JSON.stringify(tried)
      document.body.append(told)
    })
  </script>`.replaceAll('PORT', `127.0.0.1:${bed.port}`)
  const inline = '<img src=x onerror="document.title=1"><a href="javascript:alert(1)">link</a>'
  const shows = (id, data) => ({
    ...code(id, ''),
    outputs: [{ output_type: 'display_data', metadata: {}, data }],
  })
  bed.write(
    'hostile.ipynb',
    notebook(
      shows('a', { 'text/html': hostile }),
      markdown(
        'm',
        `${inline}\n\n<script>document.title = 2</script>\n\n[x](javascript:alert(2)) $\\href{javascript:alert(3)}{y}$`,
      ),
      markdown(
        'd',
        'before\n\n<svg><a href="https://evil.test/"><text>drawn link</text></a><image href="http://evil.test/p.png" /></svg>\n\n<div class="toast call done">forged</div>\n\nafter',
      ),
      shows('s', {
        'image/svg+xml':
          '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="parent.document.title=3"><script>document.title=4</script></svg>',
      }),
    ),
  )
  const page = await bed.open('hostile.ipynb')
  const inside = page.frameLocator('.frame').locator('body')
  await inside.locator('#tried').waitFor()
  const tried = JSON.parse(await inside.locator('#tried').textContent())
  const { cookie, top, ...rest } = tried
  assert.deepEqual(rest, {
    parent: 'blocked',
    storage: 'blocked',
    popup: 'blocked',
    socket: 'blocked',
    picture: 'blocked',
    fetch: 'blocked',
  })
  assert.ok(cookie === 'blocked' || cookie === '', cookie)
  assert.ok(top === 'blocked' || top === 'undefined', top)
  assert.equal(new URL(page.url()).hostname, '127.0.0.1')
  assert.equal(await page.title(), 'hostile.ipynb · cellist')
  assert.equal(
    await page.locator('main script, main [onerror], main [onload], main a[href^=javascript]').count(),
    0,
  )
  // A link inside an SVG opens in a new tab, and nothing looks like a part of the page.
  const drawn = page.locator('[data-cell=d] .prose')
  await drawn.getByText('after').waitFor()
  assert.equal(await drawn.locator('svg a').getAttribute('target'), '_blank')
  assert.equal(await drawn.getByText('forged').getAttribute('class'), null)
  assert.equal(await drawn.locator('image[href]').count(), 0)
  bed.complaints = bed.complaints.filter(
    (line) => !/sandbox|Content Security Policy|Blocked opening|Unsafe attempt/i.test(line),
  )
})

test('foreign host names, foreign pages and used links are refused', async () => {
  const base = `http://127.0.0.1:${bed.port}`
  const link = bed.link()
  const get = async (address, headers = {}) => (await fetch(address, { headers, redirect: 'manual' })).status
  assert.equal(await get(`${base}/`), 401)
  assert.equal(await get(link), 200)
  assert.equal(await get(link), 401)
  assert.equal(await get(`${base}/output?path=/etc/passwd`), 401)
  assert.equal(await get(`${base}/session`, { origin: 'http://evil.test' }), 403)
  const page = await bed.context.newPage()
  const answer = await page.goto(`http://evil.test:${bed.port}/`)
  assert.equal(answer.status(), 421)
  await page.goto(bed.link())
  const refused = await page
    .evaluate(
      (port) =>
        new Promise((resolve) => {
          const socket = new WebSocket(`ws://evil.test:${port}/socket`)
          socket.onopen = () => resolve(false)
          socket.onerror = () => resolve(true)
        }),
      bed.port,
    )
    .catch(() => true)
  assert.equal(refused, true)
})
