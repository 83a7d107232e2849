/** A report on a replay for people: at most 80 columns, no colours. */
import type { Json } from "../core/index.ts"
import { excerpts } from "./excerpts.ts"
import type { ReplayReport } from "./replay.ts"

const WIDTH = 80
/** Characters of any one value. */
const MOST = 400

export function printReplay(report: ReplayReport): string {
  const { runId, workflow, same, divergence, path, state, outputs, usage, status, error } = report
  const title = `Replay of run "${runId}" of workflow "${workflow}": ${same ? "the same" : "it differs"}.`
  const lines = wrapped(title, "")
  if (same) return lines.join("\n")
  if (divergence !== undefined) {
    const within = divergence.path.length === 0 ? "" : `In ${divergence.path.join(" > ")}: `
    lines.push("", "First difference", ...wrapped(`${within}${divergence.what}`, "  "))
  }
  if (status.before !== status.after || error?.before !== error?.after) {
    lines.push("", "Status", ...change([status.before, error?.before], [status.after, error?.after], "  "))
  }
  if (String(path.before) !== String(path.after)) {
    lines.push("", "Path", ...change([path.before.join(", ")], [path.after.join(", ")], "  "))
  }
  if (state.length > 0) lines.push("", "State")
  for (const { key, before, after } of state) {
    lines.push(`  ${key}`, ...change([shown(before)], [shown(after)], "    "))
  }
  if (shown(outputs.before) !== shown(outputs.after)) {
    lines.push("", "Outputs", ...change([shown(outputs.before)], [shown(outputs.after)], "  "))
  }
  const parts = Object.entries(usage.difference) as [keyof typeof usage.before, number][]
  if (parts.length > 0) lines.push("", "Usage")
  for (const [part, by] of parts) {
    const sign = by > 0 ? "+" : ""
    lines.push(`  ${part}: ${usage.before[part] ?? 0} before, ${usage.after[part] ?? 0} now (${sign}${by})`)
  }
  return lines.join("\n")
}

function change(
  before: readonly (string | undefined)[],
  after: readonly (string | undefined)[],
  indent: string,
): string[] {
  const [was, is] = excerpts(text(before), text(after), MOST)
  return [...wrapped(was, `${indent}- `), ...wrapped(is, `${indent}+ `)]
}

function text(parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined).join(": ")
}

function shown(value: Json | undefined): string {
  return value === undefined ? "not there" : JSON.stringify(value)
}

/** Broken at spaces where there are any; the first line after the indent, the others below it. */
function wrapped(content: string, indent: string): string[] {
  const room = WIDTH - indent.length
  const lines: string[] = []
  for (let rest = content; ; ) {
    const head = indent.length > 0 && lines.length > 0 ? " ".repeat(indent.length) : indent
    if (rest.length <= room) {
      lines.push(head + rest)
      return lines
    }
    const space = rest.lastIndexOf(" ", room)
    const end = space > 0 ? space : room
    lines.push(head + rest.slice(0, end))
    rest = rest.slice(end).trimStart()
  }
}
