// A real host, a real browser, and an agent.

import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, connect as connectTcp } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const here = dirname(fileURLToPath(import.meta.url))
export const target = process.env.CELLIST_TARGET ?? join(here, '../../target')
export const program = process.env.CELLIST_PROGRAM ?? join(target, 'debug/cellist')
const python = join(target, 'python/kernels/bin')

export const SHOTS = process.env.CELLIST_SHOTS
/** Generous, for loaded machines; no test measures time by it. */
export const LONG = 60_000

export const source = (lines) => (Array.isArray(lines) ? lines.join('') : lines)
export const code = (id, text) => ({
  cell_type: 'code',
  id,
  metadata: {},
  source: text,
  execution_count: null,
  outputs: [],
})
export const markdown = (id, text) => ({ cell_type: 'markdown', id, metadata: {}, source: text })
const kernelspec = { display_name: 'Python 3', language: 'python', name: 'python3' }
export const notebook = (...cells) => ({
  cells,
  metadata: { kernelspec, language_info: { name: 'python' } },
  nbformat: 4,
  nbformat_minor: 5,
})

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

/** Waits until a condition holds. */
export async function until(holds, what = 'it') {
  const end = Date.now() + LONG
  for (;;) {
    const found = await holds()
    if (found) return found
    if (Date.now() > end) throw new Error(`${typeof what === 'function' ? what() : what} did not come`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export class Bed {
  /** Connected agents. */
  agents = []
  /** Messages of the browser's console. */
  complaints = []
  /** Whether a test has killed the host. */
  wasKilled = false

  async start() {
    this.folder = mkdtempSync(join(tmpdir(), 'cellist-page-'))
    this.home = join(this.folder, 'home')
    this.work = join(this.folder, 'work')
    mkdirSync(this.home)
    mkdirSync(this.work)
    this.port = await freePort()
    this.environment = {
      HOME: this.folder,
      USER: 'ann',
      LANG: 'C.UTF-8',
      CELLIST_HOME: this.home,
      CELLIST_PYTHON_BACKEND: 'runner',
      PATH: `${python}:/usr/bin:/bin`,
      MPLBACKEND: 'module://matplotlib_inline.backend_inline',
    }
    await this.serve()
    const profile = join(this.folder, 'browser')
    this.context = await chromium.launchPersistentContext(profile, {
      executablePath: '/usr/bin/chromium',
      headless: true,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--disable-dev-shm-usage',
        '--host-resolver-rules=MAP evil.test 127.0.0.1',
      ],
      viewport: { width: 1280, height: 900 },
    })
    this.context.setDefaultTimeout(LONG)
    // Serves the page's files from disk during development.
    if (process.env.CELLIST_WEB) {
      for (const name of ['main.js', 'chunk.js', 'chat.js', 'main.css', 'katex.js']) {
        await this.context.route(`**/${name}`, (route) =>
          route.fulfill({ path: join(process.env.CELLIST_WEB, name) }),
        )
      }
    }
  }

  /** Closes all windows, and disconnects all agents. */
  async clear() {
    for (const agent of this.agents.splice(0)) await agent.leave()
    for (const page of this.context.pages()) await page.close()
    this.wasKilled = false
    return this.complaints.splice(0)
  }

  /** Starts the host, and waits until its page responds. */
  async serve() {
    this.host = spawn(program, ['serve', '--port', String(this.port)], {
      cwd: this.work,
      env: this.environment,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    // Leave no process behind, however the tests end.
    const { host } = this
    const end = () => host.kill('SIGKILL')
    process.once('exit', end)
    host.once('exit', () => process.off('exit', end))
    this.log = ''
    this.host.stderr.on('data', (data) => (this.log += data))
    this.ended = new Promise((resolve) => this.host.once('exit', resolve))
    await until(
      () =>
        new Promise((resolve) => {
          const socket = connectTcp(this.port, '127.0.0.1')
          socket.once('connect', () => (socket.destroy(), resolve(true)))
          socket.once('error', () => resolve(false))
        }),
      `the page (${this.log})`,
    )
  }

  /** Kills the host. Pages log that it is unreachable, some of them late, until the test ends. */
  async kill() {
    this.wasKilled = true
    this.host.kill('SIGKILL')
    await this.ended
  }

  run(...args) {
    const ran = spawnSync(program, args, { cwd: this.work, env: this.environment, encoding: 'utf8' })
    if (ran.status !== 0) throw new Error(`cellist ${args.join(' ')}: ${ran.stderr}${this.log}`)
    return ran.stdout
  }

  write(name, content) {
    writeFileSync(join(this.work, name), `${JSON.stringify(content, null, 1)}\n`)
    return join(this.work, name)
  }

  /** The notebook on disk. */
  read(name) {
    return JSON.parse(readFileSync(join(this.work, name), 'utf8'))
  }

  /** The notebook on disk, once it satisfies a condition. */
  async saved(name, isSo) {
    return await until(() => {
      try {
        const content = this.read(name)
        return isSo(content.cells) ? content : null
      } catch {
        return null
      }
    }, `${name} on disk`)
  }

  link(name) {
    return JSON.parse(this.run('open', '--no-browser', '--json', ...(name ? [name] : []))).link
  }

  /** A signed-in window with a notebook. */
  async open(name, options = {}) {
    const page = await this.context.newPage()
    if (options.size) await page.setViewportSize(options.size)
    if (options.dark) await page.emulateMedia({ colorScheme: 'dark' })
    page.on('console', (message) => {
      const isExpected = /WebSocket connection|ERR_CONNECTION|net::ERR|Failed to load resource/.test(
        message.text(),
      )
      if (message.type() === 'error' && !(isExpected && this.wasKilled)) this.complaints.push(message.text())
    })
    page.on('pageerror', (error) => this.complaints.push(String(error)))
    await page.goto(this.link(name))
    if (name) await page.locator('.saved.open').waitFor()
    return page
  }

  async stop() {
    await this.context?.close()
    this.host?.kill('SIGTERM')
    await this.ended
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** A cell of a page. */
export const cell = (page, id) => page.locator(`[data-cell="${id}"]`)
export const text = async (page, id) =>
  await cell(page, id).evaluate((element) => {
    const content = element.querySelector('.cm-content')
    if (!content) return element.querySelector('.still').textContent.replace(/\n$/, '')
    return [...content.querySelectorAll('.cm-line')].map((line) => line.textContent).join('\n')
  })

/** Focuses the editor of a cell, with the cursor at its end. */
export async function edit(page, id) {
  await cell(page, id)
    .locator('.source')
    .click({ position: { x: 60, y: 12 } })
  await page.keyboard.press('Control+End')
}
