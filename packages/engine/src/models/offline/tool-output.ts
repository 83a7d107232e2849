/** A tool's result as passages: text as it is, JSON as lines, search results with their sources. */
import type { LanguageModelV3ToolResultOutput, LanguageModelV3ToolResultPart } from "@ai-sdk/provider"
import { jsonPassages, named } from "./json-passages.ts"
import { type Passage, passage } from "./passage.ts"
import { splitPassages } from "./passages.ts"

export interface ToolOutput {
  readonly tool: string
  readonly failed: boolean
  /** The whole of it as text. */
  readonly text: string
  readonly passages: readonly Passage[]
}

const WEIGHT = 1.2
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
  const passages = jsonPassages(parsed, place, WEIGHT)
  return { tool: part.toolName, failed, text: passages.map(({ text }) => text).join("\n"), passages }
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
