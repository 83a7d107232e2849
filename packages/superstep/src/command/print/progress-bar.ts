/** One line that is rewritten while work proceeds; prints nothing if stderr is not a terminal. */
import { clipped, sanitizeLine, type Terminal, widthOf } from "../terminal/terminal.ts"

export interface ProgressBar {
  /** `share` is from 0 to 1. */
  show(share: number, text: string): void
  /** Erases the line. */
  clear(): void
}

const WIDTH = 20
/** Milliseconds between two updates. */
const PAUSE = 80

export function progressBar(terminal: Terminal): ProgressBar {
  let last = Number.NEGATIVE_INFINITY
  let isShown = false
  return {
    show(share, text) {
      if (!terminal.isTerminal || Date.now() - last < PAUSE) return
      last = Date.now()
      isShown = true
      const full = Math.round(Math.min(1, Math.max(0, share)) * WIDTH)
      const bar = `${"█".repeat(full)}${"░".repeat(WIDTH - full)} ${String(Math.floor(share * 100)).padStart(3)}%  `
      terminal.write(`\r\x1B[2K${bar}${clipped(sanitizeLine(text), terminal.width - widthOf(bar) - 1)}`)
    },
    clear() {
      if (isShown) terminal.write("\r\x1B[2K")
      isShown = false
    },
  }
}
