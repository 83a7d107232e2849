/** The input of a run: an argument of the command line, stdin, or what the person at the terminal types. */
import { isUtf8 } from "node:buffer"
import { type Json, SuperstepError } from "@superstep/engine"
import { type Cli, isInteractive } from "../cli.ts"
import type { OpenedWorkflow } from "../open/opened-workflow.ts"
import { usageError } from "../print/errors.ts"
import { sanitizeLine } from "../terminal/terminal.ts"
import { isRecord } from "./read-answer.ts"

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

/** The same without asking. */
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

/** A definition takes text. A module may declare another input: then the text is JSON. */
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

/** A module that declares no input, and a definition without agents, need none. */
function needsPrompt(opened: OpenedWorkflow): boolean {
  if (opened.definition !== undefined) return opened.definition.agents.size > 0
  return startSchemas(opened) !== undefined || "asTool" in opened.workflow
}
