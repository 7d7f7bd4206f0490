// The live page in a real browser, on a real host, with a real kernel and an agent beside it. One host and one browser serve
// all of it.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, afterEach, before, test } from 'node:test'
import { Agent } from './agent.mjs'
import { fileURLToPath } from 'node:url'
import { Bed, cell, code, edit, markdown, notebook, SHOTS, source, text, until } from './kit.mjs'

const axe = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))

let bed
before(async () => {
  bed = await Bed.start()
})
after(async () => {
  await bed?.stop()
})
afterEach(async () => {
  for (const page of bed.context.pages()) await page.close()
  assert.deepEqual(bed.complaints.splice(0), [], 'the console is silent')
})

const sources = (cells) => cells.map((one) => source(one.source))

test('a cell is edited and run, and what it prints is seen while it runs', async () => {
  bed.write('run.ipynb', notebook(code('a', 'import os, time'), code('b', '')))
  const page = await bed.open('run.ipynb')
  await edit(page, 'b')
  await page.keyboard.insertText('print("first", flush=True)\nwhile not os.path.exists("go"): time.sleep(0.01)\nprint("last")')
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Run all' }).click()
  const output = cell(page, 'b').locator('.outputs')
  await output.getByText('first').waitFor()
  assert.equal(await output.textContent(), 'first\n')
  assert.equal(await cell(page, 'b').getAttribute('aria-label'), 'Cell 2 of 2, code, running')
  bed.write('go', {})
  await output.getByText('last').waitFor()
  await cell(page, 'b').locator('.standing.ok').waitFor()
  const { cells } = await bed.saved('run.ipynb', (cells) => cells[1].outputs.length > 0 && cells[1].execution_count !== null)
  assert.equal(source(cells[1].outputs[0].text), 'first\nlast\n')
})

test('what an agent does is seen at once, and both edit one cell without losing anything', async () => {
  const path = bed.write('both.ipynb', notebook(code('a', 'one\ntwo\nthree\nfour'), code('b', 'x = 1')))
  const page = await bed.open('both.ipynb')
  const agent = await Agent.join(bed)
  await edit(page, 'a')
  await page.keyboard.press('Control+Home')
  for (let round = 0; round < 20; round++) {
    const typing = page.keyboard.type(`${round},`)
    const { cells, base } = await agent.read(path)
    const content = sources(cells)[0].replace(/four.*$/, `four${'!'.repeat(round + 1)}`)
    await agent.edit(path, [{ action: 'edit', cell: 'a', content }], { base })
    await typing
  }
  const mine = Array.from({ length: 20 }, (_, round) => `${round},`).join('')
  const both = await until(async () => {
    const now = await text(page, 'a')
    const all = sources(bed.read('both.ipynb').cells)[0]
    return now === all && now.startsWith(mine) ? now : null
  }, 'one text')
  assert.equal(both, `${mine}one\ntwo\nthree\nfour${'!'.repeat(20)}`)
  const told = await page.evaluate(() => {
    window.seen = new Promise((resolve) => {
      new MutationObserver(() => {
        if (document.querySelector('[data-cell="b"]').textContent.includes('x = 2')) resolve(performance.timeOrigin + performance.now())
      }).observe(document.querySelector('[data-cell="b"]'), { subtree: true, childList: true, characterData: true })
    })
  })
  assert.equal(told, undefined)
  await agent.edit(path, [{ action: 'edit', cell: 'b', content: 'x = 2' }])
  await page.evaluate(() => window.seen)
  agent.leave()
})

test('two windows come to the same cells, whatever is done in both at once', async () => {
  bed.write('two.ipynb', notebook(code('a', ''), code('b', '')))
  const [one, other] = [await bed.open('two.ipynb'), await bed.open('two.ipynb')]
  await edit(one, 'a')
  await edit(other, 'a')
  await Promise.all([one.keyboard.type('ONE '.repeat(8)), other.keyboard.type('other '.repeat(8))])
  await one.keyboard.press('Escape')
  await one.keyboard.press('b')
  await other.keyboard.press('Escape')
  await other.keyboard.press('a')
  const seen = (page) => page.evaluate(() => [...document.querySelectorAll('[data-cell]')].map((cell) => {
    const lines = cell.querySelectorAll('.cm-line')
    return lines.length ? [...lines].map((line) => line.textContent).join('\n') : cell.querySelector('.still').textContent.replace(/\n$/, '')
  }))
  const both = await until(async () => {
    const [left, right] = [await seen(one), await seen(other)]
    const file = sources(bed.read('two.ipynb').cells)
    return left.length === 4 && JSON.stringify(left) === JSON.stringify(right) && JSON.stringify(left) === JSON.stringify(file) ? left : null
  }, 'the same cells')
  const letters = (word) => both.join('').split(word).length - 1
  assert.equal(both.join('').replaceAll(/\s/g, '').length, 8 * 3 + 8 * 5)
  assert.ok(letters('N') === 8 && letters('h') === 8)
})

test('a host that is killed while someone types, and comes back, has every letter', async () => {
  bed.write('kill.ipynb', notebook(code('a', ''), markdown('m', 'text')))
  const page = await bed.open('kill.ipynb')
  await edit(page, 'a')
  const words = Array.from({ length: 30 }, (_, number) => `word${number} é😀 `)
  bed.isDown = true
  for (const [number, word] of words.entries()) {
    if (number === 8) await bed.kill()
    if (number === 20) await bed.serve()
    await page.keyboard.type(word)
  }
  await page.locator('.saved.open').waitFor()
  bed.isDown = false
  const whole = words.join('')
  await until(async () => (await text(page, 'a')).length >= whole.length, 'the page')
  assert.equal(await text(page, 'a'), whole)
  const { cells } = await bed.saved('kill.ipynb', (cells) => source(cells[0].source).length >= whole.length)
  assert.equal(source(cells[0].source), whole)
})

test('what was typed while the host was gone outlives the page', async () => {
  bed.write('reload.ipynb', notebook(code('a', 'x = 1')))
  const page = await bed.open('reload.ipynb')
  await edit(page, 'a')
  bed.isDown = true
  await bed.kill()
  await page.keyboard.type('\ny = 2')
  await page.close()
  await bed.serve()
  bed.isDown = false
  const again = await bed.open('reload.ipynb')
  await until(async () => (await text(again, 'a')) === 'x = 1\ny = 2', 'the text')
  await bed.saved('reload.ipynb', (cells) => source(cells[0].source) === 'x = 1\ny = 2')
})

test('changes of an agent wait for review, hunk by hunk, and survive a reload', async () => {
  const lines = Array.from({ length: 9 }, (_, number) => `line_${number} = ${number}`)
  const path = bed.write('review.ipynb', notebook(code('a', lines.join('\n')), code('b', 'gone = 1\nmore = 2'), code('c', 'stays')))
  const page = await bed.open('review.ipynb')
  const agent = await Agent.join(bed, 'Robot')
  const changed = lines.with(1, 'line_1 = "one"').with(7, 'line_7 = "seven"').join('\n')
  await agent.edit(path, [{ action: 'edit', cell: 'a', content: changed }, { action: 'delete', cell: 'b' }, { action: 'insert', index: 2, content: 'new = 3' }], { turn: 'turn-1' })
  await page.getByText('3 changes').waitFor()
  await page.reload()
  await page.getByText('3 changes').waitFor()
  const reviewed = cell(page, 'a')
  await reviewed.locator('.cm-deletedChunk').first().waitFor()
  assert.equal(await reviewed.locator('.cm-deletedChunk').count(), 2)
  // One place is undone, the other one kept.
  await reviewed.getByRole('button', { name: 'Undo' }).last().click()
  await until(async () => (await text(page, 'a')).endsWith('line_8 = 8') && (await text(page, 'a')).includes('line_7 = 7'), 'the line')
  await reviewed.locator('button.hunk.accept').first().click()
  await page.getByText('2 changes').waitFor()
  await page.locator('[data-grave="b"]').getByRole('button', { name: 'Restore' }).click()
  await cell(page, 'b').waitFor()
  await page.getByText('1 change', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Undo all' }).click()
  await page.locator('.dock').waitFor({ state: 'detached' })
  const { cells } = await bed.saved('review.ipynb', (cells) => cells.length === 3 && sources(cells)[0].includes('line_7 = 7') && sources(cells)[1].startsWith('gone'))
  assert.deepEqual(sources(cells), [lines.with(1, 'line_1 = "one"').join('\n'), 'gone = 1\nmore = 2', 'stays'])
  agent.leave()
})

test('everything is done by the keyboard alone', async () => {
  bed.write('keys.ipynb', notebook(code('a', 'a = 1')))
  const page = await bed.open('keys.ipynb')
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key)
  }
  await until(() => page.evaluate(() => document.activeElement?.dataset.cell === 'a'), 'the focus')
  await press('b', 'Enter')
  await page.keyboard.type('b = a + 1')
  await press('Shift+Enter')
  // At the end a new cell is there to be typed in at once.
  await page.keyboard.type('print(b)')
  await press('Escape', 'ArrowUp', 'ArrowUp')
  await press('Control+Enter', 'ArrowDown', 'Control+Enter', 'ArrowDown', 'Control+Enter')
  await page.locator('.outputs').getByText('2', { exact: true }).waitFor()
  await press('m', 'Enter', 'Control+Home')
  await page.keyboard.type('# Title ')
  await press('Control+Enter')
  await page.getByRole('heading', { name: 'Title print(b)' }).waitFor()
  await press('c', 'v', 'd', 'd', 'z')
  await until(async () => (await page.locator('[data-cell]').count()) === 4, 'the cells')
  await press('k', 'k', 'Shift+M')
  await until(async () => (await page.locator('[data-cell]').count()) === 3, 'the merged cell')
  await press('h')
  await page.getByRole('dialog', { name: 'Keys' }).waitFor()
  await press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  const { cells } = await bed.saved('keys.ipynb', (cells) => cells.length === 3 && sources(cells)[1].includes('Title'))
  assert.deepEqual(sources(cells), ['a = 1', 'b = a + 1\n\n# Title print(b)', '# Title print(b)'])
})

test('deleted cells are restored, and the kernel completes and explains', async () => {
  bed.write('help.ipynb', notebook(code('a', 'alphabet = 1'), code('b', 'alph')))
  const page = await bed.open('help.ipynb')
  await cell(page, 'a').locator('.run').click({ force: true })
  await cell(page, 'a').locator('.standing.ok').waitFor()
  await edit(page, 'b')
  await page.keyboard.press('Tab')
  await page.locator('.cm-tooltip-autocomplete').getByText('alphabet').waitFor()
  await page.keyboard.press('Enter')
  await until(async () => (await text(page, 'b')) === 'alphabet', 'the name')
  await page.keyboard.press('Shift+Tab')
  await page.locator('.documentation').waitFor()
  await page.keyboard.press('Escape')
  await page.locator('.documentation').waitFor({ state: 'detached' })
  await page.keyboard.press('Escape')
  await page.keyboard.press('d')
  await page.keyboard.press('d')
  await cell(page, 'b').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Restore' }).click()
  await cell(page, 'b').waitFor()
  assert.equal(await text(page, 'b'), 'alphabet')
})

test('markup that acts is kept from the page, the cookie and the network', async () => {
  const hostile = `<p>hostile</p><script>
    const tried = {}
    const attempt = (name, what) => { try { tried[name] = String(what()) } catch (error) { tried[name] = 'blocked' } }
    attempt('parent', () => parent.document.body.innerHTML)
    attempt('cookie', () => document.cookie)
    attempt('storage', () => localStorage.length)
    attempt('top', () => { top.location = 'http://evil.test/' })
    attempt('popup', () => window.open('http://evil.test/') ?? 'blocked')
    attempt('socket', () => { const socket = new WebSocket('ws://' + 'PORT' + '/socket'); socket.onerror = () => {}; return 'made' })
    fetch('http://PORT/session').then(() => { tried.fetch = 'reached' }, () => { tried.fetch = 'blocked' }).finally(() => {
      const told = document.createElement('pre')
      told.id = 'tried'
      told.textContent = JSON.stringify(tried)
      document.body.append(told)
    })
  </script>`.replaceAll('PORT', `127.0.0.1:${bed.port}`)
  const inline = '<img src=x onerror="document.title=1"><a href="javascript:alert(1)">link</a>'
  const shows = (id, data) => ({ ...code(id, ''), outputs: [{ output_type: 'display_data', metadata: {}, data }] })
  bed.write('hostile.ipynb', notebook(
    shows('a', { 'text/html': hostile }),
    markdown('m', `${inline}\n\n<script>document.title = 2</script>\n\n[x](javascript:alert(2)) $\\href{javascript:alert(3)}{y}$`),
    shows('s', { 'image/svg+xml': '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="parent.document.title=3"><script>document.title=4</script></svg>' }),
  ))
  const page = await bed.open('hostile.ipynb')
  const inside = page.frameLocator('.frame').locator('body')
  await inside.locator('#tried').waitFor()
  const tried = JSON.parse(await inside.locator('#tried').textContent())
  assert.deepEqual({ parent: tried.parent, storage: tried.storage, popup: tried.popup, fetch: tried.fetch }, { parent: 'blocked', storage: 'blocked', popup: 'blocked', fetch: 'blocked' })
  assert.ok(tried.cookie === 'blocked' || tried.cookie === '', tried.cookie)
  assert.equal(new URL(page.url()).hostname, '127.0.0.1')
  assert.equal(await page.title(), 'hostile.ipynb · cellist')
  assert.equal(await page.locator('main script, main [onerror], main [onload], main a[href^=javascript]').count(), 0)
  bed.complaints = bed.complaints.filter((line) => !/sandbox|Content Security Policy|Blocked opening|Unsafe attempt/i.test(line))
})

test('foreign names, foreign pages and links that were used are turned away', async () => {
  const base = `http://127.0.0.1:${bed.port}`
  const link = bed.link()
  const get = async (address, headers = {}) => (await fetch(address, { headers, redirect: 'manual' })).status
  assert.equal(await get(`${base}/`), 401)
  assert.equal(await get(link), 303)
  assert.equal(await get(link), 401)
  assert.equal(await get(`${base}/output?path=/etc/passwd`), 401)
  assert.equal(await get(`${base}/session`, { origin: 'http://evil.test' }), 403)
  const page = await bed.context.newPage()
  const answer = await page.goto(`http://evil.test:${bed.port}/`)
  assert.equal(answer.status(), 421)
  await page.goto(bed.link())
  const refused = await page.evaluate((port) => new Promise((resolve) => {
    const socket = new WebSocket(`ws://evil.test:${port}/socket`)
    socket.onopen = () => resolve(false)
    socket.onerror = () => resolve(true)
  }), bed.port).catch(() => true)
  assert.equal(refused, true)
})

test('notebooks are listed and made', async () => {
  const page = await bed.open()
  await page.getByRole('textbox', { name: 'Name of a new notebook' }).fill('fresh')
  await page.getByRole('button', { name: 'New notebook' }).click()
  await page.getByRole('heading', { name: 'fresh.ipynb' }).waitFor()
  await page.locator('[data-cell]').waitFor()
  await page.getByRole('button', { name: 'Notebooks' }).click()
  await page.getByRole('link', { name: 'fresh.ipynb' }).waitFor()
})

test('a notebook of 1,000 cells is ready, and has few editors', async () => {
  const cells = Array.from({ length: 1000 }, (_, at) => at % 5 === 4 ? markdown(`m${at}`, `## Part ${at}`) : code(`c${at}`, `value_${at} = ${at}\nprint(value_${at})`))
  bed.write('large.ipynb', notebook(...cells))
  const page = await bed.open('large.ipynb')
  await until(async () => (await page.locator('[data-cell]').count()) === 1000, 'the cells')
  assert.ok((await page.locator('.cm-editor').count()) < 40)
  await cell(page, 'c997').scrollIntoViewIfNeeded()
  await edit(page, 'c997')
  await page.keyboard.type(' # end')
  await bed.saved('large.ipynb', (saved) => source(saved[997].source).endsWith(' # end'))
  await page.keyboard.press('Escape')
  assert.equal(await page.evaluate(() => (getSelection().removeAllRanges(), window.find('value_500 =', false, true))), true)
})

const PENGUINS = [
  markdown('intro', '# Penguins\n\nBody mass against flipper length, with a fit $m = a\\,l + b$ per species:\n\n$$\\hat m = \\arg\\min_{a,b} \\sum_i (m_i - a\\,l_i - b)^2$$'),
  code('load', 'import numpy as np\nimport pandas as pd\n\nrng = np.random.default_rng(7)\nspecies = rng.choice(["Adelie", "Chinstrap", "Gentoo"], 240)\nflipper = rng.normal({"Adelie": 190, "Chinstrap": 196, "Gentoo": 217}[species[0]], 9, 240)\npenguins = pd.DataFrame({"species": species, "flipper": flipper, "mass": 52 * flipper - 5600 + rng.normal(0, 280, 240)})\npenguins.groupby("species").agg(n=("mass", "size"), mass=("mass", "mean"), flipper=("flipper", "mean")).round(1)'),
  code('steps', 'from IPython.display import JSON, display\nprint("\\x1b[32mok\\x1b[0m loaded", len(penguins), "rows, \\x1b[33m2 warnings\\x1b[0m")\nfor step in range(0, 101, 25):\n    print(f"\\rfitting {step}%", end="")\nprint()\nJSON({"model": "ols", "params": {"a": 52.1, "b": -5600}, "n": len(penguins)})'),
  code('plot', 'import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.scatter(penguins.flipper, penguins.mass, s=8)\nplt.show()'),
  code('fails', 'penguins["mas"].mean()'),
]

async function showcase(name, options) {
  const path = bed.write(name, notebook(...structuredClone(PENGUINS)))
  const page = await bed.open(name, options)
  await page.getByRole('button', { name: 'Run all' }).click()
  await cell(page, 'fails').locator('.outputs .error').waitFor()
  await cell(page, 'plot').locator('.outputs img').waitFor()
  const agent = await Agent.join(bed, 'Claude')
  const plot = 'import matplotlib.pyplot as plt\nfig, ax = plt.subplots(figsize=(6, 2.5))\nax.scatter(penguins.flipper, penguins.mass, s=8)\nax.set_xlabel("flipper length, mm")\nax.set_ylabel("mass, g")\nplt.show()'
  await agent.edit(path, [{ action: 'edit', cell: 'plot', content: plot }, { action: 'edit', cell: 'fails', content: 'penguins["mass"].mean()' }], { turn: 'turn' })
  await page.getByText('2 changes').waitFor()
  return { page, agent }
}

for (const theme of ['light', 'dark']) {
  test(`nothing in the way of anyone, in ${theme}`, async () => {
    const { page, agent } = await showcase(`penguins-${theme}.ipynb`, { dark: theme === 'dark', size: { width: 1360, height: 1100 } })
    await cell(page, 'plot').locator('.cm-deletedChunk').first().waitFor()
    await page.evaluate(readFileSync(axe, 'utf8'))
    const found = await page.evaluate(async () => {
      const { violations } = await window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice'] })
      return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.target} ${node.failureSummary}`).join(' | ')}`)
    })
    assert.deepEqual(found, [])
    if (SHOTS) {
      await cell(page, 'load').evaluate((element) => element.scrollIntoView({ block: 'start' }))
      await page.mouse.move(1300, 600)
      await page.waitForFunction(() => [...document.images].every((image) => image.complete))
      await page.screenshot({ path: `${SHOTS}/page-${theme}.png`, animations: 'disabled' })
    }
    agent.leave()
  })
}
