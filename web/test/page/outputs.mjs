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

test('spans, sizes, list numbers and drawings survive sanitizing', async () => {
  const show = (id, html) => code(id, `from IPython.display import HTML\nHTML(${JSON.stringify(html)})`)
  const page = await ran(
    'markup.ipynb',
    code(
      'multi',
      [
        'import pandas as pd',
        'rows = pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["letter", "number"])',
        'columns = pd.MultiIndex.from_product([["fare"], ["mean", "max"]])',
        'pd.DataFrame([[1, 2], [3, 4], [5, 6], [7, 8]], index=rows, columns=columns)',
      ].join('\n'),
    ),
    code('plain', 'pd.DataFrame({"n": [1]})'),
    show('list', '<ol start="7"><li>seven</li></ol>'),
    show(
      'drawing',
      '<svg width="60" height="30" viewBox="0 0 60 30"><rect x="10" y="5" width="40" height="20" fill="teal"/></svg>',
    ),
    show(
      'remote',
      '<svg width="60" height="30"><rect width="40" height="20" fill="url(https://example.com/a.svg#b)"/></svg>',
    ),
  )
  const table = cell(page, 'multi').locator('.outputs table')
  assert.equal(await table.locator('th[colspan="2"]').getByText('fare').count(), 1)
  assert.equal(await table.locator('th[rowspan="2"]').count(), 2)
  assert.equal(await cell(page, 'plain').locator('thead tr').getAttribute('align'), 'right')
  assert.equal(await cell(page, 'list').locator('ol').getAttribute('start'), '7')
  const box = await cell(page, 'drawing').locator('rect').boundingBox()
  assert.deepEqual([Math.round(box.width), Math.round(box.height)], [40, 20])
  assert.equal(await cell(page, 'drawing').locator('rect').getAttribute('fill'), 'teal')
  assert.equal(await cell(page, 'remote').locator('rect').getAttribute('fill'), null)
  for (const id of ['multi', 'plain', 'list', 'drawing', 'remote'])
    assert.equal(await cell(page, id).locator('.frame').count(), 0, id)
})

test('styled markup and leading scripts go into a frame, dark on a dark page', async () => {
  const show = (id, html) => code(id, `from IPython.display import HTML\nHTML(${JSON.stringify(html)})`)
  const page = await ran(
    'styled.ipynb',
    show(
      'styler',
      '<style type="text/css">#T_1_row0 { background-color: teal; }</style><table id="T_1"><tr><td id="T_1_row0">2</td></tr></table>',
    ),
    show('inline', '<b style="color: rgb(200, 0, 0)">red</b>'),
    show('script', '<script>document.body.append("added")</script><b>bold</b>'),
    show(
      'gradient',
      '<svg width="60" height="30"><defs><linearGradient id="g"><stop stop-color="red"/></linearGradient></defs><rect width="60" height="30" fill="url(#g)"/></svg>',
    ),
  )
  const frame = (id) => page.frameLocator(`[data-cell="${id}"] .frame`)
  const style = (locator, name) => locator.evaluate((element, name) => getComputedStyle(element)[name], name)
  const most = frame('styler').locator('td').getByText('2', { exact: true })
  assert.equal(await style(most, 'backgroundColor'), 'rgb(0, 128, 128)')
  assert.equal(await style(frame('inline').locator('b'), 'color'), 'rgb(200, 0, 0)')
  await frame('script').getByText('added').waitFor()
  await frame('gradient').locator('linearGradient#g').waitFor({ state: 'attached' })
  assert.equal(await style(frame('script').locator('html'), 'backgroundColor'), 'rgb(255, 255, 255)')
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.reload()
  await frame('script').getByText('added').waitFor()
  assert.equal(await style(frame('script').locator('html'), 'backgroundColor'), 'rgb(28, 29, 33)')
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
