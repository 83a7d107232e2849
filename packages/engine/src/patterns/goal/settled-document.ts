/**
 * A configuration as it is meant: variables filled in, fields under the names that this library has for them. Places stay
 * those of the file.
 */
import type { Json } from "../../core/index.ts"
import type { Document, Path, Report } from "../../definitions/document/index.ts"
import { variables } from "../../definitions/expressions/index.ts"
import { COUNTS, FLAGS, OTHER_NAMES } from "./goal-shape.ts"

export function settledDocument(
  document: Document,
  lookup: (name: string) => string | undefined,
  report: Report,
): Document {
  const { data } = document
  if (typeof data !== "object" || data === null || Array.isArray(data)) return document
  const written = new Map<string, string>()
  const settled: Record<string, Json> = {}
  for (const [key, value] of Object.entries(data as Record<string, Json>)) {
    const name = OTHER_NAMES.get(key) ?? key
    const before = written.get(name)
    if (before !== undefined) {
      const message = `\`${key}\` and \`${before}\` are the same field; write one of them.`
      report.error("DUPLICATE_KEY", message, document.place([key], "key"))
      continue
    }
    written.set(name, key)
    settled[name] = meant(name, filled(value, [key], document, lookup, report))
  }
  const asWritten = ([first, ...rest]: Path): Path =>
    first === undefined ? [] : [written.get(String(first)) ?? first, ...rest]
  return { ...document, data: settled, place: (path, part) => document.place(asWritten(path), part) }
}

function filled(
  value: Json,
  path: Path,
  document: Document,
  lookup: (name: string) => string | undefined,
  report: Report,
): Json {
  if (typeof value === "string") {
    if (isProse(path)) return value
    const { text, missing } = variables(value, lookup)
    for (const { name, start, end } of missing) {
      const message = `There is no value for \${${name}}: set it in the environment, or write \${${name}:-default}.`
      report.error("VARIABLE_MISSING", message, document.place(path, { from: start, to: end }))
    }
    return text
  }
  if (Array.isArray(value)) {
    return value.map((one: Json, i) => filled(one, [...path, i], document, lookup, report))
  }
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value as Record<string, Json>)
  return Object.fromEntries(
    entries.map(([key, one]) => [key, filled(one, [...path, key], document, lookup, report)]),
  )
}

/** What agents are told may have a dollar sign in it. Of an agent, its models are settings. */
function isProse([section, , field]: Path): boolean {
  return section === "agents" && field !== undefined && field !== "model" && field !== "fallback"
}

/** A variable gives text, whatever the field wants; and ids were once written with commas between them. */
function meant(name: string, value: Json): Json {
  if (typeof value !== "string") return value
  if (name === "assistants") {
    const ids = value.split(",").map((id) => id.trim())
    return ids.filter((id) => id !== "")
  }
  if (FLAGS.has(name) && /^(?:true|1|yes|on)$/i.test(value.trim())) return true
  if (FLAGS.has(name) && /^(?:false|0|no|off|)$/i.test(value.trim())) return false
  return COUNTS.has(name) && /^\d+$/.test(value.trim()) ? Number(value) : value
}
