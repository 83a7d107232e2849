/**
 * An answer as text, or as data that matches a schema. An answer that does not match goes back to the model with the
 * reason.
 */
import { type Json, SuperstepError } from "../core/index.ts"
import type { Message, ModelCall, ModelRef, ModelReply } from "../models/index.ts"
import { enforcementOf, restoreValue, strictProblem } from "../models/internal.ts"
import { jsonSchemaOf, type Schema, validate } from "../runtime/index.ts"
import { andThen, type MaybePromise } from "../runtime/internal.ts"
import { clipped } from "../text/index.ts"
import type { Tool } from "../tools/index.ts"
import { textOf, userText } from "./conversation.ts"

type ResponseFormat = NonNullable<ModelCall["responseFormat"]>
type FormatSchema = Extract<ResponseFormat, { type: "json" }>["schema"]

type Answer = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly reason: string }

export interface OutputFormat {
  readonly responseFormat?: ResponseFormat | undefined
  read(reply: ModelReply): MaybePromise<Answer>
}

const TEXT: OutputFormat = { read: (reply) => ({ ok: true, value: textOf(reply) }) }

export function outputFormat(agent: string, schema: Schema | undefined): OutputFormat {
  if (schema === undefined) return TEXT
  // The model writes the schema's input; the schema's output is the agent's answer.
  const shape = jsonSchemaOf(schema, "input")
  const offered = shape === undefined ? undefined : closed(shape)
  const { title } = Object(shape) as { readonly title?: unknown }
  const name = (typeof title === "string" ? title : agent).replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, 64)
  return {
    responseFormat: {
      type: "json",
      name: name === "" ? "answer" : name,
      ...(offered === undefined ? {} : { schema: offered as NonNullable<FormatSchema> }),
    },
    read: (reply) => readJson(schema, offered, textOf(reply)),
  }
}

/** The first value of the answer that matches, in the form that the provider was sent or in the schema's own. */
async function readJson(schema: Schema, shape: Json | undefined, text: string): Promise<Answer> {
  let refused: Answer | undefined
  for (const value of jsonAnswers(text)) {
    const restored = restoreValue(shape, value)
    const checked = await validate(schema, restored)
    if (checked.ok) return checked
    refused ??= checked
    // The model may have written the schema's own form.
    const asWritten = await validate(schema, value)
    if (asWritten.ok) return asWritten
  }
  return refused ?? { ok: false, reason: "it is not JSON" }
}

const REPAIRS = 2

/** `fail`: an answer that was cut off fails the task. `continue`: the model continues it. `accept`: it is the answer. */
export type OnTruncated = "fail" | "continue" | "accept"

/** The agent that answers. */
interface Answering {
  readonly name: string
  readonly output: OutputFormat
  readonly options: { readonly repairs?: number | undefined; readonly onTruncated?: OnTruncated | undefined }
}

/** The answer, or the message to send before the model is called again; undefined if no message is needed. */
type Read = { readonly value: unknown } | { readonly repair: Message | undefined }

/** How often a model may continue an answer that was cut off. */
const CONTINUATIONS = 4
const CONTINUE = "Your answer was cut off. Continue exactly where it ends, and repeat nothing."
const SHORTER = "Your answer was cut off, because it is too long. Write the whole answer again, shorter."

/**
 * Reads the answers of a conversation. An answer that does not match goes back to the model, up to `repairs` times. One
 * that was cut off or refused does not: the next one would end the same way.
 */
export class AnswerReader {
  readonly #first: Answering
  #repaired = 0
  #continued = 0
  /** The parts so far of an answer that was cut off. */
  #before = ""

  constructor(first: Answering) {
    this.#first = first
  }

  /** The format of the agent that took over, or else that of the first agent. */
  formatOf(speaker: Answering): OutputFormat {
    return speaker.output.responseFormat === undefined ? this.#first.output : speaker.output
  }

  read(reply: ModelReply, speaker: Answering = this.#first): MaybePromise<Read> {
    const { name, options } = speaker
    const format = this.formatOf(speaker)
    const text = textOf(reply)
    if (reply.finish === "pause") return { repair: undefined }
    if (isDeclined(reply) && (text === "" || format.responseFormat !== undefined)) throw declined(name, reply)
    const isTruncated = reply.finish === "length"
    const { onTruncated = "accept", repairs = REPAIRS } = options
    if (isTruncated && onTruncated === "fail") throw truncated(name, reply)
    if (isTruncated && onTruncated === "continue") return { repair: this.#continuation(name, reply, format) }
    const whole = this.#before === "" ? reply : withText(reply, this.#before + text)
    return andThen(format.read(whole), (answer): Read => {
      if (answer.ok) return { value: answer.value }
      if (isTruncated) throw truncated(name, reply)
      return { repair: this.#repair(name, answer.reason, repairs) }
    })
  }

  #repair(name: string, reason: string, repairs: number): Message {
    if (this.#repaired++ < repairs) {
      const words = `Your answer does not match the schema: ${reason}. Answer again, with JSON that matches the schema and nothing else.`
      return userText(words)
    }
    const words = `The answer of agent "${name}" does not match its output schema after ${repairs} repairs: ${reason}. Simplify the schema, make the instructions more specific, or allow more repairs.`
    throw new SuperstepError("OUTPUT_INVALID", words, { retryable: false })
  }

  /** Reads a value that is the final answer: no model is called again. `from` names its source in errors. */
  async readFinal(value: Json, from: string, speaker: Answering = this.#first): Promise<unknown> {
    const text = typeof value === "string" ? value : JSON.stringify(value)
    const answer = await this.formatOf(speaker).read({
      content: [{ type: "text", text }],
      finish: "stop",
      model: "",
      usage: {},
    })
    if (answer.ok) return answer.value
    const problem = `The answer of agent "${speaker.name}", from ${from}, does not match its output schema: ${answer.reason}.`
    throw new SuperstepError("OUTPUT_INVALID", problem, { retryable: false })
  }

  /** Text is continued; JSON is written again, because a provider that enforces a schema starts over. */
  #continuation(name: string, reply: ModelReply, format: OutputFormat): Message {
    if (this.#continued++ >= CONTINUATIONS) throw truncated(name, reply)
    if (format.responseFormat !== undefined) return userText(SHORTER)
    this.#before += textOf(reply)
    return userText(CONTINUE)
  }
}

function withText(reply: ModelReply, text: string): ModelReply {
  return { ...reply, content: [{ type: "text", text }] }
}

function isDeclined({ finish }: ModelReply): boolean {
  return finish === "content-filter" || finish === "refusal"
}

/** The provider's filter left no answer, or the model declined to give a structured one. */
function declined(agent: string, reply: ModelReply): SuperstepError {
  const { model, finish } = reply
  const said = clipped(textOf(reply).trim(), 200)
  const text =
    finish === "refusal" && said !== ""
      ? `${model} refused to answer agent "${agent}": ${said} Change the prompt or the model.`
      : `The content filter of ${model} stopped the reply to agent "${agent}". Change the prompt or the model.`
  const code = finish === "refusal" && said !== "" ? "MODEL_REFUSED" : "MODEL_FILTERED"
  return new SuperstepError(code, text, { retryable: false })
}

function truncated(agent: string, { model }: ModelReply): SuperstepError {
  const text = `The answer of agent "${agent}" was cut off: ${model} reached its limit of output tokens. Raise settings.maxOutputTokens, ask for less, or set onTruncated to "continue".`
  return new SuperstepError("MODEL_TRUNCATED", text, { retryable: false })
}

/**
 * Sets `additionalProperties: false` on objects, as providers that enforce a schema require. An object composed of
 * several schemas stays unchanged: closing one of them would exclude the properties of the others.
 */
function closed(schema: Json, isPart = false): Json {
  if (Array.isArray(schema)) return schema.map((one: Json) => closed(one, isPart))
  if (typeof schema !== "object" || schema === null) return schema
  const { $schema: _, ...own } = schema as Shape
  const result = mapped(own, (value, key) => {
    if (DATA.has(key)) return value
    if (MAPS.has(key)) return isShape(value) ? mapped(value, (one) => closed(one)) : value
    return closed(value, key === "allOf")
  })
  const isWhole = !isPart && own.type === "object" && own.properties !== undefined
  const isOpen = OTHERS.every((key) => own[key] === undefined)
  return isWhole && isOpen ? { ...result, additionalProperties: false } : result
}

type Shape = { readonly [key: string]: Json | undefined }

/** Keywords whose values are data, not schemas. */
const DATA = new Set(["enum", "const", "default", "examples", "required"])
/** Keywords whose values are schemas by name, whatever the names are. */
const MAPS = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"])
/** Keywords that allow an object to have properties besides its own. */
const OTHERS = [
  "additionalProperties",
  "unevaluatedProperties",
  "patternProperties",
  "allOf",
  "anyOf",
  "oneOf",
  "$ref",
]

function isShape(value: Json): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function mapped(shape: Shape, change: (value: Json, key: string) => Json): { [key: string]: Json } {
  const entries = Object.entries(shape).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, change(value, key)] as const],
  )
  return Object.fromEntries(entries)
}

/** The node's output schema. The value was already parsed; a schema that transforms must not parse it again. */
export function alreadyRead(schema: Schema | undefined): Schema | undefined {
  if (schema === undefined) return undefined
  return { "~standard": { ...schema["~standard"], validate: (value: unknown) => ({ value }) } }
}

// Finds JSON in a model's answer: alone, in a code block, or inside sentences. Takes linear time, because the text is
// untrusted.

/** The JSON of an answer, which some models wrap in a code block. Undefined if it is not JSON. */
export function jsonAnswer(text: string): { readonly value: Json } | undefined {
  return parsed(withoutFence(text))
}

/** Not a single pattern: that would take cubic time in the length of the answer. */
function withoutFence(text: string): string {
  const trimmed = text.trim()
  const open = /^```(?:json)?\s*\n/i.exec(trimmed)?.[0]
  return open === undefined || !trimmed.endsWith("```") ? text : trimmed.slice(open.length, -3).trim()
}

/**
 * All JSON candidates in an answer, the likeliest first: the whole answer, then code blocks from last to first, then text
 * in braces or brackets, the longest first.
 */
export function* jsonAnswers(text: string): Generator<Json> {
  const whole = jsonAnswer(text)
  if (whole !== undefined) {
    yield whole.value
    return
  }
  for (const block of [...codeBlocks(text), ...enclosed(text)]) {
    const found = parsed(block)
    if (found !== undefined) yield found.value
  }
}

const MAX_FOUND = 20

function codeBlocks(text: string): string[] {
  const blocks: string[] = []
  const lines = text.split("\n")
  let start = -1
  for (const [at, line] of lines.entries()) {
    if (!line.trimStart().startsWith("```")) continue
    if (start >= 0) blocks.push(lines.slice(start, at).join("\n"))
    start = start >= 0 ? -1 : at + 1
  }
  return blocks.slice(-MAX_FOUND).reverse()
}

/** The maximum number of unclosed brackets to follow: each costs a walk to the end of the text. */
const MAX_OPEN = 20

function enclosed(text: string): string[] {
  const found: string[] = []
  let open = 0
  let at = 0
  while (at < text.length && open < MAX_OPEN) {
    if (text[at] !== "{" && text[at] !== "[") {
      at++
      continue
    }
    const end = endOf(text, at)
    if (end === undefined) {
      open++
      at++
      continue
    }
    found.push(text.slice(at, end))
    at = end
  }
  return found.sort((a, b) => b.length - a.length).slice(0, MAX_FOUND)
}

/** The index after the bracket that closes the one at `start`, ignoring brackets in strings. */
function endOf(text: string, start: number): number | undefined {
  let depth = 0
  let isString = false
  for (let at = start; at < text.length; at++) {
    const character = text[at]
    if (isString) {
      if (character === "\\") at++
      else if (character === '"') isString = false
      continue
    }
    if (character === '"') isString = true
    else if (character === "{" || character === "[") depth++
    else if ((character === "}" || character === "]") && --depth === 0) return at + 1
  }
  return undefined
}

function parsed(text: string): { readonly value: Json } | undefined {
  try {
    return { value: JSON.parse(text) as Json }
  } catch {
    return undefined
  }
}

// Warnings about schemas that the agent's providers cannot enforce: they are sent without enforcement.

export function unenforcedSchemas(
  agent: string,
  model: ModelRef | readonly ModelRef[],
  { responseFormat }: OutputFormat,
  tools: readonly Tool[],
): readonly string[] {
  const { answers, tools: hasTools } = enforcementOf([model].flat() as readonly ModelRef[])
  const warnings: string[] = []
  const check = (what: string, schema: Json | undefined) => {
    const problem = schema === undefined ? undefined : strictProblem(schema)
    if (problem === undefined) return
    warnings.push(
      `Agent "${agent}": OpenAI cannot enforce the schema of ${what}, because ${problem}. The answer is checked afterwards.`,
    )
  }
  if (answers && responseFormat?.type === "json")
    check("its output", responseFormat.schema as Json | undefined)
  if (hasTools)
    for (const { name, parameters, provider } of tools)
      if (provider === undefined) check(`tool "${name}"`, parameters)
  return warnings
}
