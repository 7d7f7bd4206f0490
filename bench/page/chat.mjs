// Measures the assistant in a real browser: the time from a chunk at the provider to the frame that shows it,
// and the host's memory after an answer with many calls. Prints one JSON object.

import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const web = join(dirname(fileURLToPath(import.meta.url)), '../../web')
const { Bed, code, markdown, notebook, until } = await import(pathToFileURL(join(web, 'test/kit.mjs')))
const { Models, calls, paced, says } = await import(pathToFileURL(join(web, 'test/models.mjs')))

const ANSWERS = 5
const PIECES = 80
/** The speed of fast models; a chunk is a little longer than a word. */
const PACE_MS = 25
const CALLS = 200
const LINES = 60
const [WARM, COUNTED] = [3, 4]

const at = (values, share) =>
  values.toSorted((one, other) => one - other)[Math.min(values.length - 1, Math.floor(values.length * share))]

/** The resident memory of a process. */
const held = (pid) =>
  Number(/^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024

async function say(page, words) {
  const field = page.getByRole('textbox', { name: 'Message' })
  await field.fill(words)
  await field.press('Enter')
}

const ended = (page, words) =>
  page.waitForFunction((words) => {
    const pane = document.querySelector('aside.assistant .conversation')
    return pane?.textContent.includes(words) && pane.getAttribute('aria-busy') !== 'true'
  }, words)

/** The time of each chunk from the provider to the frame that shows it. */
async function streamed(page, models, round) {
  const word = (piece) => `word${round}x${piece};`
  await page.evaluate(
    ({ round, pieces }) => {
      window.shown = Array(pieces).fill(null)
      let next = 0
      const channel = new MessageChannel()
      // A message posted within a frame arrives after the frame is drawn.
      channel.port1.onmessage = ({ data }) => {
        const now = performance.timeOrigin + performance.now()
        for (const piece of data) window.shown[piece] = now
      }
      const look = () => {
        const text =
          document.querySelector('aside.assistant article.turn:last-of-type .answer')?.textContent ?? ''
        const seen = []
        while (next < pieces && text.includes(`word${round}x${next};`)) seen.push(next++)
        if (seen.length > 0) requestAnimationFrame(() => channel.port2.postMessage(seen))
      }
      window.watching?.disconnect()
      window.watching = new MutationObserver(look)
      window.watching.observe(document.querySelector('aside.assistant'), {
        subtree: true,
        childList: true,
        characterData: true,
      })
    },
    { round, pieces: PIECES },
  )
  const from = models.sent.length
  await models.say(paced(says(...Array.from({ length: PIECES }, (_, piece) => `${word(piece)} `)), PACE_MS))
  await say(page, `round ${round}`)
  await page.waitForFunction(() => window.shown.every((time) => time !== null))
  await ended(page, word(PIECES - 1))
  const shown = await page.evaluate(() => window.shown)
  await until(() => models.sent.length >= from + PIECES, 'what was sent')
  return models.sent.slice(from, from + PIECES).map(({ piece, at }) => shown[piece] - at)
}

/** The growth of the host's memory by an answer with many calls, and the size of their results. */
async function called(bed, page, models, words) {
  const pid = bed.host.pid
  const [before, from] = [held(pid), await models.count()]
  await models.say(
    ...Array.from({ length: CALLS }, () => calls(['get_notebook_cells', { cells: ['large'] }])),
    says(`${words}, done.`),
  )
  await say(page, words)
  await ended(page, `${words}, done.`)
  const asked = (await models.count()) - from
  const { messages } = models.asked.at(-1).body
  const results = messages
    .flatMap(({ content }) => (Array.isArray(content) ? content : []))
    .filter(({ type }) => type === 'tool_result')
  const size = results.slice(-CALLS).reduce((sum, result) => sum + JSON.stringify(result.content).length, 0)
  if (asked !== CALLS + 1) throw new Error(`${asked} requests`)
  return { growth: held(pid) - before, size }
}

const bed = new Bed()
let models
try {
  models = await Models.start()
  await bed.start()
  const chat = {
    provider: 'anthropic',
    model: 'scripted',
    base_url: models.url,
    run_code: 'allow',
    max_steps: CALLS + 10,
  }
  writeFileSync(
    join(bed.home, 'config.toml'),
    `[chat]\n${Object.entries(chat)
      .map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`)
      .join('')}`,
  )
  const prose = Array.from(
    { length: LINES },
    (_, line) => `Line ${line} of what a call reads, as long as lines of prose are.`,
  ).join('\n')
  bed.write('chat.ipynb', notebook(code('small', 'x = 1'), markdown('large', prose)))
  bed.write('calls.ipynb', notebook(code('small', 'x = 1'), markdown('large', prose)))

  const page = await bed.open('chat.ipynb')
  await streamed(page, models, 0)
  const took = []
  for (let round = 1; round <= ANSWERS; round++) took.push(...(await streamed(page, models, round)))
  await page.close()

  const other = await bed.open('calls.ipynb')
  // The first answers make room for the largest requests, which later answers reuse. Only the growth by
  // further answers counts.
  const before = held(bed.host.pid)
  for (let round = 0; round < WARM; round++) await called(bed, other, models, `Warm calls ${round}`)
  const room = held(bed.host.pid) - before
  const rounds = []
  for (let round = 0; round < COUNTED; round++)
    rounds.push(await called(bed, other, models, `Calls ${round}`))
  const sum = (name) => rounds.reduce((sum, one) => sum + one[name], 0) / rounds.length
  console.log(
    JSON.stringify({
      median_ms: at(took, 0.5),
      p95_ms: at(took, 0.95),
      room_bytes: room,
      growth_bytes: sum('growth'),
      result_bytes: sum('size'),
    }),
  )
} finally {
  await bed.clear().catch(() => {})
  await bed.stop()
  await models?.stop()
}
