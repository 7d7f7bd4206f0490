// Sanitizes foreign markup. Markup that needs scripts or forms goes into a frame instead.

import DOMPurify, { type Config } from 'dompurify'

const RULES: Config = {
  RETURN_DOM_FRAGMENT: true,
  FORBID_TAGS: [
    'style',
    'form',
    'input',
    'button',
    'textarea',
    'select',
    'dialog',
    'link',
    'meta',
    'base',
    'title',
  ],
  FORBID_ATTR: ['style', 'id', 'name', 'target', 'ping', 'srcset', 'poster', 'background'],
  ALLOW_DATA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|#|data:image\/(?:png|jpeg|gif|webp);)/i,
}

/** Removes styles before parsing; the content security policy would report each one. */
function withoutStyles(markup: string): string {
  const tag = (tag: string) => tag.replace(/\sstyle\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)/gi, '')
  return markup.replace(/<style[\s\S]*?<\/style\s*>/gi, '').replace(/<[a-z][^>]*>/gi, tag)
}

/** Sanitizes markup. */
export function clean(markup: string): DocumentFragment {
  const fragment = DOMPurify.sanitize(withoutStyles(markup), RULES) as unknown as DocumentFragment
  strip(fragment)
  settle(fragment)
  return fragment
}

/** Classes that the page itself writes before sanitizing. */
const OWN = /^(?:formula|display|language-.+)$/

/** Removes classes, so that foreign markup cannot look like a part of the page. */
function strip(fragment: DocumentFragment): void {
  for (const element of fragment.querySelectorAll('[class]')) {
    const kept = [...element.classList].filter((name) => OWN.test(name))
    if (kept.length > 0) element.setAttribute('class', kept.join(' '))
    else element.removeAttribute('class')
  }
}

/** Returns sanitized markup, or `null` when it needs a frame. */
export function cleanOrFrame(markup: string): DocumentFragment | null {
  const fragment = clean(markup)
  return DOMPurify.removed.some(acts) ? null : fragment
}

type Removed = (typeof DOMPurify.removed)[number]

function acts(removed: Removed): boolean {
  if ('element' in removed && removed.element) {
    return /^(script|iframe|frame|object|embed|form|input|button|select|textarea|canvas|video|audio|svg|math|applet|link)$/i.test(
      removed.element.nodeName,
    )
  }
  const attribute = 'attribute' in removed ? removed.attribute : null
  return attribute !== null && /^on/i.test(attribute.name)
}

/** Opens links in new tabs, and blocks remote images. */
function settle(fragment: DocumentFragment): void {
  for (const link of fragment.querySelectorAll('a')) {
    // In SVG, links have attributes but no properties.
    if (!link.getAttribute('href')?.startsWith('#')) link.setAttribute('target', '_blank')
    link.setAttribute('rel', 'noopener noreferrer')
  }
  for (const image of fragment.querySelectorAll('image, feImage, video, audio, source, track')) {
    for (const name of ['href', 'xlink:href', 'src']) {
      if (!image.getAttribute(name)?.startsWith('data:')) image.removeAttribute(name)
    }
  }
  for (const image of fragment.querySelectorAll('img')) {
    if (image.getAttribute('src')?.startsWith('data:')) continue
    const text = document.createElement('span')
    text.className = 'absent'
    text.textContent = image.alt || 'Remote image not loaded'
    image.replaceWith(text)
  }
  for (const table of fragment.querySelectorAll('table')) {
    const scroller = document.createElement('div')
    scroller.className = 'table'
    scroller.tabIndex = 0
    scroller.role = 'group'
    scroller.ariaLabel = 'Table'
    table.replaceWith(scroller)
    scroller.append(table)
  }
}
