// The entry point of the page.

import { effect } from '@preact/signals'
import { render } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { paste } from './actions'
import { start as startFocus } from './cell/focus'
import { listen as listenFollow, showRemoteChange } from './follow'
import { listen as listenKeys, takesText } from './keys/dispatch'
import { tidyAddress } from './net/handshake'
import { connect } from './net/sync'
import { Notebook } from './notebook/Notebook'
import { OpenError } from './notebook/OpenError'
import { ReviewDock } from './notebook/ReviewDock'
import { Toolbar } from './notebook/Toolbar'
import { listen as listenPresent } from './presence'
import { isOpen, loadWhenOpen as loadAssistant, parts, registerComposer, width } from './state/assistant'
import { listen as listenClipboard } from './state/clipboard'
import { connection, file, openError, order } from './state/doc'
import { active, setTheme, theme } from './state/view'
import { FileList } from './ui/FileList'
import { Overlays } from './ui/Overlays'
import './style/tokens.css'
import './style/layout.css'
import './style/cell.css'
import './style/out.css'
import './style/chat.css'

const path = new URLSearchParams(location.search).get('path') ?? ''

function SignedOut() {
  return (
    <main class="alone">
      <h2>
        {connection.value === 'unverified'
          ? 'Another program uses this address'
          : 'This browser is signed out'}
      </h2>
      <p>
        {connection.value === 'unverified' && 'It is not the host of this page; nothing was sent to it. '}
        Run <code>cellist open</code> to get a new link. This page keeps your unsaved edits.
      </p>
    </main>
  )
}

function AssistantPane() {
  const element = useRef<HTMLElement>(null)
  const Assistant = parts.value?.Assistant
  useLayoutEffect(() => {
    if (!Assistant) registerComposer(element.current!, true)
  }, [Assistant])
  return (
    <aside
      ref={element}
      class="assistant"
      aria-label="Assistant"
      tabIndex={-1}
      style={{ '--wide': `${width.value}px` }}
    >
      {Assistant && <Assistant />}
    </aside>
  )
}

function Page() {
  const isLocked = (connection.value === 'locked' || connection.value === 'unverified') && !file.value
  return (
    <>
      <Toolbar />
      <div class="work">
        <div class="pane">
          {isLocked ? (
            <SignedOut />
          ) : openError.value ? (
            <OpenError path={path} />
          ) : path ? (
            <Notebook />
          ) : (
            <main class="alone">
              <h2>Notebooks</h2>
              {connection.value === 'open' && <FileList />}
            </main>
          )}
          <ReviewDock />
        </div>
        {path && isOpen.value && !openError.value && <AssistantPane />}
      </div>
      <Overlays />
    </>
  )
}

tidyAddress()
setTheme(theme.peek())
startFocus()
listenKeys()
listenClipboard(takesText, (clip) => paste('below', clip))
listenFollow()
listenPresent()
loadAssistant()
render(<Page />, document.getElementById('page')!)
connect(path, showRemoteChange)

effect(() => {
  const name = file.value?.name ?? (openError.value ? path.slice(path.lastIndexOf('/') + 1) : null)
  if (name) document.title = `${name} · cellist`
})
// When another client deletes the active cell, its neighbour becomes active without taking the focus.
let place = 0
effect(() => {
  const ids = order.value
  const at = ids.indexOf(active.peek() ?? '')
  if (at >= 0) place = at
  else if (ids.length > 0 && active.peek() !== null) active.value = ids[Math.min(place, ids.length - 1)]!
  else if (ids.length > 0) active.value = ids[0]!
})
