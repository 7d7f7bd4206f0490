// What the rules for everyone's use find on a page.

import { fileURLToPath } from 'node:url'

/** The script that knows the rules; a page runs it first. */
export const axe = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))

/** What axe finds serious. */
export const faults = (page) =>
  page.evaluate(async () => {
    // What is about to change its colour is looked at when it has; what turns for ever is not waited for.
    const ends = document
      .getAnimations()
      .filter((one) => Number.isFinite(one.effect?.getComputedTiming().endTime))
    await Promise.allSettled(ends.map((one) => one.finished))
    const { violations } = await window.axe.run(document, {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice'],
    })
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(
        ({ id, nodes }) =>
          `${id}: ${nodes.map((node) => `${node.target} ${node.failureSummary}`).join(' | ')}`,
      )
  })
