// Shared by the tests of the assistant: a scripted provider, the settings that name it, and the pane.

import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, before } from 'node:test'
import { notebook } from '../kit.mjs'
import { Models } from '../models.mjs'
import { bed } from './bed.mjs'

/** The provider's key. It may occur in request headers only. */
export const KEY = 'sk-scripted-0123456789abcdef'

/** The provider of all tests. */
export let models

const config = () => join(bed.home, 'config.toml')

/** Names a provider in the user's settings, which are read with each message. */
export function account(more = {}) {
  const chat = {
    provider: 'anthropic',
    model: 'scripted',
    base_url: models.url,
    api_key: KEY,
    run_code: 'allow',
    ...more,
  }
  writeFileSync(
    config(),
    `[chat]\n${Object.entries(chat)
      .map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`)
      .join('')}`,
  )
}

export const noAccount = () => rmSync(config(), { force: true })

before(async () => {
  models = await Models.start()
  account()
})
after(() => models.stop())
afterEach(async () => {
  account()
  await models.forget()
})

/** The requests since, as one list; each test starts one. */
export async function listen() {
  const from = await models.count()
  return {
    request: async (number) => (await models.request(from + number)).body,
    count: async () => (await models.count()) - from,
  }
}

/** A window with a new notebook and the assistant open. */
export async function talkAbout(name, cells, options = {}) {
  bed.write(name, notebook(...cells))
  const page = await bed.open(name, options)
  // On a narrow screen the pane is closed at first.
  if (options.isHidden) await page.keyboard.press('Control+l')
  await field(page).waitFor()
  return page
}

export const pane = (page) => page.locator('aside.assistant')
export const field = (page) => page.getByRole('textbox', { name: 'Message' })
export const press = (page, name) => pane(page).getByRole('button', { name, exact: true }).click()
export const turns = (page) => pane(page).locator('article.turn')
export const calls = (page, tool) => pane(page).locator(`.call[data-tool="${tool}"]`)

export const choose = (page, mode) => page.getByRole('radio', { name: mode, exact: true }).click()

/** Sends a message in a mode. */
export async function say(page, mode, words) {
  await choose(page, mode)
  await field(page).fill(words)
  await field(page).press('Enter')
}

/** Waits until the newest answer has this text and has ended. */
export async function answered(page, words) {
  const last = turns(page).last()
  if (words) await last.locator('.answer').getByText(words).first().waitFor()
  await pane(page).locator('.conversation:not([aria-busy=true])').waitFor()
  return last
}

/** The input of a model in a request: instructions, last message and tool names. */
export const told = (body) => ({
  instructions: body.system[0].text,
  message: body.messages
    .at(-1)
    .content.map((part) => part.text ?? '')
    .join(''),
  tools: (body.tools ?? []).map(({ name }) => name),
})

/** The tool results in a request. */
export const results = (body) =>
  body.messages
    .at(-1)
    .content.filter(({ type }) => type === 'tool_result')
    .map(({ content, is_error }) => ({
      text: typeof content === 'string' ? content : content.map((part) => part.text ?? '').join(''),
      isFailure: is_error === true,
    }))

/** Whether a request offers tools that change or run a notebook, or only those that read it. */
export function offers(tools, { look, change }) {
  for (const name of ['get_notebook_cells', 'get_cell_outputs'])
    assert.equal(tools.includes(name), look, `${name} of ${tools}`)
  for (const name of ['run_notebook_cells', 'add_notebook_cell', 'update_notebook_cell'])
    assert.equal(tools.includes(name), change, `${name} of ${tools}`)
}
