// Encryption for messages between pages of one host, and digests.

import { encoder, hex, sharedKey } from './handshake'

/** The length of the nonce that precedes the ciphertext. */
const NONCE = 12

export async function seal(text: string): Promise<ArrayBuffer> {
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE))
  const sealed = await crypto.subtle.encrypt(
    { name: 'AES-GCM', iv: nonce },
    await sharedKey,
    encoder.encode(text),
  )
  const whole = new Uint8Array(NONCE + sealed.byteLength)
  whole.set(nonce)
  whole.set(new Uint8Array(sealed), NONCE)
  return whole.buffer
}

/** The decrypted text; null when a page without the key sent the message. */
export async function unseal(message: unknown): Promise<string | null> {
  if (!(message instanceof ArrayBuffer) || message.byteLength < NONCE) return null
  const [nonce, sealed] = [new Uint8Array(message, 0, NONCE), new Uint8Array(message, NONCE)]
  try {
    return new TextDecoder().decode(
      await crypto.subtle.decrypt({ name: 'AES-GCM', iv: nonce }, await sharedKey, sealed),
    )
  } catch {
    return null
  }
}

export async function digest(text: string): Promise<string> {
  return hex(new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(text))))
}
