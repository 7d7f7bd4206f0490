// The list of keyboard shortcuts, made of the table of key bindings.

import { type Binding, shownKeys, table } from '../keys/table'
import { sheet } from '../state/view'
import { Dialog } from './Dialog'

/** The name in the help; similar bindings share a line. */
const lineOf = (binding: Binding) => binding.name.replace(/ \d$/, '')

export function Help() {
  const groups = new Map<string, Map<string, string[]>>()
  for (const binding of table) {
    const lines = groups.get(binding.group) ?? new Map<string, string[]>()
    groups.set(
      binding.group,
      lines.set(lineOf(binding), [...(lines.get(lineOf(binding)) ?? []), binding.keys]),
    )
  }
  return (
    <Dialog title="Keyboard shortcuts" onClose={() => (sheet.value = null)}>
      <div class="help">
        {[...groups].map(([group, lines]) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {[...lines].map(([name, all]) => (
                <div key={name}>
                  <dt>
                    {all.map((keys) => (
                      <kbd key={keys}>{shownKeys(keys)}</kbd>
                    ))}
                  </dt>
                  <dd>{name}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  )
}
