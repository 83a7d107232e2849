/** Asks the person at the terminal: a question of a run, the approval of a tool call, or a confirmation. */
import type { Readable, Writable } from "node:stream"
import type { Json, OpenRequest } from "@superstep/engine"
import type { ApprovalAnswer, ApprovalRequest } from "@superstep/engine/agents"
import { type Cli, EXIT, isInteractive } from "../cli.ts"
import { usageError } from "../print/errors.ts"
import { decided, decisionIn, isApproval, isRecord, parseJson, typeOf } from "../run/read-input.ts"
import type { Answered } from "../run/supervise.ts"
import { clipped, sanitize, sanitizeLine } from "./terminal.ts"

export interface PromptStreams {
  readonly input: Readable
  readonly output: Writable
  readonly signal: AbortSignal
  /** Recorded as the author of the answer. */
  readonly by?: string | undefined
}

type Prompts = typeof import("@clack/prompts")
/** A symbol if the person cancels. */
type Asked<T> = Promise<T | symbol>

const MAX_LINE_LENGTH = 72
const MAX_LINES = 30
const WHY_NOT = "Why not? (sent to the agent; optional)"

export async function askPerson(request: OpenRequest, streams: PromptStreams): Promise<Answered> {
  // Loaded on the first question.
  const prompts = await import("@clack/prompts")
  const { data, schema } = request
  const value = isApproval(data)
    ? await askApproval(prompts, data, streams)
    : await askFor(prompts, questionOf(request), schema, streams)
  if (prompts.isCancel(value)) return { kind: "interrupt" }
  return { kind: "answer", value, by: streams.by }
}

/** Returns false if the person declines; the exit code is then `cancelled`. Without a terminal, `--yes` is required. */
export async function confirmed(cli: Cli, question: string, yes: boolean | undefined): Promise<boolean> {
  if (yes) return true
  if (!isInteractive(cli)) throw usageError(`${question} Add --yes to confirm.`)
  const { confirm } = await import("@clack/prompts")
  const { stdin: input, stderr: output } = cli.io
  const answer = await confirm({ message: question, initialValue: false, input, output, withGuide: false })
  if (answer === true) return true
  cli.exit(EXIT.cancelled)
  return false
}

function questionOf({ prompt, to, data }: OpenRequest): string {
  const whom = to === undefined ? "" : ` (for ${sanitizeLine(to)})`
  const more = data === undefined || data === null ? "" : `\n${excerpt(data)}`
  return `${sanitize(prompt)}${whom}${more}`
}

/** Limits data to the height of a screen. */
function excerpt(data: Json): string {
  const text = sanitize(typeof data === "string" ? data : JSON.stringify(data, undefined, 2))
  const lines = text.split("\n").map((line) => clipped(line.replaceAll("\t", "  "), MAX_LINE_LENGTH))
  if (lines.length <= MAX_LINES) return lines.join("\n")
  return [...lines.slice(0, MAX_LINES), `… ${lines.length - MAX_LINES} more lines`].join("\n")
}

/** Chooses the prompt by the schema of the answer. */
async function askFor(
  { text, select, confirm }: Prompts,
  message: string,
  schema: Json | undefined,
  streams: PromptStreams,
): Asked<Json> {
  const choices = choicesOf(schema)
  if (choices !== undefined) {
    const labels = choices.map((choice) => (typeof choice === "string" ? choice : JSON.stringify(choice)))
    const options = labels.map((label, value) => ({ value, label: sanitizeLine(label) }))
    const chosen = await select({ message, options, ...streams })
    return typeof chosen === "symbol" ? chosen : (choices[chosen] ?? null)
  }
  const type = typeOf(schema)
  if (type === "boolean") return await confirm({ message, ...streams })
  const decision = decisionIn(schema)
  if (decision !== undefined) {
    const isYes = await confirm({ message, ...streams })
    if (typeof isYes === "symbol") return isYes
    if (isYes || decision.reason === undefined) return decided(decision, isYes)
    const why = await text({ message: WHY_NOT, ...streams })
    return typeof why === "symbol" ? why : decided(decision, false, why)
  }
  const isText = type === undefined || type === "string"
  const typed = await text({
    message: isText ? message : `${message}\n(${type === "array" || type === "object" ? "JSON" : type})`,
    validate: (value) => (isText ? undefined : problemOf(value ?? "", type)),
    ...streams,
  })
  if (typeof typed === "symbol") return typed
  return isText ? (typed ?? "") : (JSON.parse(typed) as Json)
}

function problemOf(value: string, type: string): string | undefined {
  const read = parseJson(value)
  if (type === "integer") return Number.isInteger(read) ? undefined : "Enter a whole number."
  if (type === "number") return typeof read === "number" ? undefined : "Enter a number."
  return read === undefined ? "Enter JSON." : undefined
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

async function askApproval(
  { text, select }: Prompts,
  { agent, tool, args }: ApprovalRequest,
  streams: PromptStreams,
): Asked<ApprovalAnswer> {
  const verdict = await select({
    message: `Allow "${sanitizeLine(agent)}" to call "${sanitizeLine(tool)}"?\n${excerpt(args)}`,
    options: [
      { value: "approve", label: "Approve" },
      { value: "edit", label: "Edit the arguments, then approve" },
      { value: "deny", label: "Deny" },
    ],
    ...streams,
  })
  if (typeof verdict === "symbol") return verdict
  if (verdict === "approve") return { approve: true }
  if (verdict === "deny") {
    const reason = await text({ message: WHY_NOT, ...streams })
    if (typeof reason === "symbol") return reason
    return reason ? { approve: false, reason } : { approve: false }
  }
  const edited = await text({
    message: "Arguments, as JSON",
    initialValue: sanitize(JSON.stringify(args)),
    validate: (value) => (isRecord(parseJson(value ?? "")) ? undefined : "Enter a JSON object, { … }."),
    ...streams,
  })
  if (typeof edited === "symbol") return edited
  return { approve: true, args: JSON.parse(edited) as { readonly [name: string]: Json } }
}
