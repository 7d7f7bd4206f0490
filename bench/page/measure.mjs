// Measures the page in a real browser: bytes loaded, the cost of a large notebook, and the latency of keys
// and remote changes. Prints one JSON object.

import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { brotliCompressSync } from 'node:zlib'

const here = dirname(fileURLToPath(import.meta.url))
const web = join(here, '../../web')
const { Bed, code, edit, markdown, notebook, source } = await import(pathToFileURL(join(web, 'test/kit.mjs')))
const { Agent } = await import(pathToFileURL(join(web, 'test/agent.mjs')))
const { build } = createRequire(join(web, 'package.json'))('esbuild')

const LOADS = 7
const KEYS = 60
const CHANGES = 40

const median = (values) => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]

/** 1,000 typical cells: 800 code cells, some with text and 100 with an image, and 200 Markdown cells. */
function large() {
  const cells = Array.from({ length: 1000 }, (_, at) => {
    if (at % 5 === 4)
      return markdown(
        `m${at}`,
        `## Part ${at}\n\nSome words on *what* is done here, and **why**: see \`f_${at}\`.`,
      )
    const made = code(
      `c${at}`,
      `def f_${at}(x):\n    """Step ${at}."""\n    return x + ${at}\n\nprint(f_${at}(1))`,
    )
    made.execution_count = at + 1
    if (at % 8 === 0) {
      const noise = Buffer.from(Array.from({ length: 6000 }, (_, byte) => (byte * 7919 + at * 104729) % 256))
      const picture = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), noise]).toString('base64')
      made.outputs = [
        {
          output_type: 'display_data',
          metadata: {},
          data: { 'image/png': picture, 'text/plain': '<Figure>' },
        },
      ]
    } else {
      made.outputs = [{ output_type: 'stream', name: 'stdout', text: `${at + 1}\n` }]
    }
    return made
  })
  return notebook(...cells)
}

/** A figure of the browser's main thread, in seconds or bytes. */
async function metrics(session) {
  const { metrics } = await session.send('Performance.getMetrics')
  return Object.fromEntries(metrics.map(({ name, value }) => [name, value]))
}

/** The cost of loading a notebook: main-thread time, and memory at rest. */
async function load(bed, name) {
  const page = await bed.context.newPage()
  const session = await bed.context.newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const link = bed.link(name)
  const before = await metrics(session)
  await page.goto(link)
  await page.waitForFunction(
    () => document.querySelectorAll('[data-cell]').length === 1000 && document.querySelector('.saved.open'),
  )
  // Deferred work counts too.
  await page.evaluate(() => new Promise((resolve) => requestIdleCallback(() => requestIdleCallback(resolve))))
  const after = await metrics(session)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await page.close()
  return { cpu_ms: (after.TaskDuration - before.TaskDuration) * 1000, heap_bytes: usedSize }
}

/** The scripts of a first load, compressed as well as possible. */
async function scripts(bed, name) {
  const page = await bed.context.newPage()
  const fetched = []
  page.on('response', (response) => {
    if (response.request().resourceType() === 'script') fetched.push(response.body())
  })
  await page.goto(bed.link(name))
  await page.locator('.saved.open').waitFor()
  // The assistant loads after the notebook.
  await page.getByRole('textbox', { name: 'Message' }).waitFor()
  const packed = (await Promise.all(fetched)).map((body) => brotliCompressSync(body).length)
  await page.close()
  return packed.reduce((sum, bytes) => sum + bytes, 0)
}

/** The time from a key press to the frame that shows the letter, in the page with the focus. */
async function keys(page) {
  await page.evaluate(() => {
    window.frames_ = []
    addEventListener(
      'keydown',
      () => {
        const pressed = performance.now()
        const channel = new MessageChannel()
        channel.port1.onmessage = () => window.frames_.push(performance.now() - pressed)
        // A message posted within a frame arrives after the frame is drawn.
        requestAnimationFrame(() => channel.port2.postMessage(null))
      },
      { capture: true },
    )
  })
  for (let key = 0; key < KEYS; key++) {
    await page.keyboard.press('x')
    await page.waitForFunction((count) => window.frames_.length === count, key + 1)
  }
  return median((await page.evaluate(() => window.frames_)).slice(10))
}

async function bare(bed, text) {
  const { outputFiles } = await build({
    entryPoints: [join(here, 'bare.js')],
    nodePaths: [join(web, 'node_modules')],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
  })
  const page = await bed.context.newPage()
  await page.addInitScript((text) => (window.text = text), text)
  await page.route('http://bare.test/', (route) =>
    route.fulfill({ contentType: 'text/html', body: '<!doctype html><body></body>' }),
  )
  await page.goto('http://bare.test/')
  await page.addScriptTag({ content: outputFiles[0].text })
  return page
}

/** The time from an agent's call to the frame that shows its change. */
async function change(page, agent, path, round) {
  const look = (text) =>
    document.querySelector('[data-cell="c0"]').textContent.includes(text) &&
    performance.timeOrigin + performance.now()
  const begun = Date.now()
  const [seen] = await Promise.all([
    page.waitForFunction(look, `round_${round};`, { polling: 'raf' }),
    agent.update(path, 'c0', `round_${round};\nprint(1)`),
  ])
  return (await seen.jsonValue()) - begun
}

const bed = new Bed()
try {
  await bed.start()
  const path = bed.write('large.ipynb', large())
  bed.write('small.ipynb', notebook(code('a', 'x = 1'), markdown('m', 'Words.')))
  const packed = await scripts(bed, 'small.ipynb')
  await load(bed, 'large.ipynb')
  const loads = []
  for (let round = 0; round < LOADS; round++) loads.push(await load(bed, 'large.ipynb'))

  const text = large().cells[2].source
  const [ours, floors] = [[], []]
  for (let round = 0; round < 5; round++) {
    const floor = await bare(bed, text)
    floors.push(await keys(floor))
    await floor.close()
    const page = await bed.open('large.ipynb')
    await edit(page, 'c2')
    ours.push(await keys(page))
    await page.close()
  }

  const page = await bed.open('large.ipynb')
  const agent = await Agent.join(bed, 'Bench')
  await agent.read(path, 'c0')
  const changes = []
  for (let round = 0; round < CHANGES; round++) changes.push(await change(page, agent, path, round))
  await bed.saved('large.ipynb', (cells) => source(cells[0].source).startsWith(`round_${CHANGES - 1};`))

  console.log(
    JSON.stringify({
      script_bytes: packed,
      cpu_ms: median(loads.map((one) => one.cpu_ms)),
      heap_bytes: median(loads.map((one) => one.heap_bytes)),
      key_ms: median(ours),
      bare_key_ms: median(floors),
      key_ratio: median(ours.map((one, round) => one / floors[round])),
      change_ms: median(changes),
    }),
  )
} finally {
  await bed.clear()
  await bed.stop()
}
