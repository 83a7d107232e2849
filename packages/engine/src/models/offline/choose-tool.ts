/**
 * Calls tools that the request names.
 *
 * 1. No call is made twice for one user message.
 * 2. Unless a call is demanded, a tool is called only if the request names it and has its arguments.
 */
import type { LanguageModelV3CallOptions, LanguageModelV3FunctionTool } from "@ai-sdk/provider"
import { spaced, tellingWords } from "../../text/internal.ts"
import { parseIfJson } from "../redact.ts"
import { fillSchema } from "./fill-schema.ts"
import { factsOf } from "./quote.ts"
import type { Reading } from "./reading.ts"
import { isSchema, type SchemaNode, schemasIn, strings } from "./schema-readings.ts"

export interface Chosen {
  readonly name: string
  readonly args: unknown
  /** The request has every argument that the tool requires. */
  readonly isComplete: boolean
}

type Tools = Pick<LanguageModelV3CallOptions, "tools" | "toolChoice">

export async function chooseCall(
  reading: Reading,
  { tools = [], toolChoice }: Tools,
): Promise<Chosen | undefined> {
  const functions = tools.filter((tool) => tool.type === "function")
  if (toolChoice?.type === "none") return undefined
  if (toolChoice?.type === "tool") {
    const named = functions.find(({ name }) => name === toolChoice.toolName)
    return named === undefined ? undefined : await callOf(reading, named)
  }
  const scored = functions.map((tool) => ({ tool, score: scoreOf(tool, reading.request) }))
  scored.sort((a, b) => b.score - a.score)
  for (const { tool, score } of scored) {
    if (score < NAMED) break
    const call = await callOf(reading, tool)
    if (call.isComplete && !isMade(reading, call)) return call
  }
  const [first] = scored
  return toolChoice?.type === "required" && first !== undefined
    ? await callOf(reading, first.tool)
    : undefined
}

/** A word of its name or of a value that it takes, or two words of its description. */
const NAMED = 2

/** Words that many tools have, and that therefore name none of them. */
const COMMON = new Set(
  tellingWords(
    "tool use user agent given return result call input output string value answer question help task handle handoff hand transfer route over conversation think thought todo file list current",
  ),
)

function scoreOf(
  { name, description = "", inputSchema }: LanguageModelV3FunctionTool,
  request: string,
): number {
  const labels = Object.values(schemasIn(Object(inputSchema).properties)).flatMap((part) =>
    strings(Object(part).enum),
  )
  const own = new Set(tellingWords([name, ...labels].map(spaced).join(" ")))
  const about = new Set(tellingWords(description))
  const score = (word: string) => (own.has(word) ? NAMED : about.has(word) ? 1 : 0)
  return tellingWords(request).reduce((sum, word) => sum + (COMMON.has(word) ? 0 : score(word)), 0)
}

async function callOf(reading: Reading, tool: LanguageModelV3FunctionTool): Promise<Chosen> {
  const schema: SchemaNode = isSchema(tool.inputSchema) ? (tool.inputSchema as SchemaNode) : {}
  const made = reading.calls.filter(({ name }) => name === tool.name)
  const used = new Set(made.flatMap(({ input }) => Object.values(Object(dataOf(input))).map(String)))
  const facts = factsOf(reading, { about: tool.description ?? "", used })
  const { value, madeUp } = await fillSchema(schema, facts)
  const isComplete = strings(Object(schema).required ?? []).every((name) => !madeUp.has(name))
  return { name: tool.name, args: Object(value), isComplete }
}

function isMade({ calls }: Reading, { name, args }: Chosen): boolean {
  const made = calls.filter((call) => call.name === name).map(({ input }) => JSON.stringify(dataOf(input)))
  return made.includes(JSON.stringify(args))
}

function dataOf(input: unknown): unknown {
  return typeof input === "string" ? parseIfJson(input) : input
}
