// Outputs other than plain text.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cell, code, notebook, until } from '../kit.mjs'
import { bed } from './bed.mjs'

/** Opens a notebook of these cells and runs all of them. */
async function ran(name, ...cells) {
  bed.write(name, notebook(...cells))
  const page = await bed.open(name)
  await page.getByRole('button', { name: 'Run all' }).click()
  await cell(page, cells.at(-1).id).locator('.run-state.ok').waitFor()
  return page
}

test("a Plotly figure is drawn in a frame by the kernel's package", async () => {
  const page = await ran(
    'plotly.ipynb',
    code(
      'p',
      'import plotly.graph_objects as go\ngo.Figure(go.Bar(x=["a", "b"], y=[1, 3]), layout={"title": {"text": "Bars"}})',
    ),
  )
  const frame = page.frameLocator('[data-cell="p"] .frame')
  await frame.locator('.plot-container .bars .point').nth(1).waitFor()
  await frame.getByText('Bars', { exact: true }).waitFor()
  assert.equal(await cell(page, 'p').locator('.frame').getAttribute('sandbox'), 'allow-scripts')
  // The frame is as high as its content.
  await until(
    () =>
      cell(page, 'p')
        .locator('.frame')
        .evaluate((element) => element.clientHeight >= 300),
    'the height',
  )
})

test('tables, formulas, images, JSON and coloured text are rendered', async () => {
  const show = (id, data) =>
    code(id, `from IPython.display import display\ndisplay(${JSON.stringify(data)}, raw=True)`)
  const page = await ran(
    'kinds.ipynb',
    code('table', 'import pandas as pd\npd.DataFrame({"name": ["x", "y"], "value": [1, 2]})'),
    show('latex', { 'text/latex': '$$\\int_0^1 x^2 dx$$', 'text/plain': 'integral' }),
    show('svg', {
      'image/svg+xml':
        '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect width="40" height="20" fill="teal"/></svg>',
      'text/plain': 'a box',
    }),
    show('markdown', { 'text/markdown': '**bold** and `code`\n\n```python\nimport this\n```' }),
    show('json', { 'application/json': { list: [1, { deep: 'value' }], name: 'x' } }),
    code(
      'term',
      'print("\\x1b[31mred\\x1b[0m and plain")\nfor step in range(3): print(f"\\r{step} of 2", end="")',
    ),
  )
  await cell(page, 'table').locator('.outputs table td').getByText('2', { exact: true }).waitFor()
  assert.equal(await cell(page, 'table').locator('.frame').count(), 0)
  await cell(page, 'latex').locator('.outputs .katex').waitFor()
  const picture = cell(page, 'svg').locator('.outputs img')
  await until(() => picture.evaluate((image) => image.complete && image.naturalWidth === 40), 'the picture')
  assert.equal(await picture.getAttribute('alt'), 'a box')
  await cell(page, 'markdown').locator('.outputs strong').getByText('bold').waitFor()
  assert.equal(await cell(page, 'markdown').locator('.outputs pre .tok-keyword').textContent(), 'import')
  const tree = cell(page, 'json').locator('.outputs .tree').first()
  await tree.getByText('list', { exact: false }).first().click()
  await tree.locator('details details > summary').click()
  await tree.getByText('"value"').waitFor()
  assert.equal(await cell(page, 'term').locator('.outputs .ansi-red').textContent(), 'red')
  assert.equal(await cell(page, 'term').locator('.outputs').textContent(), 'red and plain\n2 of 2')
})

test('large outputs are folded, with a link to all of them', async () => {
  const page = await ran('long.ipynb', code('long', 'for line in range(60_000): print("line", line)'))
  const output = cell(page, 'long').locator('.outputs')
  const link = output.locator('a.fold')
  await link.waitFor()
  assert.ok((await output.textContent()).length < 200_000)
  await output.getByText('line 59999').waitFor()
  const [whole] = await Promise.all([bed.context.waitForEvent('page'), link.click()])
  await until(
    async () => (await whole.evaluate(() => document.body.innerText)).includes('line 30000\n'),
    'the middle',
  )
  // Tall outputs are cut until they are expanded.
  const button = cell(page, 'long').getByRole('button', { name: 'Show all' })
  await button.click()
  await until(() => output.evaluate((element) => element.clientHeight > 2000), 'all of it')
  await cell(page, 'long').getByRole('button', { name: 'Show less' }).click()
  await until(() => output.evaluate((element) => element.clientHeight < 700), 'less of it')
})
