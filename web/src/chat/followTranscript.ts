// Follows the transcript of a conversation.

import type { ConversationUpdate } from '../net/protocol'
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
    const batch: ConversationUpdate | null = await ask(
      { chat: { hear: { chat, from, mark } } },
      'heard',
      true,
    )
    if (!batch || !isWanted() || (batch.is_over && batch.told.length === 0)) return
    old ??= batch.next
    transcript.receive(batch, from, old)
    ;[from, mark] = [batch.next, batch.mark]
    onBatch(from < old)
  }
}
