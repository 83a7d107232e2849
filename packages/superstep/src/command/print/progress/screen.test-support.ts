/** A terminal that keeps what a person would see. */
import { PassThrough } from "node:stream"
import { type Terminal, terminal } from "../../terminal/terminal.ts"

export interface TestScreen {
  readonly terminal: Terminal
  /** Line by line, without the empty one at the end. */
  lines(): string[]
}

/** Supports the codes that the progress display uses: up, to the line's start, clear from here. */
export function testScreen(columns = 60): TestScreen {
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns })
  const rows: string[] = [""]
  let row = 0
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the codes.
  const codes = /\x1B\[(\d*)([A-Za-z])|\r|\n|[^\x1B\r\n]+/g
  const write = (text: string) => {
    for (const [part, count, code] of text.matchAll(codes)) {
      if (part === "\n") rows[++row] ??= ""
      else if (code === "A") row = Math.max(0, row - Number(count || 1))
      else if (code === "J") rows.splice(row, rows.length, "")
      else if (part !== "\r" && code === undefined) rows[row] += part
    }
  }
  stream.write = ((text: string) => {
    write(text)
    return true
  }) as typeof stream.write
  return {
    terminal: terminal(stream, { noColor: true }),
    lines: () => (rows.at(-1) === "" ? rows.slice(0, -1) : [...rows]),
  }
}
