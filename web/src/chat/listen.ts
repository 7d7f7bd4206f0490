// Hears what is told in a conversation, as it comes.

import type { ConversationUpdate } from '../net/protocol'
import { ask } from '../net/sync'
import type { Talk } from './told'

/**
 * Hears a conversation from the beginning on, for as long as it is wanted. All that was told up to `old`, or in the first piece, was told
 * before the page looked. Resolves when another conversation has taken its place, or the host does not know it.
 */
export async function listen(
  talk: Talk, chat: string, old: number | null, isWanted: () => boolean, onHeard: (isOld: boolean) => void,
): Promise<void> {
  let [from, mark]: [number, number | null] = [0, null]
  while (isWanted()) {
    const heard: ConversationUpdate | null = await ask({ chat: { hear: { chat, from, mark } } }, 'heard', true)
    if (!heard || !isWanted() || (heard.is_over && heard.told.length === 0)) return
    old ??= heard.next
    talk.take(heard, from, old)
    ;[from, mark] = [heard.next, heard.mark]
    onHeard(from < old)
  }
}
