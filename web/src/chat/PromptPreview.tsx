// A preview of the prompt, exactly as it would be sent now.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { PromptPreview as Prompt } from '../net/protocol'
import { Dialog } from '../ui/Dialog'
import { preview } from './conversation'

const size = (bytes: number) => (bytes < 1024 ? `${bytes} bytes` : `${(bytes / 1024).toFixed(1)} KB`)

export function PromptPreview({ onClose }: { onClose: () => void }) {
  const state = useSignal<Prompt | 'loading' | null>('loading')
  useEffect(() => void preview().then((prompt) => (state.value = prompt)), [])
  const prompt = state.value
  const messages = prompt !== null && prompt !== 'loading' ? prompt.messages : []
  const [earlier, last] = [messages.slice(0, -1), messages.at(-1)]
  return (
    <Dialog title="What the model sees" onClose={onClose}>
      {prompt === 'loading' && <p class="faint">Loading…</p>}
      {prompt === null && <p class="faint">The preview is not available now.</p>}
      {prompt !== null && prompt !== 'loading' && (
        <div class="seen">
          <p class="faint">
            {size(prompt.bytes)} would be sent now; notebook mode is {prompt.notebook_mode ? 'on' : 'off'}.
          </p>
          {prompt.notes.map((note) => (
            <p key={note} class="note">
              {note}
            </p>
          ))}
          <Section title="Instructions" text={prompt.instructions} isOpen={false} />
          {earlier.length > 0 && (
            <details>
              <summary>Earlier messages ({earlier.length})</summary>
              {earlier.map(({ role, text }, at) => (
                <Section key={at} title={role === 'person' ? 'You' : 'Model'} text={text} isOpen={false} />
              ))}
            </details>
          )}
          {last && <Section title="This message" text={last.text} isOpen />}
          <details>
            <summary>Tools ({prompt.tools.length})</summary>
            <dl>
              {prompt.tools.map(({ name, description }) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>{description}</dd>
                </div>
              ))}
            </dl>
          </details>
        </div>
      )}
    </Dialog>
  )
}

function Section({ title, text, isOpen }: { title: string; text: string; isOpen: boolean }) {
  return (
    <details open={isOpen}>
      <summary>
        {title} ({size(new TextEncoder().encode(text).length)})
      </summary>
      <pre role="group" tabIndex={0} aria-label={title}>
        {text}
      </pre>
    </details>
  )
}
