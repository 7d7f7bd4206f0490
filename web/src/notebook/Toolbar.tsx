// The toolbar: notebook, save state, run buttons, kernel and participants.

import { useComputed } from '@preact/signals'
import { interrupt, restart, runAll, toggleAssistant, toggleFollow, toggleSheet } from '../actions'
import { activity, isOpen } from '../state/assistant'
import { connection, file, isSaved, isSettled, kernel, present, status } from '../state/doc'
import { follows, setTheme, theme } from '../state/view'

const KERNEL: Record<string, string> = {
  none: 'not started',
  starting: 'starting',
  idle: 'idle',
  busy: 'busy',
  silent: 'not responding',
  dead: 'exited',
}

const ASSISTANT = {
  idle: 'Assistant (Ctrl+J)',
  working: 'Assistant is working (Ctrl+J)',
  asking: 'Assistant needs approval (Ctrl+J)',
}

function SaveState() {
  const words = useComputed(() => {
    if (connection.value === 'lost') return isSettled.value ? 'Reconnecting…' : 'Reconnecting; edits are kept'
    if (connection.value === 'locked') return 'Signed out; run cellist open'
    if (connection.value === 'unverified') return 'Another program uses this address; nothing is sent'
    if (connection.value === 'connecting') return 'Opening…'
    if (status.value.problem) return 'Not saved'
    return isSaved.value ? 'Saved' : 'Saving…'
  })
  return (
    <span class={`saved ${connection.value}`} title={status.value.problem ?? undefined} role="status">
      {words}
    </span>
  )
}

export function Toolbar() {
  const next = { auto: 'light', light: 'dark', dark: 'auto' } as const
  const themeName = `Theme: ${theme.value === 'auto' ? 'system' : theme.value}`
  return (
    <header>
      <button
        class="quiet files"
        title="Notebooks"
        aria-label="Notebooks"
        onClick={() => toggleSheet('files')}
      >
        <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
          <path d="M2 4h12M2 8h12M2 12h12" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" />
        </svg>
      </button>
      <h1>{file.value?.name ?? 'cellist'}</h1>
      {file.value && <SaveState />}
      <span class="spring" />
      {file.value && <NotebookControls />}
      <button
        class="quiet"
        title={themeName}
        aria-label={themeName}
        onClick={() => setTheme(next[theme.value])}
      >
        <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
          <circle cx="8" cy="8" r="5.5" fill="none" stroke="currentColor" stroke-width="1.5" />
          <path d="M8 2.5a5.5 5.5 0 0 1 0 11z" fill="currentColor" />
        </svg>
      </button>
      {file.value && (
        <button
          class="quiet"
          title="Changes (Shift+H)"
          aria-label="Changes"
          onClick={() => toggleSheet('changes')}
        >
          <svg
            viewBox="0 0 16 16"
            width="16"
            height="16"
            fill="none"
            stroke="currentColor"
            stroke-width="1.5"
            stroke-linecap="round"
            aria-hidden="true"
          >
            <circle cx="8" cy="8" r="5.5" />
            <path d="M8 5v3.2l2.1 1.3" />
          </svg>
        </button>
      )}
      <button
        class="quiet keys"
        title="Keyboard shortcuts (H)"
        aria-label="Keyboard shortcuts"
        onClick={() => toggleSheet('help')}
      >
        ?
      </button>
      {file.value && (
        <button
          class={`quiet assistant-button ${activity.value}`}
          title={ASSISTANT[activity.value]}
          aria-label="Assistant"
          aria-pressed={isOpen.value}
          onClick={toggleAssistant}
        >
          <svg
            viewBox="0 0 16 16"
            width="16"
            height="16"
            fill="none"
            stroke="currentColor"
            stroke-width="1.5"
            stroke-linejoin="round"
            aria-hidden="true"
          >
            <path d="M2.5 4.5a1.5 1.5 0 0 1 1.5-1.5h8a1.5 1.5 0 0 1 1.5 1.5v5a1.5 1.5 0 0 1-1.5 1.5H7.5L4.5 13.5V11H4a1.5 1.5 0 0 1-1.5-1.5z" />
          </svg>
        </button>
      )}
    </header>
  )
}

/** Run, stop and restart, the kernel and the participants. */
function NotebookControls() {
  const { state, name } = kernel.value
  const isBusy = state === 'busy' || state === 'starting'
  const agents = present.value.some((one) => one.actor.kind === 'agent')
  return (
    <>
      {(agents || follows.value) && (
        <button
          class={follows.value ? 'agent' : ''}
          aria-pressed={follows.value}
          title="Follow the agent (F)"
          onClick={toggleFollow}
        >
          Follow
        </button>
      )}
      <button onClick={runAll}>Run all</button>
      <button onClick={interrupt} disabled={!isBusy} title="Interrupt the kernel (I, I)">
        Stop
      </button>
      <button class="restart" onClick={restart} disabled={state === 'none'} title="Restart the kernel (0, 0)">
        Restart
      </button>
      <span class={`kernel ${state}`} title={kernelTitle()}>
        <span class="dot" aria-hidden="true" />
        {name ? `${name} · ${kernelLabel()}` : kernelLabel()}
      </span>
      <span class="avatars">
        {avatars().map(({ id, letter, kind, title }) => (
          <span key={id} class={`avatar ${kind}`} title={title}>
            {letter}
          </span>
        ))}
      </span>
    </>
  )
}

/** The state of the kernel, in a few words. */
function kernelLabel(): string {
  const { state, stuck, gone } = kernel.value
  if (stuck) return 'not stopping'
  return gone ? `no kernel: ${gone}` : (KERNEL[state] ?? state)
}

/** The state of the kernel with an explanation. */
function kernelTitle(): string {
  const { stuck, stays } = kernel.value
  if (stuck)
    return 'The interrupted code has not stopped. Stop interrupts again; Restart ends the kernel and loses its variables.'
  if (!stays) return kernelLabel()
  return `${kernelLabel()}; kept for ${Math.round(stays / 60_000)} minutes after the last page, agent or terminal disconnects`
}

function avatars() {
  const seen = new Map([['page', { id: 'page', letter: 'Y', kind: 'person', title: 'You' }]])
  for (const { actor, doing } of present.value) {
    const name = actor.kind === 'person' ? 'You' : actor.name
    // One agent may have several connections.
    const key = actor.kind === 'person' ? actor.id : `${actor.kind} ${actor.name}`
    seen.set(key, {
      id: key,
      letter: name.slice(0, 1).toUpperCase(),
      kind: actor.kind,
      title: `${name} · ${doing}`,
    })
  }
  return [...seen.values()].slice(0, 6)
}
