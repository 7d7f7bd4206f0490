// Interprets terminal control sequences: colours, carriage returns, backspaces, erased lines, cursor
// movement.

interface Style {
  color: string
  background: string
  classes: string
}
interface Glyph {
  character: string
  style: Style | null
}

const PLAIN: Style | null = null
const NAMES = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white']
/** A limit on lines and columns, against hostile output. */
const WIDEST = 20_000

class Pen {
  bold = false
  dim = false
  italic = false
  underline = false
  inverse = false
  color = ''
  background = ''
  private made: Style | null = PLAIN
  private isMade = true

  style(): Style | null {
    if (this.isMade) return this.made
    this.isMade = true
    const on = [
      this.bold && 'bold',
      this.dim && 'dim',
      this.italic && 'italic',
      this.underline && 'underline',
      this.inverse && 'inverse',
    ]
    const classes = on
      .filter(Boolean)
      .map((word) => `sgr-${String(word)}`)
      .join(' ')
    this.made =
      classes || this.color || this.background
        ? { color: this.color, background: this.background, classes }
        : PLAIN
    return this.made
  }

  select(codes: number[]): void {
    this.isMade = false
    for (let at = 0; at < codes.length; at++) {
      const code = codes[at]!
      if (code === 0)
        Object.assign(this, {
          bold: false,
          dim: false,
          italic: false,
          underline: false,
          inverse: false,
          color: '',
          background: '',
        })
      else if (code === 1) this.bold = true
      else if (code === 2) this.dim = true
      else if (code === 3) this.italic = true
      else if (code === 4) this.underline = true
      else if (code === 7) this.inverse = true
      else if (code === 22) this.bold = this.dim = false
      else if (code === 23) this.italic = false
      else if (code === 24) this.underline = false
      else if (code === 27) this.inverse = false
      else if (code >= 30 && code <= 37) this.color = NAMES[code - 30]!
      else if (code >= 90 && code <= 97) this.color = `bright-${NAMES[code - 90]!}`
      else if (code === 39) this.color = ''
      else if (code >= 40 && code <= 47) this.background = NAMES[code - 40]!
      else if (code >= 100 && code <= 107) this.background = `bright-${NAMES[code - 100]!}`
      else if (code === 49) this.background = ''
      else if (code === 38 || code === 48) {
        const [color, used] = extended(codes.slice(at + 1))
        if (code === 38) this.color = color
        else this.background = color
        at += used
      }
    }
  }
}

/** A colour of the 256-colour palette, or an RGB colour. */
function extended(codes: number[]): [string, number] {
  if (codes[0] === 2)
    return [
      `#${codes
        .slice(1, 4)
        .map((part) => Math.min(255, part).toString(16).padStart(2, '0'))
        .join('')}`,
      4,
    ]
  if (codes[0] !== 5) return ['', 0]
  const code = codes[1] ?? 0
  if (code < 8) return [NAMES[code]!, 2]
  if (code < 16) return [`bright-${NAMES[code - 8]!}`, 2]
  const hex = (value: number) => value.toString(16).padStart(2, '0')
  if (code >= 232) return [`#${hex(8 + (code - 232) * 10).repeat(3)}`, 2]
  const level = (value: number) => hex(value === 0 ? 0 : 55 + value * 40)
  const cube = code - 16
  return [`#${level(Math.floor(cube / 36))}${level(Math.floor(cube / 6) % 6)}${level(cube % 6)}`, 2]
}

const ESCAPE = /\x1b(?:\[([0-9;:?]*)([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])/y

/** The lines on the screen after the text. */
function lines(text: string): Glyph[][] {
  const screen: Glyph[][] = [[]]
  const pen = new Pen()
  let [row, column] = [0, 0]
  const line = () => (screen[row] ??= [])
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!
    if (character === '\x1b') {
      ESCAPE.lastIndex = at
      const found = ESCAPE.exec(text)
      if (!found) continue
      at = ESCAPE.lastIndex - 1
      const codes = (found[1] ?? '').split(/[;:]/).map((code) => Number(code) || 0)
      const first = Math.max(1, codes[0] ?? 1)
      switch (found[2]) {
        case 'm':
          pen.select(codes)
          break
        case 'A':
          row = Math.max(0, row - first)
          break
        case 'B':
          row = Math.min(screen.length - 1, row + first)
          break
        case 'C':
          column = Math.min(WIDEST, column + first)
          break
        case 'D':
          column = Math.max(0, column - first)
          break
        case 'G':
          column = first - 1
          break
        case 'K':
          if (codes[0] === 2) line().length = 0
          else if (codes[0] === 1) line().fill({ character: ' ', style: PLAIN }, 0, column)
          else line().length = Math.min(line().length, column)
          break
        case 'J':
          if (codes[0] === 2) {
            screen.length = 0
            row = column = 0
          } else screen.length = row + 1
          break
      }
    } else if (character === '\n') {
      row++
      column = 0
      line()
    } else if (character === '\r') {
      column = 0
    } else if (character === '\b') {
      column = Math.max(0, column - 1)
    } else if (character >= ' ' || character === '\t') {
      const whole = text.codePointAt(at)! > 0xffff ? text.slice(at, at + 2) : character
      at += whole.length - 1
      const into = line()
      while (into.length < column) into.push({ character: ' ', style: PLAIN })
      into[column++] = { character: whole, style: pen.style() }
    }
  }
  return screen
}

function styled(text: string, style: Style): HTMLElement {
  const span = document.createElement('span')
  span.className = style.classes
  const paint = (color: string, layer: 'color' | 'background') => {
    if (!color) return
    if (color.startsWith('#')) {
      // Mixed with the text colour, to stay readable in both themes.
      if (layer === 'color') span.style.color = `color-mix(in srgb, ${color} 70%, var(--ink))`
      else span.style.backgroundColor = color
    } else {
      span.classList.add(layer === 'color' ? `ansi-${color}` : `ansi-on-${color}`)
    }
  }
  paint(style.color, 'color')
  paint(style.background, 'background')
  span.textContent = text
  return span
}

export function terminal(text: string): DocumentFragment {
  const out = document.createDocumentFragment()
  // Most text has no control characters.
  if (!/[\x1b\r\b]/.test(text)) {
    out.append(text)
    return out
  }
  const all = lines(text)
  all.forEach((glyphs, index) => {
    let [run, style]: [string, Style | null] = ['', PLAIN]
    const flush = () => {
      if (run) out.append(style ? styled(run, style) : run)
      run = ''
    }
    for (const glyph of glyphs) {
      if (glyph.style !== style) flush()
      style = glyph.style
      run += glyph.character
    }
    flush()
    if (index < all.length - 1) out.append('\n')
  })
  return out
}
