/** A question of a run, and the answers that it accepts. */
import type { Json, OpenRequest } from "@superstep/engine"
import { choicesOf, fieldsIn, type HandOff, handOffIn } from "../run/answer-shape.ts"
import { typedId } from "../run/find-run.ts"
import { decisionIn, isApproval, isRecord } from "../run/read-input.ts"
import {
  clipped,
  jsonText,
  paragraph,
  printText,
  sanitize,
  sanitizeLine,
  shellWord,
  type Terminal,
} from "../terminal/terminal.ts"
import { age } from "./figures.ts"
import type { NodeNames } from "./node-names.ts"

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
  printData(out, data)
  printText(out, `An answer is ${expectedAnswer(request)}.`, { indent: 4, paint: dim })
  const words = ["superstep respond", typedId(runId), shellWord(id), exampleOf(request)]
  const isAsked = fieldsIn(request.schema) !== undefined && decisionIn(request.schema) === undefined
  // Without an answer, the command asks for it.
  const more = isAsked && !isApproval(data) ? "   (asks field by field)" : ""
  out.line(`    ${dim(`${words.filter((word) => word !== "").join(" ")}${storeFlag}${more}`)}`)
}

/** Who or what asks. A node that a team added asks for the member that speaks. */
export function askedAt({ node, data }: Pick<OpenRequest, "node" | "data">, names: NodeNames): string {
  return names.isInternal(node) ? (speakerIn(data) ?? names.title(node)) : names.title(node)
}

function speakerIn(data: Json | undefined): string | undefined {
  return isRecord(data) && typeof data.speaker === "string" ? data.speaker : undefined
}

const MAX_MESSAGES = 4
const MAX_MESSAGE = 200

function printData(out: Terminal, data: Json | undefined): void {
  if (data === undefined || data === null) return
  const handOff = handOffIn(data)
  if (handOff !== undefined) {
    for (const line of conversationLines(handOff, out.width - 4, { most: MAX_MESSAGES, clip: MAX_MESSAGE }))
      out.line(`    ${line}`)
    return
  }
  // The line above has the speaker.
  if (speakerIn(data) !== undefined && Object.keys(data as object).length === 1) return
  // The prompt has the agent and the tool.
  const shown = isApproval(data) ? data.args : data
  printText(out, clipped(typeof shown === "string" ? sanitizeLine(shown) : jsonText(shown), MAX_DATA), {
    indent: 4,
  })
}

interface ConversationOptions {
  /** Messages to show, the last ones. */
  readonly most: number
  /** Characters of each. */
  readonly clip: number
}

/** The conversation of a hand-off: `user: …`. */
export function conversationLines(
  { messages, latest }: HandOff,
  width: number,
  { most, clip }: ConversationOptions,
): string[] {
  const shown = messages.slice(-most)
  const left = messages.length - shown.length
  const lines = left === 0 ? [] : [`… ${left} earlier`]
  for (const { role, text } of shown)
    lines.push(
      ...paragraph(clipped(sanitizeLine(text), clip), width, { label: `${sanitizeLine(role)}: `, indent: 2 }),
    )
  if (messages.length === 0 && latest !== undefined && latest !== null) {
    const text = typeof latest === "string" ? sanitizeLine(latest) : jsonText(latest)
    lines.push(...paragraph(clipped(text, clip), width, { label: "latest: ", indent: 2 }))
  }
  return lines
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
  const handOff = handOffIn(data)
  if (handOff !== undefined) {
    const routes =
      handOff.routes.length === 0
        ? ""
        : `, {"route": …} with one of ${sanitizeLine(handOff.routes.join(", "))}`
    return `text${routes}, or {"end": true}`
  }
  if (isApproval(data)) return "yes, always, or no with a reason"
  if (type === "boolean") return "yes or no"
  if (only !== undefined) return sanitizeLine(wordOf(only))
  const listed = choicesOf(schema) ?? choices
  if (Array.isArray(listed)) return `one of ${sanitizeLine(listed.map(wordOf).join(", "))}`
  if (type === "number") return "a number"
  if (type === "integer") return "a whole number"
  if (schema === undefined || type === "string") return "text"
  const fields = fieldsIn(schema)?.map(({ name, schema: one, isRequired }) => {
    return `${sanitizeLine(name)} (${expectedAnswer({ schema: one })}${isRequired ? "" : ", optional"})`
  })
  const json =
    fields === undefined
      ? `JSON that matches ${clipped(jsonText(schema), MAX_SCHEMA)}`
      : `JSON with ${clipped(fields.join(", "), MAX_SCHEMA)}`
  return decisionIn(schema) === undefined ? json : `yes, no, or ${json}`
}

function exampleOf({ schema, data }: OpenRequest): string {
  const { type, enum: choices } = shapeOf(schema)
  if (isApproval(data) || type === "boolean" || decisionIn(schema) !== undefined) return "yes"
  const [first] = Array.isArray(choices) ? choices : []
  if (typeof first === "string" && /^[\w.-]+$/.test(first)) return first
  if (handOffIn(data) !== undefined) return '"…"'
  if (fieldsIn(schema) !== undefined) return ""
  if (type === "object" || type === "array") return "--json-answer '…'"
  return type === "number" || type === "integer" ? "1" : '"…"'
}

function wordOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value)
}
