/**
 * Adapts a call to the model's provider: schemas, files, reasoning, ids. Wrappers between the engine and a provider, such
 * as cassettes, receive calls unchanged and adapt those that they pass on, so a recording does not depend on the
 * provider.
 */
import { createHash } from "node:crypto"
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3FilePart,
  LanguageModelV3FunctionTool,
  LanguageModelV3TextPart,
  LanguageModelV3ToolResultOutput,
} from "@ai-sdk/provider"
import { isSuperstepError, type Json, SuperstepError } from "../../core/index.ts"
import { omitUndefined } from "../../core/internal.ts"
import {
  adaptsCalls,
  interfaceOf,
  type Message,
  type Model,
  type ModelInterface,
  type ModelRef,
  modelName,
  providerOf,
  settingsOf,
} from "../model.ts"
import { rootedSchema, type StrictLimits, type StrictSchema, strictSchema } from "./strict-schema.ts"

export function wireCall(model: Model, options: LanguageModelV3CallOptions): LanguageModelV3CallOptions {
  if (adaptsCalls(model)) return options
  const { prompt, providerOptions } = wireThinking(
    model,
    wirePrompt(model, options.prompt, options.providerOptions),
    options.providerOptions,
  )
  const { responseFormat, tools } = options
  return { ...options, prompt, ...wireSchemas(model, { responseFormat, tools, providerOptions }) }
}

// The messages of a call in the form that its provider accepts. A conversation is plain data that any model may continue;
// provider-specific parts are adapted here, right before the request.
//
// W1 reasoning is sent only to the model that wrote it, unchanged, and never without the reply that it led to.
// W2 a call that the provider made itself is sent only to that provider; as text, if the provider accepts it only as a
//    reference to its store and storing is off.
// W3 files have the form that the API accepts; if it accepts none, the call fails before a request is made.
// W4 ids of tool calls have characters and a length that every provider accepts.

type Assistant = Extract<Message, { role: "assistant" }>
type Part = Assistant["content"][number]

/** What the form of a message depends on. Files depend on more of the model. */
interface Receiver {
  readonly model: Model
  readonly name: string
  readonly via: ModelInterface
  /** False: the provider keeps nothing of earlier calls. */
  readonly isStored: boolean
}

function wirePrompt(model: Model, prompt: readonly Message[], providerOptions?: ProviderOptions): Message[] {
  const via = interfaceOf(model)
  const isStored = via !== "responses" || storeOf(providerOptions) !== false
  const to: Receiver = { model, name: modelName(model), via, isStored }
  const messages: Message[] = []
  for (const message of prompt) messages.push(...wiredOnce(message, to))
  return via === "messages" ? userFirst(messages) : messages
}

const wired = new WeakMap<Message, { readonly to: Receiver; readonly messages: readonly Message[] }>()

/** Caches by object: messages do not change, and each turn repeats those of all earlier turns. */
function wiredOnce(message: Message, to: Receiver): readonly Message[] {
  const known = wired.get(message)
  if (known !== undefined && isSame(known.to, to)) return known.messages
  const messages = wiredMessages(message, to)
  const hasFile = message.role === "user" && message.content.some(({ type }) => type === "file")
  if (!hasFile) wired.set(message, { to, messages })
  return messages
}

function isSame(one: Receiver, other: Receiver): boolean {
  return one.name === other.name && one.via === other.via && one.isStored === other.isStored
}

function wiredMessages(message: Message, { model, name, via, isStored }: Receiver): Message[] {
  const { own, writer } = withoutMark(message)
  switch (own.role) {
    case "system":
      return [own]
    case "user": {
      const content = own.content.map((part) => (part.type === "file" ? fileFor(model, via, part) : part))
      return [{ ...own, content: via === "messages" ? withoutBlanks(content) : content }]
    }
    case "assistant": {
      const written = isStored ? own.content : withoutStored(own.content)
      const content = assistantParts(written, via, writer === undefined || writer === name)
      return content.length === 0 ? [] : [{ ...own, content }]
    }
    case "tool":
      return resultMessages(own, via)
  }
}

/** Why the model cannot accept the files of these messages, or undefined. */
export function mediaProblem(model: Model, messages: readonly Message[]): SuperstepError | undefined {
  if (adaptsCalls(model)) return undefined
  try {
    wirePrompt(model, messages)
  } catch (error) {
    if (isSuperstepError(error, "MODEL_MEDIA_UNSUPPORTED")) return error
    throw error
  }
  return undefined
}

/** Anthropic accepts instructions only at the start, and requires a conversation to begin with the user. */
function userFirst(messages: readonly Message[]): Message[] {
  const system = messages.filter(({ role }) => role === "system")
  const rest = messages.filter(({ role }) => role !== "system")
  const start: Message = { role: "user", content: [{ type: "text", text: "(The conversation begins.)" }] }
  return [...system, ...(rest[0]?.role === "assistant" ? [start] : []), ...rest]
}

type UserContent = Extract<Message, { role: "user" }>["content"]

/** Anthropic rejects blank text. */
function withoutBlanks(content: UserContent): UserContent {
  const written = content.filter((part) => part.type !== "text" || part.text.trim() !== "")
  return written.length === 0 ? [{ type: "text", text: "(empty)" }] : written
}

/** Removes the engine's mark of the model that wrote a message. */
function withoutMark(message: Message): { readonly own: Message; readonly writer: unknown } {
  const { providerOptions } = message
  if (providerOptions?.superstep === undefined) return { own: message, writer: undefined }
  const { superstep, ...rest } = providerOptions
  const options = Object.keys(rest).length === 0 ? undefined : rest
  return { own: omitUndefined({ ...message, providerOptions: options }) as Message, writer: superstep.model }
}

function assistantParts(content: readonly Part[], via: ModelInterface, isOwn: boolean): Part[] {
  const parts = content.flatMap((part): Part[] => {
    if (part.type === "reasoning") return isOwn ? [part] : []
    if (isProviders(part)) return isOwn && via !== "chat" ? [part] : []
    if (part.type === "text" && part.text.trim() === "" && via === "messages") return []
    const kept = isOwn ? part : withoutOptions(part)
    return [kept.type === "tool-call" ? { ...kept, toolCallId: portableId(kept.toolCallId, via) } : kept]
  })
  // Reasoning without a reply: the reply was cut off.
  while (parts.at(-1)?.type === "reasoning") parts.pop()
  return parts
}

/** Part of a call that the provider executed. */
function isProviders(part: Part): boolean {
  return part.type === "tool-result" || (part.type === "tool-call" && part.providerExecuted === true)
}

function storeOf(options: ProviderOptions): unknown {
  return options?.openai?.store ?? options?.azure?.store
}

/**
 * OpenAI accepts the calls of its own tools, except web searches, only as references to stored items. Without storing
 * they are sent as text, and the reasoning that led to them is removed, because it is not allowed without them.
 */
function withoutStored(content: readonly Part[]): Part[] {
  const parts: Part[] = []
  for (const part of content) {
    if (!isProviders(part) || isWebSearch(part)) {
      parts.push(part)
    } else if (part.type === "tool-call") {
      while (parts.at(-1)?.type === "reasoning") parts.pop()
      parts.push({ type: "text", text: `(Ran ${part.toolName}: ${JSON.stringify(part.input)})` })
    } else if (part.type === "tool-result" && "value" in part.output) {
      parts.push({ type: "text", text: `(Result: ${JSON.stringify(part.output.value)})` })
    }
  }
  return parts
}

function isWebSearch(part: Part): boolean {
  return "toolName" in part && part.toolName.startsWith("web_search")
}

/** Removes the ids of items at the provider that wrote the part. */
function withoutOptions(part: Part): Part {
  const { providerOptions: _, ...rest } = part
  return rest as Part
}

function resultMessages(message: Extract<Message, { role: "tool" }>, via: ModelInterface): Message[] {
  const files: UserContent = []
  const content = message.content.map((part) => {
    if (part.type !== "tool-result") return part
    const { output, aside } = resultFor(via, part.output)
    files.push(...aside)
    return { ...part, toolCallId: portableId(part.toolCallId, via), output }
  })
  const results: Message = { ...message, content }
  return files.length === 0 ? [results] : [results, { role: "user", content: files }]
}

const MAX_ID = 40
const PORTABLE = /^[A-Za-z0-9_-]{1,40}$/

/** An id may come from another provider's model; not every provider accepts those. */
function portableId(id: string, via: ModelInterface): string {
  if (via === "other" || PORTABLE.test(id)) return id
  const mark = createHash("sha256").update(id).digest("hex").slice(0, 8)
  return `${id.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_ID - mark.length - 1)}_${mark}`
}

type ProviderOptions = LanguageModelV3CallOptions["providerOptions"]

/**
 * Disables thinking in a turn whose earlier thinking is missing, because another model began the turn or the thinking
 * contained a secret: Anthropic rejects such a request.
 */
function wireThinking(
  model: Model,
  prompt: Message[],
  options: ProviderOptions,
): { readonly prompt: Message[]; readonly providerOptions: ProviderOptions } {
  const isOn = thinkingOf(options) ?? thinkingOf(settingsOf(model).providerOptions)
  if (interfaceOf(model) !== "messages" || isOn !== "enabled" || prompt.at(-1)?.role !== "tool") {
    return { prompt, providerOptions: options }
  }
  const asked = prompt.findLastIndex(({ role }) => role === "user")
  const first = prompt.find(({ role }, at) => at > asked && role === "assistant") as Assistant | undefined
  const [start] = first?.content ?? []
  if (start?.type === "reasoning" && start.providerOptions?.anthropic !== undefined) {
    return { prompt, providerOptions: options }
  }
  const rest = prompt.map((message, at): Message => {
    if (at <= asked || message.role !== "assistant") return message
    return { ...message, content: message.content.filter(({ type }) => type !== "reasoning") }
  })
  const anthropic = { ...options?.anthropic, thinking: { type: "disabled" } }
  return { prompt: rest, providerOptions: { ...options, anthropic } }
}

function thinkingOf(options: ProviderOptions): unknown {
  const { thinking } = options?.anthropic ?? {}
  return typeof thinking === "object" && thinking !== null && "type" in thinking ? thinking.type : undefined
}

// Images, documents and audio in the form that an interface accepts.

type FilePart = LanguageModelV3FilePart
type TextPart = LanguageModelV3TextPart
type ContentPart = Extract<LanguageModelV3ToolResultOutput, { type: "content" }>["value"][number]

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/*"]
const PDF = "application/pdf"
const AUDIO = ["audio/wav", "audio/mp3", "audio/mpeg"]

type Types = readonly string[]

/** The types that an API accepts inline, by URL, and by the id of a file at OpenAI. */
const ACCEPTED: Readonly<
  Record<Exclude<ModelInterface, "other">, { inline: Types; urls: Types; ids: Types }>
> = {
  responses: { inline: [...IMAGES, PDF], urls: [...IMAGES, PDF], ids: [...IMAGES, PDF] },
  chat: { inline: [...IMAGES, PDF, ...AUDIO], urls: IMAGES, ids: [PDF] },
  messages: { inline: [...IMAGES, PDF], urls: [...IMAGES, PDF], ids: [] },
}

const FILE_ID = /^file-[A-Za-z0-9_-]+$/

/** Text is sent to every model; other files must have a type that the API accepts. */
function fileFor(model: Model, via: ModelInterface, part: FilePart): FilePart | TextPart {
  const file = { ...part, data: dataOf(part.data) }
  const isUrl = file.data instanceof URL
  if (via === "other") {
    if (!isUrl || fetches(model, file)) return file
    throw unsupported(model, `${nameOf(file)} by URL`, "Pass its bytes.")
  }
  const isId = typeof file.data === "string" && FILE_ID.test(file.data)
  if (!isUrl && !isId && isText(file.mediaType)) return { type: "text", text: textOf(file) }
  const { inline, urls, ids } = ACCEPTED[via]
  const taken = isUrl ? urls : isId ? ids : inline
  if (taken.includes(file.mediaType)) return file
  if (isId) throw unsupported(model, `${nameOf(file)} by its OpenAI id`, "Pass its bytes.")
  const types = taken.filter((type) => !type.endsWith("*")).join(", ")
  throw unsupported(model, isUrl ? `${nameOf(file)} by URL` : nameOf(file), `It accepts ${types}, and text.`)
}

/** URLs are strings in a conversation, which is plain data. */
function dataOf(data: FilePart["data"]): FilePart["data"] {
  if (typeof data !== "string") return data
  if (/^https?:\/\//i.test(data)) return new URL(data)
  return data
}

function fetches({ supportedUrls }: Model, { data, mediaType }: FilePart): boolean {
  // A promise is allowed here, but no known package returns one; the package then decides.
  if ("then" in supportedUrls) return true
  return Object.entries(supportedUrls as Record<string, RegExp[]>).some(([type, patterns]) => {
    const isType =
      type === "*" || type === "*/*" || type === mediaType || type === `${mediaType.split("/")[0]}/*`
    return isType && patterns.some((pattern) => pattern.test(String(data)))
  })
}

function isText(mediaType: string): boolean {
  return (
    /^text\/|^application\/(?:json|xml|yaml|x-yaml|javascript|csv)$|\+(?:json|xml)$/.test(mediaType) &&
    mediaType !== "image/svg+xml"
  )
}

function textOf({ data, filename }: FilePart): string {
  const bytes = typeof data === "string" ? Buffer.from(data, "base64") : (data as Uint8Array)
  const text = new TextDecoder().decode(bytes)
  return filename === undefined ? text : `${filename}:\n\n${text}`
}

function nameOf({
  filename,
  mediaType,
}: {
  readonly filename?: string | undefined
  readonly mediaType: string
}): string {
  return filename === undefined ? `a file of type ${mediaType}` : `the file "${filename}" (${mediaType})`
}

function unsupported(model: Model, what: string, advice: string): SuperstepError {
  const text = `${modelName(model)} cannot accept ${what}. ${advice}`
  return new SuperstepError("MODEL_MEDIA_UNSUPPORTED", text, { retryable: false })
}

/** A tool's result, and the files that must follow it in a user message if results can only be text. */
function resultFor(
  via: ModelInterface,
  output: LanguageModelV3ToolResultOutput,
): { readonly output: LanguageModelV3ToolResultOutput; readonly aside: readonly (FilePart | TextPart)[] } {
  if (output.type !== "content" || via === "other") return { output, aside: [] }
  if (via !== "chat")
    return { output: { type: "content", value: output.value.map((part) => readable(via, part)) }, aside: [] }
  const aside: FilePart[] = []
  const lines = output.value.map((part) => {
    const text = readable(via, part)
    if (text.type === "text") return text.text
    const file = fileOf(text)
    if (file === undefined) return "[a file that this model cannot read]"
    aside.push(file)
    return `[${nameOf(file)}: it follows below]`
  })
  return { output: { type: "text", value: lines.join("\n") }, aside }
}

/** Converts a file that the API does not accept to text: its content, or a note that it exists. */
function readable(via: Exclude<ModelInterface, "other">, part: ContentPart): ContentPart {
  const file = fileOf(part)
  if (file === undefined) return part
  const isUrl = file.data instanceof URL
  if (!isUrl && isText(file.mediaType)) return { type: "text", text: textOf(file) }
  if (ACCEPTED[via][isUrl ? "urls" : "inline"].includes(file.mediaType)) return part
  return { type: "text", text: `[${nameOf(file)}, which this model cannot read]` }
}

function fileOf(part: ContentPart): FilePart | undefined {
  switch (part.type) {
    case "image-data":
    case "file-data": {
      const { data, mediaType } = part
      const filename = "filename" in part ? part.filename : undefined
      return { type: "file", data, mediaType, ...(filename !== undefined && { filename }) }
    }
    case "image-url":
      return { type: "file", data: new URL(part.url), mediaType: "image/*" }
    case "file-url":
      return { type: "file", data: new URL(part.url), mediaType: PDF }
    default:
      return undefined
  }
}

// The schemas of a call in the form that its provider accepts, and the restoring of values that a model wrote.

type SchemaOptions = Pick<LanguageModelV3CallOptions, "responseFormat" | "tools" | "providerOptions">
type Options = { readonly [Key in keyof SchemaOptions]: SchemaOptions[Key] | undefined }
type JsonSchema = LanguageModelV3FunctionTool["inputSchema"]

/** OpenAI's own limits. Azure and compatible servers have OpenAI's earlier limits. */
const OPENAI: StrictLimits = { levels: 10, properties: 5_000 }
const OTHERS: StrictLimits = { levels: 5, properties: 100 }

/**
 * OpenAI's and compatible APIs enforce answers; only OpenAI's own enforce tools, because a server must support the
 * option.
 */
function wireSchemas(model: Pick<Model, "provider">, options: Options): SchemaOptions {
  const provider = providerOf(model)
  const isOpenAi = isOpenAiLike(model)
  const limits = provider === "openai" ? OPENAI : OTHERS
  const { responseFormat, tools, providerOptions } = options
  const isJson = responseFormat?.type === "json" && responseFormat.schema !== undefined
  const answer = isJson ? wireSchema(responseFormat.schema as Json, isOpenAi ? limits : undefined) : undefined
  const enforcesTools = isOpenAi && ENFORCES_TOOLS.has(provider)
  const wired: SchemaOptions = {}
  if (isJson) wired.responseFormat = { ...responseFormat, schema: answer?.schema as JsonSchema }
  else if (responseFormat !== undefined) wired.responseFormat = responseFormat
  if (tools !== undefined) {
    wired.tools = tools.map((tool) =>
      tool.type === "function" ? wireTool(tool, enforcesTools ? limits : undefined) : tool,
    )
  }
  if (isOpenAi && answer?.problem !== undefined) wired.providerOptions = notStrict(provider, providerOptions)
  else if (providerOptions !== undefined) wired.providerOptions = providerOptions
  return wired
}

function isOpenAiLike(model: Pick<Model, "provider">): boolean {
  const via = interfaceOf(model)
  return via === "responses" || via === "chat"
}

const ENFORCES_TOOLS = new Set(["openai", "azure"])
const ENFORCES_ANSWERS = new Set(["openai", "azure", "openai-compatible"])

/**
 * Whether one of the models enforces the schemas of answers, and of tools. Works for names of models that are not loaded
 * yet.
 */
export function enforcementOf(models: readonly ModelRef[]): {
  readonly answers: boolean
  readonly tools: boolean
} {
  const enforcing = models.flatMap((model) => {
    if (typeof model === "string") return [model.split("/", 1)[0] ?? ""]
    if (!("doGenerate" in model)) return [model.provider]
    // A model object may be any compatible server.
    return isOpenAiLike(model) ? [providerOf(model), "openai-compatible"] : []
  })
  return {
    answers: enforcing.some((provider) => ENFORCES_ANSWERS.has(provider)),
    tools: enforcing.some((provider) => ENFORCES_TOOLS.has(provider)),
  }
}

function wireTool(
  tool: LanguageModelV3FunctionTool,
  limits: StrictLimits | undefined,
): LanguageModelV3FunctionTool {
  const { schema, problem } = wireSchema(tool.inputSchema as Json, limits)
  const inputSchema = schema as JsonSchema
  // Without the option, the Responses API makes optional properties required.
  return limits === undefined
    ? { ...tool, inputSchema }
    : { ...tool, inputSchema, strict: problem === undefined }
}

/** The options that the packages of OpenAI and of compatible servers read. */
function notStrict(
  provider: string,
  options: Options["providerOptions"],
): NonNullable<Options["providerOptions"]> {
  const all = { ...options }
  for (const name of new Set(["openai", "azure", "openaiCompatible", provider])) {
    all[name] = { strictJsonSchema: false, ...all[name] }
  }
  return all
}

interface WireSchema {
  readonly schema: Json
  /** Why a provider cannot enforce the schema. */
  readonly problem?: string | undefined
}

const known = new Map<StrictLimits | undefined, WeakMap<object, WireSchema>>()

/** Schemas do not change, so each is rewritten once. Without limits, no provider enforces it. */
function wireSchema(schema: Json, limits: StrictLimits | undefined): WireSchema {
  if (typeof schema !== "object" || schema === null) return { schema }
  const made = known.get(limits) ?? new WeakMap<object, WireSchema>()
  known.set(limits, made)
  let found = made.get(schema)
  if (found === undefined) {
    const strict = limits === undefined ? { problem: "" } : strictSchema(schema, limits)
    found =
      "schema" in strict
        ? { schema: strict.schema as Json }
        : { schema: rootedSchema(schema).schema as Json, problem: strict.problem }
    made.set(schema, found)
  }
  return found
}

/** Why OpenAI cannot enforce a schema, or undefined. */
export function strictProblem(schema: Json): string | undefined {
  return wireSchema(schema, OPENAI).problem
}

const restorers = new WeakMap<object, StrictSchema["restore"]>()

/**
 * Restores a value that a model wrote for a schema, in whichever form the schema was sent: removes nulls of absent
 * properties, converts entries to a map, and unwraps the root.
 */
export function restoreValue(schema: Json | undefined, value: Json): Json {
  if (typeof schema !== "object" || schema === null) return value
  let restore = restorers.get(schema)
  if (restore === undefined) {
    const strict = strictSchema(schema, OPENAI)
    restore = "restore" in strict ? strict.restore : rootedSchema(schema).restore
    restorers.set(schema, restore)
  }
  return restore(value)
}
