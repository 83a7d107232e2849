/**
 * A configuration as it is meant: variables filled in, fields under the names that this library has for them. Places stay
 * those of the file, and messages say the variable, not what it holds: that may be a secret.
 */
import type { Json } from "../../core/index.ts"
import type { Diagnostic, Document, Path, Report } from "../../definitions/document/index.ts"
import { quoted } from "../../definitions/document/shape-words.ts"
import { variables } from "../../definitions/expressions/index.ts"
import { COUNTS, FLAGS, OTHER_NAMES } from "./goal-shape.ts"

export interface Settled {
  readonly document: Document
  /** With variables as they are written in the file. */
  told(diagnostic: Diagnostic): Diagnostic
}

/** `path` is where the variable is written. */
export type Lookup = (name: string, path: Path) => string | undefined

export function settledDocument(document: Document, lookup: Lookup, report: Report): Settled {
  const { data } = document
  const filling = new Filling(document, lookup, report)
  const told = (one: Diagnostic) => ({ ...one, message: filling.asWritten(one.message) })
  if (typeof data !== "object" || data === null || Array.isArray(data)) return { document, told }
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
    settled[name] = meant(name, filling.filled(value, [key]))
  }
  const pathIn = ([first, ...rest]: Path): Path =>
    first === undefined ? [] : [written.get(String(first)) ?? first, ...rest]
  const place: Document["place"] = (path, part) => document.place(pathIn(path), part)
  return { document: { ...document, data: settled, place }, told }
}

class Filling {
  readonly #document: Document
  readonly #lookup: Lookup
  readonly #report: Report
  /** What texts with variables have become, and what is written in their place, both as messages quote them. */
  readonly #quotes = new Map<string, string>()

  constructor(document: Document, lookup: Lookup, report: Report) {
    this.#document = document
    this.#lookup = lookup
    this.#report = report
  }

  filled(value: Json, path: Path): Json {
    if (typeof value === "string") return isProse(path) ? value : this.#text(value, path)
    if (Array.isArray(value)) return value.map((one: Json, i) => this.filled(one, [...path, i]))
    if (typeof value !== "object" || value === null) return value
    const entries = Object.entries(value as Record<string, Json>)
    return Object.fromEntries(entries.map(([key, one]) => [key, this.filled(one, [...path, key])]))
  }

  asWritten(message: string): string {
    return [...this.#quotes].reduce(
      (text, [filled, written]) => text.replaceAll(filled, () => written),
      message,
    )
  }

  #text(value: string, path: Path): string {
    const { text, missing } = variables(value, (name) => this.#lookup(name, path))
    for (const { name, start, end } of missing) {
      const message = `There is no value for \${${name}}: set it in the environment, or write \${${name}:-default}.`
      this.#report.error("VARIABLE_MISSING", message, this.#document.place(path, { from: start, to: end }))
    }
    if (text !== value && text !== "") this.#quotes.set(quoted(text), quoted(value))
    return text
  }
}

/** What agents are told may have a dollar sign in it. Of an agent, its models are settings. */
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
