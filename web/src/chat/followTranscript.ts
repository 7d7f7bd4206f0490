// Follows the transcript of a conversation.

import type { Heard } from '../net/protocol'
import { ask } from '../net/sync'
import type { Transcript } from './transcript'

/**
 * Follows a conversation from its beginning while `isWanted` holds. Entries before `old`, or in the first
 * batch, are older than the page. Resolves when another conversation replaces it, or when the host does not
 * know it.
 */
export async function followTranscript(
  transcript: Transcript,
  chat: string,
  old: number | null,
  isWanted: () => boolean,
  onBatch: (isOld: boolean) => void,
): Promise<void> {
  let [from, mark]: [number, number | null] = [0, null]
  while (isWanted()) {
    const heard: Heard | null = await ask({ chat: { hear: { chat, from, mark } } }, 'heard', true)
    if (!heard || !isWanted() || (heard.is_over && heard.told.length === 0)) return
    old ??= heard.next
    transcript.receive(heard, from, old)
    ;[from, mark] = [heard.next, heard.mark]
    onBatch(from < old)
  }
}
