/** One line that is written over again while something goes on; nothing where nobody looks. */
import { clipped, foreignLine, type Terminal, widthOf } from "./terminal.ts"

export interface ProgressBar {
  /** `share` is from 0 to 1. */
  show(share: number, text: string): void
  /** Takes the line away. */
  clear(): void
}

const WIDTH = 20
/** Milliseconds between two pictures. */
const PAUSE = 80

export function progressBar(terminal: Terminal, now: () => number = Date.now): ProgressBar {
  let last = Number.NEGATIVE_INFINITY
  let isShown = false
  return {
    show(share, text) {
      if (!terminal.isTerminal || now() - last < PAUSE) return
      last = now()
      isShown = true
      const full = Math.round(Math.min(1, Math.max(0, share)) * WIDTH)
      const bar = `${"█".repeat(full)}${"░".repeat(WIDTH - full)} ${String(Math.floor(share * 100)).padStart(3)}%  `
      terminal.write(`\r\x1B[2K${bar}${clipped(foreignLine(text), terminal.width - widthOf(bar) - 1)}`)
    },
    clear() {
      if (isShown) terminal.write("\r\x1B[2K")
      isShown = false
    },
  }
}
