// Attached images of cells. Cells to be merged may use one name for different images, mostly `image.png`.

interface Whole {
  attachments?: Record<string, unknown>
}

/** New names for the images of cells that are merged into the first, as the host chooses them. */
export function renamed(cells: readonly (string | null)[]): Map<string, string>[] {
  const [first, ...rest] = cells.map(attachmentsOf)
  const all = new Map(first)
  return rest.map((attachments) => {
    const names = new Map<string, string>()
    for (const [name, picture] of attachments) {
      const known = all.get(name)
      if (known === picture) continue
      const free = known === undefined ? name : freeName(name, all)
      all.set(free, picture)
      if (free !== name) names.set(name, free)
    }
    return names
  })
}

function attachmentsOf(json: string | null): [string, string][] {
  const { attachments } = JSON.parse(json ?? '{}') as Whole
  return Object.entries(attachments ?? {}).map(([name, picture]) => [name, JSON.stringify(picture)])
}

/** Turns `picture.png` into `picture-2.png`. */
function freeName(name: string, taken: Map<string, string>): string {
  const dot = name.lastIndexOf('.')
  const [stem, ending] = dot < 0 ? [name, ''] : [name.slice(0, dot), name.slice(dot)]
  for (let number = 2; ; number++) {
    const free = `${stem}-${number}${ending}`
    if (!taken.has(free)) return free
  }
}

/** Replaces the names of images in a text. */
export function withNames(source: string, names: Map<string, string>): string {
  return source.replace(/attachment:([^)\s"'>]+)/g, (whole, name: string) => {
    const free = names.get(name) ?? names.get(decoded(name))
    return free === undefined ? whole : `attachment:${name.includes('%') ? encodeURIComponent(free) : free}`
  })
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
