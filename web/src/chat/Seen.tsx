// What the model sees, to the letter: what would be sent if the message went now.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { PromptPreview as All } from '../net/protocol'
import { Dialog } from '../ui/Dialog'
import { preview } from './talk'

const size = (bytes: number) => (bytes < 1024 ? `${bytes} bytes` : `${(bytes / 1024).toFixed(1)} KB`)

export function Seen({ onClose }: { onClose: () => void }) {
  const seen = useSignal<All | 'looking' | null>('looking')
  useEffect(() => void preview().then((all) => (seen.value = all)), [])
  const all = seen.value
  const messages = all !== null && all !== 'looking' ? all.messages : []
  const [earlier, last] = [messages.slice(0, -1), messages.at(-1)]
  return (
    <Dialog title="What the model sees" onClose={onClose}>
      {all === 'looking' && <p class="faint">Looking…</p>}
      {all === null && <p class="faint">That cannot be told now.</p>}
      {all !== null && all !== 'looking' && (
        <div class="seen">
          <p class="faint">{size(all.bytes)} would be sent now; notebook mode is {all.notebook_mode ? 'on' : 'off'}.</p>
          {all.notes.map((note) => <p key={note} class="note">{note}</p>)}
          <Section title="Instructions" text={all.instructions} isOpen={false} />
          {earlier.length > 0 && (
            <details>
              <summary>Said before ({earlier.length === 1 ? '1 message' : `${earlier.length} messages`})</summary>
              {earlier.map(({ role, text }, at) => <Section key={at} title={role === 'person' ? 'From you' : 'From the model'} text={text} isOpen={false} />)}
            </details>
          )}
          {last && <Section title="This message" text={last.text} isOpen />}
          <details>
            <summary>Tools ({all.tools.length})</summary>
            <dl>{all.tools.map(({ name, description }) => <div key={name}><dt>{name}</dt><dd>{description}</dd></div>)}</dl>
          </details>
        </div>
      )}
    </Dialog>
  )
}

function Section({ title, text, isOpen }: { title: string; text: string; isOpen: boolean }) {
  return (
    <details open={isOpen}>
      <summary>{title} ({size(new TextEncoder().encode(text).length)})</summary>
      <pre role="group" tabIndex={0} aria-label={title}>{text}</pre>
    </details>
  )
}
