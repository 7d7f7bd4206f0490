// The command palette: all key bindings, found by name.

import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { type Binding, shownKeys, table } from '../keys/table'
import { sheet } from '../state/view'
import { Dialog } from './Dialog'

/** Whether the name contains all words. */
const fits = (name: string, wanted: string) =>
  wanted
    .toLowerCase()
    .split(/\s+/)
    .every((word) => name.toLowerCase().includes(word))

export function Palette() {
  const wanted = useSignal('')
  const chosen = useSignal(0)
  /** The command to run when the focus is back. */
  const wish = useRef<Binding | null>(null)
  const commands = [
    ...new Map(table.filter(({ run }) => run).map((binding) => [binding.name, binding])).values(),
  ]
  const found = commands.filter(({ name, group }) => fits(`${group} ${name}`, wanted.value))
  const at = Math.min(chosen.value, found.length - 1)
  const close = () => (sheet.value = null)
  const run = (index: number) => {
    wish.current = found[index] ?? null
    close()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) chosen.value = Math.max(0, Math.min(found.length - 1, at + step))
    else if (event.key === 'Enter') run(at)
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Commands" onClose={close} onClosed={() => wish.current?.run?.()}>
      <div class="palette">
        <input
          role="combobox"
          aria-label="Command"
          aria-expanded="true"
          aria-controls="commands"
          aria-activedescendant={found[at] ? `command-${at}` : undefined}
          placeholder="Type a command"
          autofocus
          value={wanted.value}
          onKeyDown={onKeyDown}
          onInput={(event) => {
            wanted.value = event.currentTarget.value
            chosen.value = 0
          }}
        />
        <ul id="commands" role="listbox" aria-label="Commands">
          {found.map(({ name, keys }, index) => (
            <li
              key={name}
              id={`command-${index}`}
              role="option"
              aria-selected={index === at}
              ref={(element) => {
                if (index === at) element?.scrollIntoView({ block: 'nearest' })
              }}
              onClick={() => run(index)}
            >
              {name}
              <kbd>{shownKeys(keys)}</kbd>
            </li>
          ))}
        </ul>
        {found.length === 0 && <p class="faint">No matching command.</p>}
      </div>
    </Dialog>
  )
}
