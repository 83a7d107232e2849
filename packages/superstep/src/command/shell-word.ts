/** A word of a command that people are told to type: a shell must take it for one word, and a terminal for text. */
import { foreignLine } from "./terminal.ts"

export function shellWord(text: string): string {
  const shown = foreignLine(text)
  return /^[\w./:@%+,=-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`
}
