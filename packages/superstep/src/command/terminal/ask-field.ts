/**
 * Asks for a value with a schema: choices, yes or no, a number, text; an object field by field. Each value is checked when it
 * is entered, and asked for again with the reason. The engine checks the whole answer.
 */
import type { Readable, Writable } from "node:stream"
import type { Json } from "@superstep/engine"
import { choicesOf, type Field, fieldsIn } from "../run/answer-shape.ts"
import { answerProblem, decided, decisionIn, isRecord, parseJson, typeOf } from "../run/read-input.ts"
import { sanitizeLine } from "./terminal.ts"

export interface PromptStreams {
  readonly input: Readable
  readonly output: Writable
  readonly signal: AbortSignal
  /** Recorded as the author of the answer. */
  readonly by?: string | undefined
}

export type Prompts = typeof import("@clack/prompts")
/** A symbol if the person cancels. */
export type Asked<T> = Promise<T | symbol>

export const WHY_NOT = "Why not? (sent to the agent; optional)"
const MAX_DEPTH = 3

/** Chooses the prompts by the schema of the answer. */
export async function askFor(
  prompts: Prompts,
  message: string,
  schema: Json | undefined,
  streams: PromptStreams,
): Asked<Json> {
  const decision = decisionIn(schema)
  // Fields beyond the decision and its reason are asked for one by one.
  const isOnlyDecision = (fieldsIn(schema)?.length ?? 0) <= (decision?.reason === undefined ? 1 : 2)
  if (decision !== undefined && isOnlyDecision) {
    const isYes = await prompts.confirm({ message, ...streams })
    if (typeof isYes === "symbol") return isYes
    if (isYes || decision.reason === undefined) return decided(decision, isYes)
    const why = await prompts.text({ message: WHY_NOT, ...streams })
    return typeof why === "symbol" ? why : decided(decision, false, why)
  }
  const fields = fieldsIn(schema)
  if (fields === undefined)
    return (await askValue(prompts, message, { schema, isRequired: true }, streams)) as Json | symbol
  prompts.log.message(message, { output: streams.output })
  return await askFields(prompts, fields, "", streams, 0)
}

async function askFields(
  prompts: Prompts,
  fields: readonly Field[],
  prefix: string,
  streams: PromptStreams,
  depth: number,
): Asked<Json> {
  const answer: Record<string, Json> = {}
  for (const { name, schema, isRequired } of fields) {
    const path = `${prefix}${sanitizeLine(name)}`
    const inner = depth < MAX_DEPTH ? fieldsIn(schema) : undefined
    const value: Json | undefined | symbol =
      inner !== undefined && isRequired
        ? await askFields(prompts, inner, `${path}.`, streams, depth + 1)
        : await askField(prompts, titleOf(path, schema, isRequired), { schema, isRequired }, streams)
    if (typeof value === "symbol") return value
    if (value !== undefined) answer[name] = value
  }
  return answer
}

function titleOf(path: string, schema: Json, isRequired: boolean): string {
  const { title, description } = isRecord(schema) ? schema : {}
  const name = typeof title === "string" ? `${sanitizeLine(title)} (${path})` : path
  const about = typeof description === "string" ? `: ${sanitizeLine(description)}` : ""
  return `${name}${about}${isRequired ? "" : " (optional)"}`
}

interface Wanted {
  readonly schema: Json | undefined
  readonly isRequired: boolean
}

const SKIP = -1

/** Undefined if an optional field is left out. */
async function askField(
  prompts: Prompts,
  message: string,
  wanted: Wanted,
  streams: PromptStreams,
): Promise<Json | undefined | symbol> {
  const { schema, isRequired } = wanted
  if (isRequired || (choicesOf(schema) === undefined && typeOf(schema) !== "boolean"))
    return await askValue(prompts, message, wanted, streams)
  const choices = choicesOf(schema) ?? [true, false]
  const options = [...optionsOf(choices), { value: SKIP, label: "(leave out)" }]
  const chosen = await prompts.select({ message, options, initialValue: SKIP, ...streams })
  return typeof chosen === "symbol" ? chosen : choices[chosen]
}

async function askValue(
  prompts: Prompts,
  message: string,
  { schema, isRequired }: Wanted,
  streams: PromptStreams,
): Promise<Json | undefined | symbol> {
  const choices = choicesOf(schema)
  if (choices !== undefined) {
    const chosen = await prompts.select({ message, options: optionsOf(choices), ...streams })
    return typeof chosen === "symbol" ? chosen : (choices[chosen] ?? null)
  }
  const type = typeOf(schema)
  if (type === "boolean") return await prompts.confirm({ message, ...streams })
  const items = type === "array" && isRecord(schema) ? choicesOf(schema.items) : undefined
  if (items !== undefined) {
    const chosen = await prompts.multiselect({
      message,
      options: optionsOf(items),
      required: false,
      ...streams,
    })
    return typeof chosen === "symbol" ? chosen : chosen.map((i) => items[i] ?? null)
  }
  return await askText(prompts, message, { schema, isRequired }, streams)
}

function optionsOf(choices: readonly Json[]): { value: number; label: string }[] {
  return choices.map((choice, value) => {
    const label =
      typeof choice === "string"
        ? choice
        : choice === true
          ? "yes"
          : choice === false
            ? "no"
            : JSON.stringify(choice)
    return { value, label: sanitizeLine(label) }
  })
}

async function askText(
  prompts: Prompts,
  message: string,
  { schema, isRequired }: Wanted,
  streams: PromptStreams,
): Promise<Json | undefined | symbol> {
  const type = typeOf(schema)
  const isText = type === undefined ? schema === undefined || !isRecord(schema) : type === "string"
  const isJson = !isText && type !== "number" && type !== "integer"
  const preset = isRecord(schema) ? schema.default : undefined
  const initialValue =
    preset === undefined ? "" : typeof preset === "string" ? preset : JSON.stringify(preset)
  let asked = isJson
    ? `${message} (JSON)`
    : isText
      ? message
      : `${message} (a ${type === "integer" ? "whole number" : type})`
  for (;;) {
    const typed = await prompts.text({
      message: asked,
      initialValue,
      validate: (value) => problemOf(value ?? "", { isText, isRequired, type }),
      ...streams,
    })
    if (typeof typed === "symbol") return typed
    if (!isRequired && (typed ?? "").trim() === "") return undefined
    const value: Json = isText ? (typed ?? "") : (JSON.parse(typed) as Json)
    const problem = schema === undefined ? undefined : await answerProblem(value, schema)
    if (problem === undefined) return value
    // Asked again, with the reason.
    asked = `${message} (${sanitizeLine(problem)})`
  }
}

interface TextRules {
  readonly isText: boolean
  readonly isRequired: boolean
  readonly type: string | undefined
}

function problemOf(value: string, { isText, isRequired, type }: TextRules): string | undefined {
  if (isText || (!isRequired && value.trim() === "")) return undefined
  const read = parseJson(value)
  if (type === "integer") return Number.isInteger(read) ? undefined : "Enter a whole number."
  if (type === "number") return typeof read === "number" ? undefined : "Enter a number."
  return read === undefined ? "Enter JSON." : undefined
}
