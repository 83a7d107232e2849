/**
 * The offline model: a deterministic stand-in that needs no key and no network. It is not a language model. It calls a
 * tool that the request names, fills in JSON by its schema, and otherwise quotes the sentences of its prompt that match
 * the request best, with their sources. It does not calculate, and it has no special cases for particular prompts.
 *
 * 1. The same call gets the same reply; the model has no state.
 * 2. Every answer is quoted from the prompt; if nothing matches, the reply says so.
 * 3. A JSON reply matches the requested schema.
 */
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV3FunctionTool,
  LanguageModelV3GenerateResult,
  LanguageModelV3Source,
} from "@ai-sdk/provider"
import { cutText } from "../../text/index.ts"
import { spaced, tellingWords } from "../../text/internal.ts"
import { partsOf, standInUsage, streamOf } from "../call/reply-stream.ts"
import { calledBy, type Model } from "../model.ts"
import { parseIfJson } from "../redact.ts"
import { fillSchema } from "./fill-schema.ts"
import { answer, type Cited, factsOf, type Reading, readPrompt } from "./quote.ts"
import { isSchema, type SchemaNode, schemasIn, strings } from "./schema-readings.ts"

const OFFLINE_METADATA = { offline: true, note: "not a language model" } as const

/** Printed to the terminal once per process. */
export const OFFLINE_NOTICE =
  "Using the offline model: a deterministic stand-in that quotes its prompt, not a language model. " +
  "For real answers set a model, for example openai/gpt-5."

let isNoticeShown = false

/** Prints the notice once per process, and only to a terminal. */
export function showOfflineNotice(
  terminal: { readonly isTTY?: boolean | undefined; write(text: string): unknown } = process.stderr,
): void {
  if (isNoticeShown || !terminal.isTTY) return
  isNoticeShown = true
  terminal.write(`${OFFLINE_NOTICE}\n`)
}

export function offlineModel(): Model {
  return {
    specificationVersion: "v3",
    provider: "offline",
    modelId: "offline",
    // Accepts any URL, and fetches none.
    supportedUrls: { "*": [/^https?:/] },
    doGenerate: (options) => reply(options),
    doStream: async (options) => ({
      stream: streamOf(partsOf(await reply(options)), { signal: options.abortSignal }),
    }),
  }
}

async function reply(options: LanguageModelV3CallOptions): Promise<LanguageModelV3GenerateResult> {
  showOfflineNotice()
  options.abortSignal?.throwIfAborted()
  const reading = readPrompt(options.prompt)
  const call = await chooseCall(reading, options)
  const { content, isTruncated } =
    call === undefined
      ? await answerParts(reading, options)
      : { content: [toToolCall(call, reading, options)], isTruncated: false }
  const finish = call !== undefined ? "tool-calls" : isTruncated ? "length" : "stop"
  return {
    content,
    finishReason: { unified: finish, raw: finish },
    // It reports no tokens: the engine estimates them, and marks them as estimates.
    usage: standInUsage(),
    providerMetadata: { offline: { ...OFFLINE_METADATA } },
    warnings: (options.tools ?? [])
      .filter(({ type }) => type === "provider")
      .map(({ name }) => ({ type: "unsupported", feature: `provider tool ${name}` })),
  }
}

const CHARS_PER_TOKEN = 4

async function answerParts(
  reading: Reading,
  { responseFormat, maxOutputTokens }: LanguageModelV3CallOptions,
): Promise<{ content: LanguageModelV3Content[]; isTruncated: boolean }> {
  if (responseFormat?.type === "json") {
    const { schema, name } = responseFormat
    // Without a schema, any JSON is valid: an object with the answer.
    const value = isSchema(schema)
      ? (await fillSchema(schema, factsOf(reading), name)).value
      : { answer: answer(reading).text }
    return { content: [{ type: "text", text: JSON.stringify(value) }], isTruncated: false }
  }
  const { text, sources } = answer(reading)
  const said = maxOutputTokens === undefined ? text : cutText(text, maxOutputTokens * CHARS_PER_TOKEN)
  return { content: [{ type: "text", text: said }, ...sources.map(toSource)], isTruncated: said !== text }
}

function toSource({ number, name }: Cited): LanguageModelV3Source {
  const id = String(number)
  if (/^https?:\/\//.test(name)) return { type: "source", sourceType: "url", id, url: name }
  return { type: "source", sourceType: "document", id, mediaType: "text/plain", title: name }
}

/** The id is deterministic, and unique within the conversation. */
function toToolCall(
  { name, args }: Chosen,
  { callIds }: Reading,
  options: LanguageModelV3CallOptions,
): LanguageModelV3Content {
  const { agent, ordinal = "" } = calledBy(options)
  const input = JSON.stringify(args)
  const call = `${agent} ${ordinal} ${options.prompt.length} ${name} ${input}`
  let id = `offline_${digestOf(call)}`
  for (let again = 2; callIds.has(id); again++) id = `offline_${digestOf(`${call} ${again}`)}`
  return { type: "tool-call", toolCallId: id, toolName: name, input }
}

/** A short deterministic hash (FNV-1a) for ids; not cryptographic. */
function digestOf(text: string): string {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0
  return hash.toString(36)
}

// Tool calls: a tool is called if the request names it.
//
// 1. No call is repeated for the same user message.
// 2. Unless `toolChoice` requires a call, a tool is called only if the request names it and has its arguments.

interface Chosen {
  readonly name: string
  readonly args: unknown
  /** Whether the request has every argument that the tool requires. */
  readonly isComplete: boolean
}

type Tools = Pick<LanguageModelV3CallOptions, "tools" | "toolChoice">

async function chooseCall(reading: Reading, { tools = [], toolChoice }: Tools): Promise<Chosen | undefined> {
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

/** The minimum score: one word of the tool's name or enum values, or two words of its description. */
const NAMED = 2

/** Words that many tools have in common, and that therefore identify none of them. */
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
  const { value, invented } = await fillSchema(schema, facts)
  const isComplete = strings(Object(schema).required ?? []).every((name) => !invented.has(name))
  return { name: tool.name, args: Object(value), isComplete }
}

function isMade({ calls }: Reading, { name, args }: Chosen): boolean {
  const made = calls.filter((call) => call.name === name).map(({ input }) => JSON.stringify(dataOf(input)))
  return made.includes(JSON.stringify(args))
}

function dataOf(input: unknown): unknown {
  return typeof input === "string" ? parseIfJson(input) : input
}
