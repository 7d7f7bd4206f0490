// Sanitizes foreign markup. Markup that needs scripts, forms or styles goes into a frame instead.

import DOMPurify, { type Config } from 'dompurify'

/** Attributes of tables, lists and media without addresses. Others must match the address rule. */
const PLAIN_ATTRIBUTES =
  'abbr align bgcolor border cellpadding cellspacing cols colspan color controls datetime dir face headers height lang loop muted nowrap reversed rows rowspan scope size span start type valign value width'

/** Attributes of SVG without addresses. `overflow` is left out: a drawing stays in its box. */
const DRAWING_ATTRIBUTES =
  'alignment-baseline baseline-shift clip-rule cx cy d display dominant-baseline dx dy fill fill-opacity fill-rule font-family font-size font-style font-weight letter-spacing opacity paint-order points preserveaspectratio r rotate rx ry shape-rendering stroke stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit stroke-opacity stroke-width text-anchor text-decoration text-rendering textlength transform vector-effect version viewbox visibility word-spacing x x1 x2 y y1 y2'

const RULES: Config = {
  RETURN_DOM_FRAGMENT: true,
  // Otherwise the parser moves a leading script into the head, and its removal is not reported.
  FORCE_BODY: true,
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
  ADD_URI_SAFE_ATTR: `${PLAIN_ATTRIBUTES} ${DRAWING_ATTRIBUTES}`.split(' '),
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|#|data:image\/(?:png|jpeg|gif|webp);)/i,
}

const STYLE_TAG = /<style[\s\S]*?<\/style\s*>/gi
const STYLE_ATTRIBUTE = /\sstyle\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)/gi
/** The one declaration that an attribute can replace; each data frame of pandas has it. */
const ALIGNMENT = /^["']?\s*text-align:\s*(left|right|center);?\s*["']?$/i
const TAG = /<[a-z][^>]*>/gi

/** Removes styles before parsing; the content security policy would report each one. */
function withoutStyles(markup: string): string {
  const align = (_: string, value: string) => {
    const side = ALIGNMENT.exec(value)?.[1]
    return side ? ` align="${side}"` : ''
  }
  return markup.replace(STYLE_TAG, '').replace(TAG, (tag) => tag.replace(STYLE_ATTRIBUTE, align))
}

/** Returns whether styles carry meaning. Plain data frames of pandas have only scoped ones. */
function isStyled(markup: string): boolean {
  const sheets = markup.match(STYLE_TAG) ?? []
  if (sheets.some((sheet) => !/^<style\s+scoped\s*>/i.test(sheet))) return true
  const tags = markup.replace(STYLE_TAG, '').match(TAG) ?? []
  return tags.some((tag) => [...tag.matchAll(STYLE_ATTRIBUTE)].some((style) => !ALIGNMENT.test(style[1]!)))
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
  if (isStyled(markup)) return null
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
  if (!('attribute' in removed) || !removed.attribute) return false
  const { name } = removed.attribute
  // Gradients, markers and other definitions of a drawing are found by their ids.
  return /^on/i.test(name) || (name === 'id' && isPartOfDrawing(removed.from))
}

function isPartOfDrawing(node: Node): boolean {
  return node instanceof SVGElement && node.parentElement instanceof SVGElement
}

/** Opens links in new tabs, and blocks remote images. */
function settle(fragment: DocumentFragment): void {
  for (const element of fragment.querySelectorAll('svg, svg *')) {
    // A paint of a drawing may name a remote file.
    for (const { name, value } of [...element.attributes]) {
      if (/url\s*\(/i.test(value)) element.removeAttribute(name)
    }
  }
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
