// One host and one browser for all tests of the page.

import assert from 'node:assert/strict'
import { after, afterEach, before } from 'node:test'
import { Bed, source } from '../kit.mjs'

export const bed = new Bed()

before(() => bed.start())
after(() => bed.stop())
afterEach(async () => assert.deepEqual(await bed.clear(), [], 'the console is silent'))

export const sources = (cells) => cells.map((one) => source(one.source))
