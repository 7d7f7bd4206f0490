// Edits that are not known to be on disk, stored in the browser so that they survive the page.

import type { UnsavedEdits } from './replica'

const prefix = (path: string) => `cellist:kept:${path}:`

export function storeUnsaved(path: string, client: string, kept: UnsavedEdits | null): void {
  const name = prefix(path) + client
  try {
    if (kept) localStorage.setItem(name, JSON.stringify(kept))
    else localStorage.removeItem(name)
  } catch {
    storeTexts(name, kept)
  }
}

/** A full store may still have room for typed text, without the outputs of pasted cells. */
function storeTexts(name: string, kept: UnsavedEdits | null): void {
  const isLarge = (key: string, value: unknown) =>
    key === 'content' && typeof value === 'object' && value !== null && 'json' in value
  try {
    localStorage.setItem(
      name,
      JSON.stringify(kept, (key, value: unknown) => (isLarge(key, value) ? undefined : value)),
    )
  } catch {
    // The page keeps the edits in memory.
  }
}

/** The edits of pages that are gone. */
export async function orphanedEdits(path: string, mine: string): Promise<UnsavedEdits[]> {
  const alive = new Set((await navigator.locks.query()).held?.map((lock) => lock.name))
  const found: UnsavedEdits[] = []
  for (let index = 0; index < localStorage.length; index++) {
    const name = localStorage.key(index)
    if (!name?.startsWith(prefix(path))) continue
    const client = name.slice(prefix(path).length)
    if (client === mine || alive.has(lockName(client))) continue
    try {
      found.push(JSON.parse(localStorage.getItem(name) ?? '') as UnsavedEdits)
    } catch {
      localStorage.removeItem(name)
    }
  }
  return found
}

const lockName = (client: string) => `cellist:${client}`

/** Holds a lock while the page lives, so that no other page adopts its edits. */
export function holdLock(client: string): void {
  void navigator.locks.request(lockName(client), () => new Promise(() => {}))
}
