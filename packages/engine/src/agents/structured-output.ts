/** An answer as text, or as data that fits a schema. What does not fit goes back to the model, with the reason. */
import { type Json, SuperstepError } from "../core/index.ts"
import type { Message, ModelCall, ModelReply } from "../models/index.ts"
import { restoreValue } from "../models/internal.ts"
import { jsonSchemaOf, type Schema, validate } from "../runtime/index.ts"
import { clipped } from "../text/index.ts"
import { textOf, userText } from "./conversation.ts"
import { jsonAnswers } from "./json-answer.ts"

type ResponseFormat = NonNullable<ModelCall["responseFormat"]>
type FormatSchema = Extract<ResponseFormat, { type: "json" }>["schema"]

type Answer = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly reason: string }

export interface OutputFormat {
  readonly responseFormat?: ResponseFormat | undefined
  read(reply: ModelReply): Answer | Promise<Answer>
}

const TEXT: OutputFormat = { read: (reply) => ({ ok: true, value: textOf(reply) }) }

export function outputFormat(agent: string, schema: Schema | undefined): OutputFormat {
  if (schema === undefined) return TEXT
  // The model writes what the schema takes in; what it gives out is the agent's answer.
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

/** The first value of the answer that fits, as the model was asked for it or as the schema has it. */
async function readJson(schema: Schema, shape: Json | undefined, text: string): Promise<Answer> {
  let refused: Answer | undefined
  for (const value of jsonAnswers(text)) {
    const restored = restoreValue(shape, value)
    const checked = await validate(schema, restored)
    if (checked.ok) return checked
    refused ??= checked
    // What was restored may have been meant as it is.
    const asWritten = await validate(schema, value)
    if (asWritten.ok) return asWritten
  }
  return refused ?? { ok: false, reason: "it is not JSON" }
}

const REPAIRS = 2

/** `fail`: an answer that was cut off fails the task. `continue`: the model continues it. `accept`: it is the answer. */
export type OnTruncated = "fail" | "continue" | "accept"

/** The agent that gives an answer. */
interface Answering {
  readonly name: string
  readonly output: OutputFormat
  readonly options: { readonly repairs?: number | undefined; readonly onTruncated?: OnTruncated | undefined }
}

/** The answer, or the message after which the model is asked once more; undefined: the conversation says enough. */
type Read = { readonly value: unknown } | { readonly repair: Message | undefined }

/** How often a model continues an answer that was cut off. */
const CONTINUATIONS = 4
const GO_ON = "Your answer was cut off. Continue exactly where it ends, and repeat nothing."
const SHORTER = "Your answer was cut off, because it is too long. Write the whole answer again, shorter."

/**
 * Reads the answers of a conversation. One that does not fit goes back to the model, up to `repairs` times. One that was
 * cut off or refused does not: the next one would end the same way.
 */
export class AnswerReader {
  readonly #first: Answering
  #repaired = 0
  #continued = 0
  /** The parts of an answer so far that was cut off. */
  #before = ""

  constructor(first: Answering) {
    this.#first = first
  }

  /** An agent that took over answers in its own form, or else in that of the agent that was asked first. */
  formatOf(speaker: Answering): OutputFormat {
    return speaker.output.responseFormat === undefined ? this.#first.output : speaker.output
  }

  async read(reply: ModelReply, speaker: Answering = this.#first): Promise<Read> {
    const { name, options } = speaker
    const format = this.formatOf(speaker)
    const text = textOf(reply)
    if (reply.finish === "pause") return { repair: undefined }
    if (isDeclined(reply) && (text === "" || format.responseFormat !== undefined)) throw declined(name, reply)
    const isCut = reply.finish === "length"
    const { onTruncated = "accept", repairs = REPAIRS } = options
    if (isCut && onTruncated === "fail") throw truncated(name, reply)
    if (isCut && onTruncated === "continue") return { repair: this.#goOn(name, reply, format) }
    const answer = await format.read(this.#before === "" ? reply : withText(reply, this.#before + text))
    if (answer.ok) return { value: answer.value }
    if (isCut) throw truncated(name, reply)
    const { reason } = answer
    if (this.#repaired++ < repairs) {
      const words = `Your answer does not fit: ${reason}. Answer again, with JSON that fits the schema and nothing else.`
      return { repair: userText(words) }
    }
    const words = `The answer of agent "${name}" does not match its output schema after ${repairs} repairs: ${reason}. Simplify the schema, make the instructions more specific, or allow more repairs.`
    throw new SuperstepError("OUTPUT_INVALID", words, { retryable: false })
  }

  /** A value that is the answer as it is: nobody is asked again. `from` says what gave it. */
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

  /** Text is continued; JSON is written again, since a provider that enforces it starts over. */
  #goOn(name: string, reply: ModelReply, format: OutputFormat): Message {
    if (this.#continued++ >= CONTINUATIONS) throw truncated(name, reply)
    if (format.responseFormat !== undefined) return userText(SHORTER)
    this.#before += textOf(reply)
    return userText(GO_ON)
  }
}

function withText(reply: ModelReply, text: string): ModelReply {
  return { ...reply, content: [{ type: "text", text }] }
}

function isDeclined({ finish }: ModelReply): boolean {
  return finish === "content-filter" || finish === "refusal"
}

/** The provider's filter left nothing to answer with, or the model declined where an answer has a form. */
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
 * Providers that enforce a schema require `additionalProperties: false` on objects. An object composed of several schemas
 * stays as it is: what one of them closed, the others could not add to.
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
/** Keywords by which an object may have other properties than its own. */
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

/** The node's output schema. The value has been read once; a schema that transforms must not read it again. */
export function alreadyRead(schema: Schema | undefined): Schema | undefined {
  if (schema === undefined) return undefined
  return { "~standard": { ...schema["~standard"], validate: (value: unknown) => ({ value }) } }
}
