/** What would change of a stored definition, a line or more each: `+` added, `-` removed, `~` changed. */
import type { DefinitionChange } from "@superstep/engine/definitions"
import { foreignLine, type Terminal, wrapped } from "./terminal.ts"

const SIGNS = { added: "+", removed: "-", changed: "~", reordered: "~" } as const

export function printChanges(out: Terminal, changes: readonly DefinitionChange[], indent = ""): void {
  const { green, red, magenta } = out.paint
  const paints = { added: green, removed: red, changed: magenta, reordered: magenta }
  for (const { kind, words } of changes) {
    const lines = wrapped(foreignLine(words), out.width - indent.length - 2)
    for (const [i, line] of lines.entries()) {
      out.line(`${indent}${i === 0 ? paints[kind](SIGNS[kind]) : " "} ${line}`)
    }
  }
}
