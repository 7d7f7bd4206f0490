// The entry point of the page.

import { effect } from '@preact/signals'
import { render } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { paste } from './actions'
import { start as startFocus } from './cell/focus'
import { listen as listenFollow, others } from './follow'
import { listen as listenKeys, takesText } from './keys/dispatch'
import { tidyAddress } from './net/handshake'
import { connect } from './net/sync'
import { Notebook } from './notebook/Notebook'
import { ReviewDock } from './notebook/ReviewDock'
import { Top } from './notebook/Top'
import { Trouble } from './notebook/Trouble'
import { listen as listenPresent } from './present'
import { begin as beginAssistant, isOpen, parts, registerComposer, width } from './state/assist'
import { listen as listenClipboard } from './state/clipboard'
import { connection, file, order, trouble } from './state/doc'
import { active, setTheme, theme } from './state/view'
import { FileList, Over } from './ui/Sheet'
import './style/tokens.css'
import './style/layout.css'
import './style/cell.css'
import './style/out.css'
import './style/chat.css'

const path = new URLSearchParams(location.search).get('path') ?? ''

function Locked() {
  return (
    <main class="alone">
      <h2>
        {connection.value === 'stranger' ? 'Another program uses this address' : 'This browser is signed out'}
      </h2>
      <p>
        {connection.value === 'stranger' && 'It is not the host of this page; nothing was sent to it. '}
        Run <code>cellist open</code> to get a new link. This page keeps your unsaved edits.
      </p>
    </main>
  )
}

function Beside() {
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
  const isLocked = (connection.value === 'locked' || connection.value === 'stranger') && !file.value
  return (
    <>
      <Top />
      <div class="work">
        <div class="pane">
          {isLocked ? (
            <Locked />
          ) : trouble.value ? (
            <Trouble path={path} />
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
        {path && isOpen.value && !trouble.value && <Beside />}
      </div>
      <Over />
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
beginAssistant()
render(<Page />, document.getElementById('page')!)
connect(path, others)

effect(() => {
  const name = file.value?.name ?? (trouble.value ? path.slice(path.lastIndexOf('/') + 1) : null)
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
