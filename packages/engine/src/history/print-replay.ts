/** The report of a replay as text. */
import type { Json } from "../core/index.ts"
import { wrapText } from "../text/index.ts"
import { excerpts } from "./excerpts.ts"
import type { ReplayReport } from "./replay.ts"

const WIDTH = 80
/** Maximum characters of a value. */
const MAX = 400

/** The report as text: at most 80 columns, no colours. */
export function printReplay(report: ReplayReport): string {
  const { runId, workflow, same, divergence, path, state, outputs, usage, status, error } = report
  const title = `Replay of run "${runId}" of workflow "${workflow}": ${same ? "the same" : "different"}.`
  const lines = wrapped(title, "")
  const limits = notCompared(report)
  if (same) return [...lines, ...limits].join("\n")
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
  if (limits.length > 0) lines.push("", ...limits)
  return lines.join("\n")
}

function notCompared({ recordedModelCalls: calls }: ReplayReport): string[] {
  if (calls === 0) return []
  const answered = calls === 1 ? "1 model call was" : `${calls} model calls were`
  return wrapped(
    `Not compared: instructions, messages and tools of agents. ${answered} answered from the record.`,
    "",
  )
}

function change(
  before: readonly (string | undefined)[],
  after: readonly (string | undefined)[],
  indent: string,
): string[] {
  const [was, is] = excerpts(text(before), text(after), MAX)
  return [...wrapped(was, `${indent}- `), ...wrapped(is, `${indent}+ `)]
}

function text(parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined).join(": ")
}

function shown(value: Json | undefined): string {
  return value === undefined ? "absent" : JSON.stringify(value)
}

/** The first line after the indent, the others below it. */
function wrapped(content: string, indent: string): string[] {
  const below = " ".repeat(indent.length)
  return wrapText(content, WIDTH - indent.length).map((line, i) => (i === 0 ? indent : below) + line)
}
