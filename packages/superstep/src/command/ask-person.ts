/** A question of a run, asked at the terminal: a text, a choice, yes or no, or whether a tool may run. */
import type { Readable, Writable } from "node:stream"
import type { Json, OpenRequest } from "@superstep/engine"
import type { ApprovalAnswer, ApprovalRequest } from "@superstep/engine/agents"
import { decided, decisionIn } from "./decision.ts"
import type { Answered } from "./supervise-run.ts"
import { clipped, foreign, foreignLine } from "./terminal.ts"

export interface Desk {
  readonly input: Readable
  readonly output: Writable
  readonly signal: AbortSignal
  /** Who answers, for the record. */
  readonly by?: string | undefined
}

type Prompts = typeof import("@clack/prompts")
type Asked<T> = Promise<T | symbol>

const LONGEST_LINE = 72
const MOST_LINES = 30
const WHY_NOT = "Why not? (told to the agent; may be empty)"

export async function askPerson(request: OpenRequest, desk: Desk): Promise<Answered> {
  // Loaded when somebody is asked.
  const prompts = await import("@clack/prompts")
  const { data, schema } = request
  const value = isApproval(data)
    ? await askApproval(prompts, data, desk)
    : await askFor(prompts, questionOf(request), schema, desk)
  if (prompts.isCancel(value)) return { kind: "interrupt" }
  return { kind: "answer", value, by: desk.by }
}

export function isApproval(data: Json | undefined): data is Json & ApprovalRequest {
  return typeof data === "object" && data !== null && "kind" in data && data.kind === "tool-approval"
}

function questionOf({ prompt, to, data }: OpenRequest): string {
  const whom = to === undefined ? "" : ` (for ${foreignLine(to)})`
  const more = data === undefined || data === null ? "" : `\n${shown(data)}`
  return `${foreign(prompt)}${whom}${more}`
}

/** What fits on a screen. */
function shown(data: Json): string {
  const text = foreign(typeof data === "string" ? data : JSON.stringify(data, undefined, 2))
  const lines = text.split("\n").map((line) => clipped(line.replaceAll("\t", "  "), LONGEST_LINE))
  if (lines.length <= MOST_LINES) return lines.join("\n")
  return [...lines.slice(0, MOST_LINES), `… ${lines.length - MOST_LINES} more lines`].join("\n")
}

/** By the schema of the answer. */
async function askFor(
  { text, select, confirm }: Prompts,
  message: string,
  schema: Json | undefined,
  desk: Desk,
): Asked<Json> {
  const choices = choicesOf(schema)
  if (choices !== undefined) {
    const options = choices.map((choice, value) => ({ value, label: foreignLine(plain(choice)) }))
    const chosen = await select({ message, options, ...desk })
    return typeof chosen === "symbol" ? chosen : (choices[chosen] ?? null)
  }
  const type = typeOf(schema)
  if (type === "boolean") return await confirm({ message, ...desk })
  const decision = decisionIn(schema)
  if (decision !== undefined) {
    const isYes = await confirm({ message, ...desk })
    if (typeof isYes === "symbol") return isYes
    if (isYes || decision.reason === undefined) return decided(decision, isYes)
    const said = await text({ message: WHY_NOT, ...desk })
    return typeof said === "symbol" ? said : decided(decision, false, said)
  }
  const isText = type === undefined || type === "string"
  const said = await text({
    message: isText ? message : `${message}\n(${type === "array" || type === "object" ? "JSON" : type})`,
    validate: (value) => problemOf(value ?? "", type),
    ...desk,
  })
  if (typeof said === "symbol") return said
  return isText ? (said ?? "") : (JSON.parse(said) as Json)
}

function problemOf(value: string, type: string | undefined): string | undefined {
  if (type === undefined || type === "string") return undefined
  try {
    const read: unknown = JSON.parse(value)
    const isNumber = typeof read === "number" && (type === "number" || Number.isInteger(read))
    if (type === "number" || type === "integer")
      return isNumber ? undefined : `It is ${type === "integer" ? "a whole number" : "a number"}.`
    return undefined
  } catch {
    return type === "number" || type === "integer"
      ? `It is ${type === "integer" ? "a whole number" : "a number"}.`
      : "It is JSON."
  }
}

function choicesOf(schema: Json | undefined): readonly Json[] | undefined {
  if (!isRecord(schema)) return undefined
  const { enum: listed, oneOf, anyOf } = schema
  if (Array.isArray(listed) && listed.length > 0) return listed
  const branches = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : []
  const constants = branches.map((one) => (isRecord(one) ? one.const : undefined))
  if (constants.length === 0 || constants.some((one) => one === undefined)) return undefined
  return constants as Json[]
}

function typeOf(schema: Json | undefined): string | undefined {
  const type = isRecord(schema) ? schema.type : undefined
  return typeof type === "string" ? type : undefined
}

function plain(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value)
}

function isRecord(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

async function askApproval(
  { text, select }: Prompts,
  { agent, tool, args }: ApprovalRequest,
  desk: Desk,
): Asked<ApprovalAnswer> {
  const message = `Agent "${foreignLine(agent)}" wants to use ${foreignLine(tool)}:\n${shown(args)}`
  const verdict = await select({
    message,
    options: [
      { value: "approve", label: "Approve" },
      { value: "edit", label: "Change the arguments, then approve" },
      { value: "deny", label: "Deny" },
    ],
    ...desk,
  })
  if (typeof verdict === "symbol") return verdict
  if (verdict === "approve") return { approve: true }
  if (verdict === "deny") {
    const reason = await text({ message: WHY_NOT, ...desk })
    if (typeof reason === "symbol") return reason
    return reason ? { approve: false, reason } : { approve: false }
  }
  const edited = await text({
    message: "The arguments, as JSON",
    initialValue: foreign(JSON.stringify(args)),
    validate: (value) => (isObjectText(value ?? "") ? undefined : "It is a JSON object, { … }."),
    ...desk,
  })
  if (typeof edited === "symbol") return edited
  return { approve: true, args: JSON.parse(edited) as { readonly [name: string]: Json } }
}

function isObjectText(text: string): boolean {
  try {
    return isRecord(JSON.parse(text) as Json)
  } catch {
    return false
  }
}
