/** A question of a run as people read it, and what an answer to it may be. */
import type { Json, OpenRequest } from "@superstep/engine"
import { age } from "./amounts.ts"
import { isApproval } from "./ask-person.ts"
import { decisionIn } from "./decision.ts"
import { typedId } from "./find-run.ts"
import { jsonText } from "./json-line.ts"
import { shellWord } from "./shell-word.ts"
import { clipped, foreign, foreignLine, type Terminal, wrapped } from "./terminal.ts"

const MOST_DATA = 500

export interface QuestionContext {
  readonly now: number
  /** ` --store …`, where the store is not the usual one. */
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
    ...(deadline === undefined ? [] : [deadline > now ? `${age(deadline - now)} left` : "its time is up"]),
  ]
  out.line(clipped(`  ${foreignLine(facts.join(", "))}`, out.width))
  for (const line of wrapped(foreign(prompt), out.width - 4)) out.line(`    ${bold(line)}`)
  if (data !== undefined) {
    const text = clipped(jsonText(data), MOST_DATA)
    for (const line of wrapped(text, out.width - 4)) out.line(`    ${line}`)
  }
  for (const line of wrapped(`An answer is ${fits(request)}.`, out.width - 4)) out.line(`    ${dim(line)}`)
  const answer = `superstep respond ${typedId(runId)} ${shellWord(id)} ${exampleOf(request)}${storeFlag}`
  out.line(`    ${dim(answer)}`)
}

interface Shape {
  readonly type?: unknown
  readonly enum?: readonly Json[]
  readonly const?: Json
}

function shapeOf(schema: Json | undefined): Shape {
  return typeof schema === "object" && schema !== null && !Array.isArray(schema) ? (schema as Shape) : {}
}

/** What fits, in words: the end of "An answer is …". */
export function fits({ schema, data }: Pick<OpenRequest, "schema" | "data">): string {
  const shape = shapeOf(schema)
  if (isApproval(data)) return "yes or no"
  if (shape.const !== undefined) return foreignLine(wordOf(shape.const))
  if (Array.isArray(shape.enum)) return `one of ${foreignLine(shape.enum.map(wordOf).join(", "))}`
  switch (shape.type) {
    case "boolean":
      return "yes or no"
    case "number":
      return "a number"
    case "integer":
      return "a whole number"
    case "object":
      if (decisionIn(schema) !== undefined)
        return `yes, no, or JSON that fits ${clipped(jsonText(schema), 300)}`
      return `JSON that fits ${clipped(jsonText(schema), 300)}`
    case "array":
      return `JSON that fits ${clipped(jsonText(schema), 300)}`
    default:
      return schema === undefined || shape.type === "string"
        ? "a text"
        : `what fits ${clipped(jsonText(schema), 300)}`
  }
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
