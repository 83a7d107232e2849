/** A question of a run, and what an answer to it may be. */
import type { Json, OpenRequest } from "@superstep/engine"
import { typedId } from "../run/find-run.ts"
import { decisionIn, isApproval, isRecord } from "../run/read-answer.ts"
import {
  clipped,
  jsonText,
  printText,
  sanitize,
  sanitizeLine,
  shellWord,
  type Terminal,
} from "../terminal/terminal.ts"
import { age } from "./figures.ts"

const MAX_DATA = 500
const MAX_SCHEMA = 300

export interface QuestionContext {
  readonly now: number
  /** ` --store …`, unless the store is the default one. */
  readonly storeFlag: string
}

export function printQuestion(
  out: Terminal,
  request: OpenRequest & { readonly runId: string; readonly workflow?: string | undefined },
  { now, storeFlag }: QuestionContext,
): void {
  const { id, runId, workflow, node, prompt, to, data, openedAt, deadline } = request
  const { bold, dim } = out.paint
  const facts = [
    workflow === undefined ? node : `${workflow} · ${node}`,
    ...(to === undefined ? [] : [`to ${to}`]),
    `${age(now - openedAt)} old`,
    ...(deadline === undefined ? [] : [deadline > now ? `${age(deadline - now)} left` : "expired"]),
  ]
  out.line(clipped(`  ${sanitizeLine(facts.join(", "))}`, out.width))
  printText(out, sanitize(prompt), { indent: 4, paint: bold })
  if (data !== undefined) printText(out, clipped(jsonText(data), MAX_DATA), { indent: 4 })
  printText(out, `An answer is ${expectedAnswer(request)}.`, { indent: 4, paint: dim })
  const answer = `superstep respond ${typedId(runId)} ${shellWord(id)} ${exampleOf(request)}${storeFlag}`
  out.line(`    ${dim(answer)}`)
}

interface Shape {
  readonly type?: unknown
  readonly enum?: readonly Json[]
  readonly const?: Json
}

function shapeOf(schema: Json | undefined): Shape {
  return isRecord(schema) ? schema : {}
}

/** `yes or no`, `a whole number`, `one of red, green`: the end of "An answer is …". */
export function expectedAnswer({ schema, data }: Pick<OpenRequest, "schema" | "data">): string {
  const { type, enum: choices, const: only } = shapeOf(schema)
  if (isApproval(data) || type === "boolean") return "yes or no"
  if (only !== undefined) return sanitizeLine(wordOf(only))
  if (Array.isArray(choices)) return `one of ${sanitizeLine(choices.map(wordOf).join(", "))}`
  if (type === "number") return "a number"
  if (type === "integer") return "a whole number"
  if (schema === undefined || type === "string") return "text"
  const json = `JSON that matches ${clipped(jsonText(schema), MAX_SCHEMA)}`
  return decisionIn(schema) === undefined ? json : `yes, no, or ${json}`
}

function exampleOf({ schema, data }: OpenRequest): string {
  const { type, enum: choices } = shapeOf(schema)
  if (isApproval(data) || type === "boolean" || decisionIn(schema) !== undefined) return "yes"
  const [first] = Array.isArray(choices) ? choices : []
  if (typeof first === "string" && /^[\w.-]+$/.test(first)) return first
  if (type === "object" || type === "array") return "--json-answer '…'"
  return type === "number" || type === "integer" ? "1" : '"…"'
}

function wordOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value)
}
