/**
 * The offline model: a deterministic stand-in that needs no key and no network, so that a workflow works for somebody who
 * has neither yet. It is not a language model. It calls a tool or takes a route that the request speaks of, fills in JSON
 * by its schema, writes a plain SELECT over tables that its prompt lists, and else quotes the sentences of its prompt that
 * answer the request best, with their sources.
 *
 * 1. The same call gives the same reply; nothing is kept from one to the next.
 * 2. What it says is in its prompt; where nothing is, it says so.
 * 3. A reply in JSON fits the schema that was asked for.
 */
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV3GenerateResult,
  LanguageModelV3Source,
} from "@ai-sdk/provider"
import { calledBy } from "../called-by.ts"
import type { Model } from "../model.ts"
import { partsOf, streamOf } from "../stream-parts.ts"
import { answer, type Cited } from "./answer.ts"
import { type Chosen, chooseCalls } from "./choose-tool.ts"
import { fillJson } from "./fill-json.ts"
import { isSchema } from "./json-schema.ts"
import { knowledgeOf } from "./knowledge.ts"
import { OFFLINE_METADATA, tellOffline } from "./notice.ts"
import { type Reading, readPrompt } from "./reading.ts"
import { writeSelect } from "./write-select.ts"

export function offlineModel(): Model {
  return {
    specificationVersion: "v3",
    provider: "offline",
    modelId: "offline",
    supportedUrls: {},
    doGenerate: async (options) => reply(options),
    doStream: async (options) => ({
      stream: streamOf(partsOf(reply(options)), { signal: options.abortSignal }),
    }),
  }
}

function reply(options: LanguageModelV3CallOptions): LanguageModelV3GenerateResult {
  tellOffline()
  options.abortSignal?.throwIfAborted()
  const reading = readPrompt(options.prompt)
  const calls = chooseCalls(reading, options)
  const cut =
    calls.length > 0 ? { content: toContent(calls, reading, options), isCut: false } : say(reading, options)
  const finish = calls.length > 0 ? "tool-calls" : cut.isCut ? "length" : "stop"
  return {
    content: cut.content,
    finishReason: { unified: finish, raw: finish },
    // It counts no tokens: whoever needs a number estimates one, and marks it.
    usage: {
      inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: undefined, text: undefined, reasoning: undefined },
    },
    providerMetadata: { offline: { ...OFFLINE_METADATA } },
    warnings: (options.tools ?? [])
      .filter(({ type }) => type === "provider")
      .map(({ name }) => ({ type: "unsupported", feature: `provider tool ${name}` })),
  }
}

interface Said {
  readonly content: LanguageModelV3Content[]
  readonly isCut: boolean
}

function say(reading: Reading, { responseFormat, maxOutputTokens }: LanguageModelV3CallOptions): Said {
  if (responseFormat?.type === "json") {
    const schema = isSchema(responseFormat.schema) ? responseFormat.schema : { type: "object" }
    const value = fillJson(schema, knowledgeOf(reading, false), responseFormat.name)
    // Without a schema, any JSON will do: the answer under a name.
    const isBare = responseFormat.schema === undefined
    return {
      content: [{ type: "text", text: JSON.stringify(isBare ? { answer: answer(reading).text } : value) }],
      isCut: false,
    }
  }
  const select = writeSelect(reading)
  const { text, sources } = select === undefined ? answer(reading) : { text: select, sources: [] }
  const most = maxOutputTokens === undefined ? text.length : maxOutputTokens * CHARS_PER_TOKEN
  const isCut = text.length > most
  return {
    content: [{ type: "text", text: isCut ? text.slice(0, most) : text }, ...sources.map(toSource)],
    isCut,
  }
}

const CHARS_PER_TOKEN = 4

function toSource({ number, name }: Cited): LanguageModelV3Source {
  const id = String(number)
  if (/^https?:\/\//.test(name)) return { type: "source", sourceType: "url", id, url: name }
  return { type: "source", sourceType: "document", id, mediaType: "text/plain", title: name }
}

function toContent(
  calls: readonly Chosen[],
  reading: Reading,
  options: LanguageModelV3CallOptions,
): LanguageModelV3Content[] {
  const taken = new Set(reading.callIds)
  const { agent, ordinal = "" } = calledBy(options)
  const place = `${agent} ${ordinal} ${options.prompt.length}`
  return calls.map(({ name, args }) => {
    const input = JSON.stringify(args)
    let id = `offline_${digestOf(`${place} ${name} ${input}`)}`
    for (let again = 2; taken.has(id); again++)
      id = `offline_${digestOf(`${place} ${name} ${input} ${again}`)}`
    taken.add(id)
    return { type: "tool-call", toolCallId: id, toolName: name, input }
  })
}

/** Short and the same each time (FNV-1a): an id, not a secret. */
function digestOf(text: string): string {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0
  return hash.toString(36)
}
