// Mutual authentication of page and host on each socket, before any request.
// crates/serve/src/page/handshake.rs describes the protocol.

/** The state of this browser's session, as the host reports it. */
export type SessionState = 'signed_in' | 'returning' | 'signed_out'

interface HostGreeting {
  challenge: string
  standing: SessionState
  proof: string
}

/** Another program answers at the host's address. */
export class UnverifiedHost extends Error {}

export const encoder = new TextEncoder()
export const hex = (bytes: Uint8Array) =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')

interface Keys {
  browser: string
  salt: string
  key: Promise<CryptoKey>
  shared: Promise<CryptoKey>
}

/**
 * The key of this page, and the key that all pages of the user share. The host puts them into the page. They
 * stay in memory, out of reach of other programs.
 */
const { browser, salt, key, shared } = takeKeys()
export { shared as sharedKey }

function takeKeys(): Keys {
  const meta = document.querySelector<HTMLMetaElement>('meta[name=page-key]')
  const [browser = '', salt = '', secret = '', sharedSecret = ''] = (meta?.content ?? '').split(' ')
  meta?.remove()
  const key = crypto.subtle.importKey(
    'raw',
    encoder.encode(secret),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['sign'],
  )
  const shared = crypto.subtle
    .digest('SHA-256', encoder.encode(sharedSecret))
    .then((bytes) => crypto.subtle.importKey('raw', bytes, 'AES-GCM', false, ['encrypt', 'decrypt']))
  return { browser, salt, key, shared }
}

/** Removes the used code of the opening link from the address bar. */
export function tidyAddress(): void {
  const address = new URL(location.href)
  if (!address.searchParams.has('code')) return
  address.searchParams.delete('code')
  history.replaceState(history.state, '', address)
}

/** One handshake. */
export class Handshake {
  private readonly challenge = hex(crypto.getRandomValues(new Uint8Array(16)))

  /** The parameters of the socket's URL; none is secret. */
  get parameters(): string {
    return new URLSearchParams({ browser, salt, challenge: this.challenge }).toString()
  }

  /** Verifies the host's greeting and returns the page's proof; throws when another program sent it. */
  async answer(message: string): Promise<{ standing: SessionState; proof: string }> {
    const { challenge, standing, proof } = greeting(message)
    const prove = async (side: 'host' | 'page') => {
      const text = `cellist ${side} ${location.port || '80'} ${this.challenge} ${challenge} ${standing}`
      const whole = await crypto.subtle.sign('HMAC', await key, encoder.encode(text))
      return hex(new Uint8Array(whole, 0, 16))
    }
    if (proof !== (await prove('host')))
      throw new UnverifiedHost('another program answers at the address of the host')
    return { standing, proof: await prove('page') }
  }
}

function greeting(message: string): HostGreeting {
  try {
    const { challenge, standing, proof } = (JSON.parse(message) as { host: HostGreeting }).host
    if ([challenge, standing, proof].every((part) => typeof part === 'string'))
      return { challenge, standing, proof }
  } catch {
    // Another program may send anything.
  }
  throw new UnverifiedHost('another program answers at the address of the host')
}

/** Exchanges a ticket for a cookie of the running host. */
export async function signIn(message: string): Promise<void> {
  const { ticket } = JSON.parse(message) as { ticket: string }
  const answer = await fetch('/session', { method: 'POST', body: ticket })
  if (!answer.ok) throw new Error(`the host refused a cookie: ${answer.status}`)
}
