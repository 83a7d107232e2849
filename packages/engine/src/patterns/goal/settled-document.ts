/**
 * A configuration as it is meant: variables filled in, fields under the names that this library has for them. Places stay
 * those of the file, and messages say the variable, not what it holds: that may be a secret.
 */
import type { Json } from "../../core/index.ts"
import type { Diagnostic, Document, Path, Report } from "../../document/index.ts"
import { quotedValue } from "../../document/index.ts"
import { variables } from "../../expressions/index.ts"
import { COUNTS, FLAGS, OTHER_NAMES } from "./goal-shape.ts"

export interface Settled {
  readonly document: Document
  /** With variables as they are written in the file. */
  inFileTerms(diagnostic: Diagnostic): Diagnostic
}

/** `path` is where the variable is written. */
export type Lookup = (name: string, path: Path) => string | undefined

export function settledDocument(document: Document, lookup: Lookup, report: Report): Settled {
  const { data } = document
  const { fill, asWritten } = filler(document, lookup, report)
  const inFileTerms = (one: Diagnostic) => ({ ...one, message: asWritten(one.message) })
  if (typeof data !== "object" || data === null || Array.isArray(data)) return { document, inFileTerms }
  const written = new Map<string, string>()
  const settled: Record<string, Json> = {}
  for (const [key, value] of Object.entries(data as Record<string, Json>)) {
    const name = OTHER_NAMES.get(key) ?? key
    const before = written.get(name)
    if (before !== undefined) {
      const message = `\`${key}\` and \`${before}\` are the same field; set only one of them.`
      report.error("DUPLICATE_KEY", message, document.place([key], "key"))
      continue
    }
    written.set(name, key)
    settled[name] = meant(name, fill(value, [key]))
  }
  const pathIn = ([first, ...rest]: Path): Path =>
    first === undefined ? [] : [written.get(String(first)) ?? first, ...rest]
  const place: Document["place"] = (path, part) => document.place(pathIn(path), part)
  return { document: { ...document, data: settled, place }, inFileTerms }
}

/** Fills in variables; `asWritten` puts them back into messages that quote their values. */
function filler(document: Document, lookup: Lookup, report: Report) {
  /** Filled strings and what is written in their place, both as messages quote them. */
  const quotes = new Map<string, string>()

  function fillText(value: string, path: Path): string {
    const { text, missing } = variables(value, (name) => lookup(name, path))
    for (const { name, start, end } of missing) {
      const message = `There is no value for \${${name}}: set it in the environment, or write \${${name}:-default}.`
      report.error("VARIABLE_MISSING", message, document.place(path, { from: start, to: end }))
    }
    if (text !== value && text !== "") quotes.set(quotedValue(text), quotedValue(value))
    return text
  }

  function fill(value: Json, path: Path): Json {
    if (typeof value === "string") return isProse(path) ? value : fillText(value, path)
    if (Array.isArray(value)) return value.map((one: Json, i) => fill(one, [...path, i]))
    if (typeof value !== "object" || value === null) return value
    const entries = Object.entries(value as Record<string, Json>)
    return Object.fromEntries(entries.map(([key, one]) => [key, fill(one, [...path, key])]))
  }

  const asWritten = (message: string) =>
    [...quotes].reduce((text, [filled, written]) => text.replaceAll(filled, () => written), message)
  return { fill, asWritten }
}

/** Instructions of agents may contain a dollar sign. Only an agent's models are settings. */
function isProse([section, , field]: Path): boolean {
  return section === "agents" && field !== undefined && field !== "model" && field !== "fallback"
}

/** A variable gives text, whatever the field wants; and ids were once written with commas between them. */
function meant(name: string, value: Json): Json {
  if (name === "search" && typeof value === "object" && value !== null && !Array.isArray(value)) {
    const entries = Object.entries(value as Record<string, Json>)
    return Object.fromEntries(entries.map(([key, one]) => [key, meant(`search.${key}`, one)]))
  }
  if (typeof value !== "string") return value
  if (name === "assistants") {
    const ids = value.split(",").map((id) => id.trim())
    return ids.filter((id) => id !== "")
  }
  if (FLAGS.has(name) && /^(?:true|1|yes|on)$/i.test(value.trim())) return true
  if (FLAGS.has(name) && /^(?:false|0|no|off|)$/i.test(value.trim())) return false
  return COUNTS.has(name) && /^\d+$/.test(value.trim()) ? Number(value) : value
}
