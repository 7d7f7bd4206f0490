// Appearance and accessibility.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { cell, code, markdown, SHOTS, until } from '../kit.mjs'
import { says } from '../models.mjs'
import { account, answered, models, say, talkAbout } from './assistant.mjs'
import { axe, faults } from './axe.mjs'

const PENGUINS = [
  markdown(
    'intro',
    '# Penguins\n\nBody mass against flipper length, with a fit $m = a\\,l + b$ per species:\n\n$$\\hat m = \\arg\\min_{a,b} \\sum_i (m_i - a\\,l_i - b)^2$$',
  ),
  code(
    'load',
    'import numpy as np\nimport pandas as pd\n\nrng = np.random.default_rng(7)\nmean = {"Adelie": 190, "Chinstrap": 196, "Gentoo": 217}\nspecies = rng.choice(list(mean), 240)\nflipper = rng.normal([mean[name] for name in species], 6)\nmass = 52 * flipper - 5600 + rng.normal(0, 280, 240)\npenguins = pd.DataFrame({"species": species, "flipper": flipper, "mass": mass})\npenguins.groupby("species").mean().round(1)',
  ),
  code(
    'steps',
    'from IPython.display import JSON, display\nprint("\\x1b[32mok\\x1b[0m loaded", len(penguins), "rows, \\x1b[33m2 warnings\\x1b[0m")\nfor step in range(0, 101, 25):\n    print(f"\\rfitting {step}%", end="")\nprint()\nJSON({"model": "ols", "params": {"a": 52.1, "b": -5600}, "n": len(penguins)})',
  ),
  code(
    'plot',
    'import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.scatter(penguins.flipper, penguins.mass, s=8)\nplt.show()',
  ),
  code('fails', 'penguin["mass"].mean()'),
]

const PLOT =
  'import matplotlib.pyplot as plt\nfig, ax = plt.subplots(figsize=(6, 2.5))\nax.scatter(penguins.flipper, penguins.mass, s=8)\nax.set_xlabel("flipper length, mm")\nax.set_ylabel("mass, g")\nplt.show()'

/** A notebook that the assistant was asked to fix. */
async function showcase(name, options) {
  account({ model: 'claude-sonnet' })
  const page = await talkAbout(name, structuredClone(PENGUINS), options)
  await page.getByRole('button', { name: 'Run all' }).click()
  await cell(page, 'fails').locator('.outputs .error').waitFor()
  await cell(page, 'plot').locator('.outputs img').waitFor()
  await models.say(
    { ...says('I look at both cells first.'), calls: [['get_notebook_cells', { cells: ['plot', 'fails'] }]] },
    {
      ...says('The error in `fails` is a typo: the frame is called `penguins`.'),
      calls: [
        ['update_notebook_cell', { cell: 'plot', content: PLOT, run: true }],
        ['update_notebook_cell', { cell: 'fails', content: 'penguins["mass"].mean()' }],
      ],
    },
    says(
      'The axes of `plot` have **names** now, and it is wide enough to see the three groups. To keep it as a file:\n\n```python\nfig.savefig("penguins.png", dpi=200)\n```\n',
    ),
  )
  await say(page, 'Agent', 'Fix the failing cell, and make the plot readable.')
  const turn = await answered(page, 'To keep it as a file')
  await turn.locator('.usage').waitFor()
  await until(
    () =>
      cell(page, 'plot')
        .locator('.outputs img')
        .evaluate((image) => image.naturalWidth > 2 * image.naturalHeight),
    'the new plot',
  )
  await page.locator('.dock').getByText('2 changes').waitFor()
  return page
}

for (const theme of ['light', 'dark']) {
  test(`the page is accessible, in ${theme}`, async () => {
    const page = await showcase(`penguins-${theme}.ipynb`, {
      dark: theme === 'dark',
      size: { width: 1360, height: 1100 },
    })
    await cell(page, 'plot').locator('.cm-deletedChunk').first().waitFor()
    await page.evaluate(readFileSync(axe, 'utf8'))
    assert.deepEqual(await faults(page), [])
    // The focus returns to the notebook.
    await page.keyboard.press('Escape')
    for (const keys of ['h', 'Shift+H', 'Control+Shift+c']) {
      await page.keyboard.press(keys)
      await page.getByRole('dialog').locator('kbd, .turns li').first().waitFor()
      assert.deepEqual(await faults(page), [], keys)
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    if (SHOTS) {
      await cell(page, 'steps').evaluate((element) => element.scrollIntoView({ block: 'start' }))
      await page.locator('main').evaluate((main) => {
        main.scrollBy({ top: -14 })
        document.activeElement.blur()
      })
      await page.mouse.move(1300, 600)
      await page.locator('.toast').waitFor({ state: 'detached' })
      await page.waitForFunction(() => [...document.images].every((image) => image.complete))
      await page.screenshot({ path: `${SHOTS}/page-${theme}.png`, animations: 'disabled' })
    }
  })
}
