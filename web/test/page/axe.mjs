// Accessibility checks by axe.

import { fileURLToPath } from 'node:url'

/** The script of axe; a page runs it first. */
export const axe = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))

/** The serious findings of axe. */
export const faults = (page) =>
  page.evaluate(async () => {
    // Wait for transitions of colours to end, but not for endless animations.
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
