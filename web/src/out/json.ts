// A JSON tree. Branches are drawn when they are opened.

const MOST = 200

export function tree(value: unknown, name: string | null = null, isOpen = true): HTMLElement {
  if (value === null || typeof value !== 'object') return leaf(value, name)
  const entries = Array.isArray(value)
    ? value.map((item, at): [string, unknown] => [String(at), item])
    : Object.entries(value)
  const details = document.createElement('details')
  details.className = 'tree'
  const summary = document.createElement('summary')
  if (name !== null) summary.append(key(name))
  const size = document.createElement('span')
  size.className = 'size'
  size.textContent = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`
  summary.append(size)
  details.append(summary)
  const fill = () => {
    if (!details.open || details.childElementCount > 1) return
    const list = document.createElement('div')
    list.className = 'branch'
    for (const [name, item] of entries.slice(0, MOST)) list.append(tree(item, name, false))
    if (entries.length > MOST) list.append(`… ${entries.length - MOST} more`)
    details.append(list)
  }
  details.addEventListener('toggle', fill)
  details.open = isOpen
  fill()
  return details
}

function key(name: string): HTMLElement {
  const element = document.createElement('span')
  element.className = 'key'
  element.textContent = `${name}: `
  return element
}

function leaf(value: unknown, name: string | null): HTMLElement {
  const line = document.createElement('div')
  line.className = 'leaf'
  if (name !== null) line.append(key(name))
  const text = document.createElement('span')
  text.className = value === null ? 'null' : typeof value
  text.textContent = JSON.stringify(value) ?? 'undefined'
  line.append(text)
  return line
}
