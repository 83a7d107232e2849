/** A tool's result as passages: text as it is, JSON as lines, search results with their sources. */
import type { LanguageModelV3ToolResultOutput, LanguageModelV3ToolResultPart } from "@ai-sdk/provider"
import { type Passage, passage, splitPassages } from "./passages.ts"

export interface ToolOutput {
  readonly tool: string
  readonly failed: boolean
  /** The whole of it as text. */
  readonly text: string
  readonly passages: readonly Passage[]
}

const WEIGHT = 1.2
const MAX_ROWS = 200
const TEXT_KEYS = [
  "text",
  "content",
  "snippet",
  "body",
  "output",
  "summary",
  "description",
  "excerpt",
  "answer",
  "result",
]
const SOURCE_KEYS = ["url", "source", "path", "file", "filename", "link", "uri", "title"]
/** Arguments that say where a result is from. */
const PLACE_KEYS = ["path", "file", "filename", "url", "uri", "file_path"]

export function readToolOutput(part: LanguageModelV3ToolResultPart, input: unknown): ToolOutput {
  const { failed, value } = outcomeOf(part.output)
  const place = failed ? undefined : named(input, PLACE_KEYS)
  const parsed = typeof value === "string" ? parseJson(value) : value
  if (typeof parsed === "string") {
    const { rest, passages } = splitPassages(parsed, WEIGHT)
    const own = rest === "" ? [] : [passage(rest, place, undefined, WEIGHT)]
    return { tool: part.toolName, failed, text: parsed.trim(), passages: [...own, ...passages] }
  }
  const passages = jsonPassages(parsed, place)
  return { tool: part.toolName, failed, text: passages.map(({ text }) => text).join("\n"), passages }
}

/** One line per value: `name: Paris, temperature: 21`. */
function asLine(value: unknown, depth = 0): string {
  if (value === null || value === undefined) return "none"
  if (typeof value !== "object") return String(value).trim()
  if (depth > 4) return "…"
  if (Array.isArray(value))
    return value
      .slice(0, 20)
      .map((item) => asLine(item, depth + 1))
      .join(", ")
  return Object.entries(value)
    .map(([key, item]) => `${key.replaceAll("_", " ")}: ${asLine(item, depth + 1)}`)
    .join(", ")
}

function jsonPassages(value: unknown, place: string | undefined): Passage[] {
  const rows = Array.isArray(value) ? value : rowsOf(value)
  if (rows === undefined) return [jsonPassage(value, place)]
  return rows.slice(0, MAX_ROWS).map((row) => jsonPassage(row, place))
}

/** The list of an object that holds little else: `{ results: [ … ] }`. */
function rowsOf(value: unknown): unknown[] | undefined {
  if (typeof value !== "object" || value === null) return undefined
  const lists = Object.values(value).filter((item) => Array.isArray(item) && item.length > 0)
  const only = lists.length === 1 ? (lists[0] as unknown[]) : undefined
  return only?.every((item) => typeof item === "object" && item !== null) ? only : undefined
}

function jsonPassage(value: unknown, place: string | undefined): Passage {
  const text = named(value, TEXT_KEYS)
  const source = named(value, SOURCE_KEYS) ?? place
  if (text !== undefined && (text.length > 40 || source !== undefined))
    return passage(text, source, undefined, WEIGHT)
  return passage(asLine(value), source, undefined, WEIGHT)
}

function named(value: unknown, keys: readonly string[]): string | undefined {
  if (typeof value !== "object" || value === null) return undefined
  for (const key of keys) {
    const found = (value as Record<string, unknown>)[key]
    if (typeof found === "string" && found.trim() !== "") return found.trim()
  }
  return undefined
}

function parseJson(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function outcomeOf(output: LanguageModelV3ToolResultOutput): { failed: boolean; value: unknown } {
  switch (output.type) {
    case "text":
    case "json":
      return { failed: false, value: output.value }
    case "error-text":
    case "error-json":
      return { failed: true, value: output.value }
    case "execution-denied":
      return { failed: true, value: output.reason ?? "It was not allowed." }
    case "content":
      return {
        failed: false,
        value: output.value.map((item) => (item.type === "text" ? item.text : "")).join("\n"),
      }
  }
}
