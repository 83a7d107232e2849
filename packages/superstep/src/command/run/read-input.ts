/** Reads the input of a run: from an argument, from stdin, or from the person at the terminal. */
import { isUtf8 } from "node:buffer"
import { type Json, type OpenRequest, SuperstepError } from "@superstep/engine"
import type { ApprovalRequest } from "@superstep/engine/agents"
import { clipped } from "@superstep/engine/text"
import { type Cli, isInteractive } from "../cli.ts"
import type { OpenedWorkflow } from "../open/opened-workflow.ts"
import { usageError } from "../print/errors.ts"
import { sanitizeLine } from "../terminal/terminal.ts"

const MAX_BYTES = 10_000_000

/** Asks the person if the argument is missing. Undefined: the person cancelled. */
export async function readInput(
  prompt: string | undefined,
  opened: OpenedWorkflow,
  cli: Cli,
): Promise<Json | undefined> {
  if (prompt !== undefined || !needsPrompt(opened) || !isInteractive(cli))
    return await inputOf(prompt, opened, cli)
  const { isCancel, text } = await import("@clack/prompts")
  const { stdin: input, stderr: output } = cli.io
  const typed = await text({ message: `Prompt for "${sanitizeLine(opened.name)}":`, input, output })
  return isCancel(typed) ? undefined : asInput(typed ?? "", opened)
}

/** Like `readInput`, without asking. */
export async function inputOf(prompt: string | undefined, opened: OpenedWorkflow, cli: Cli): Promise<Json> {
  if (prompt === "-") return asInput(await readStdin(cli), opened)
  if (prompt !== undefined) return asInput(prompt, opened)
  if (!needsPrompt(opened)) return ""
  throw usageError(`${opened.name} needs a prompt. Write it after FILE, or - to read it from stdin.`)
}

async function readStdin({ io }: Cli): Promise<string> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of io.stdin) {
    const bytes = Buffer.from(part as Uint8Array)
    size += bytes.length
    if (size > MAX_BYTES) {
      const text = `The prompt on stdin is larger than ${MAX_BYTES / 1_000_000} MB. Write it to a file, and name the file in the prompt.`
      throw new SuperstepError("VALUE_TOO_LARGE", text, { retryable: false })
    }
    parts.push(bytes)
  }
  const bytes = Buffer.concat(parts)
  if (!isUtf8(bytes) || bytes.includes(0)) {
    throw usageError("Stdin is not text. A prompt is UTF-8 without NUL characters.")
  }
  // Removes the line break that `echo` and editors add.
  return bytes
    .toString("utf8")
    .replace(/^\uFEFF/, "")
    .replace(/\r?\n$/, "")
}

/** A definition takes text. A module may declare another input; then the text is parsed as JSON. */
function asInput(text: string, opened: OpenedWorkflow): Json {
  if (opened.definition !== undefined || takesText(opened)) return text
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    throw usageError(`${opened.name} does not take text. Write its input as JSON.`, error)
  }
}

function startSchemas({ workflow }: OpenedWorkflow): readonly Json[] | undefined {
  const { graph } = workflow.program
  return graph.nodes[graph.start]?.spec.input
}

function takesText(opened: OpenedWorkflow): boolean {
  const schemas = startSchemas(opened)
  if (schemas === undefined || schemas.length === 0) return true
  return schemas.some((schema) => {
    if (!isRecord(schema)) return true
    const { type } = schema as { readonly type?: Json }
    return type === undefined || type === "string" || (Array.isArray(type) && type.includes("string"))
  })
}

/** A module that declares no input, and a definition that never uses it, need no prompt. */
function needsPrompt(opened: OpenedWorkflow): boolean {
  if (opened.definition !== undefined) return opened.definition.usesInput
  return startSchemas(opened) !== undefined || "asTool" in opened.workflow
}

/** Parses an answer on the command line as the value that the question asks for. */

export function isRecord(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** Whether the question asks for the approval of a tool call. */
export function isApproval(data: Json | undefined): data is Json & ApprovalRequest {
  return isRecord(data) && data.kind === "tool-approval"
}

/** A schema that asks for yes or no, optionally with a reason: an object whose only required field is a boolean. */
export interface Decision {
  /** The boolean. */
  readonly field: string
  /** The field for a reason against, if there is one. */
  readonly reason?: string | undefined
}

const REASONS = ["feedback", "reason", "comment", "note"]

export function decisionIn(schema: Json | undefined): Decision | undefined {
  if (!isRecord(schema) || !Array.isArray(schema.required) || !isRecord(schema.properties)) return undefined
  const { properties, required } = schema
  const [field, ...others] = required
  if (typeof field !== "string" || others.length > 0 || typeOf(properties[field]) !== "boolean")
    return undefined
  return { field, reason: REASONS.find((name) => typeOf(properties[name]) === "string") }
}

/** The answer to a decision. `why` is the reason against, and may be empty. */
export function decided({ field, reason }: Decision, isYes: boolean, why = ""): Json {
  if (isYes || reason === undefined || why === "") return { [field]: isYes }
  return { [field]: isYes, [reason]: why }
}

/** The type that a schema names, if it names one. */
export function typeOf(schema: Json | undefined): string | undefined {
  const type = isRecord(schema) ? schema.type : undefined
  return typeof type === "string" ? type : undefined
}

const YES = new Set(["yes", "y", "true", "approve", "ok"])
const NO = new Set(["no", "n", "false", "deny"])

/**
 * The first interpretation of the text that matches the question's schema: the text itself, JSON, yes or no. If none
 * matches, the result is the text, and the engine reports the mismatch.
 */
export async function readAnswer(
  text: string,
  { schema, data }: Pick<OpenRequest, "schema" | "data">,
): Promise<Json> {
  const word = text.trim().toLowerCase()
  const decision = isApproval(data) ? { field: "approve", reason: "reason" } : decisionIn(schema)
  if (isApproval(data) && word === "always") return { approve: true, always: true }
  if (decision !== undefined) {
    if (YES.has(word)) return decided(decision, true)
    if (NO.has(word)) return decided(decision, false)
    const [, reason] = /^(?:no|deny)\s*[:,]\s*(.+)$/is.exec(text.trim()) ?? []
    if (reason !== undefined) return decided(decision, false, reason)
  }
  if (schema === undefined) return text
  for (const value of readings(text, word)) {
    if ((await answerProblem(value, schema)) === undefined) return value
  }
  return text
}

/** Why a value does not match a question's schema. Undefined if it matches. */
export async function answerProblem(value: Json, schema: Json): Promise<string | undefined> {
  const tools = await import("@superstep/engine/tools")
  return await tools.answerProblem(schema, value)
}

function* readings(text: string, word: string): Generator<Json> {
  yield text
  const parsed = parseJson(text)
  if (parsed !== undefined) yield parsed
  if (YES.has(word)) yield true
  if (NO.has(word)) yield false
}

/** Undefined if the text is not JSON. */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** `what` names the text in an error message. */
export function readJson(text: string, what: string): Json {
  const value = parseJson(text)
  if (value !== undefined) return value
  throw usageError(`${what} is not JSON: ${clipped(text, 60)}. Write a string in quotes: '"yes"'.`)
}
