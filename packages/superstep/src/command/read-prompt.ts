/** What a run is given: words of the command line, stdin, or what the person at the terminal says. */
import { isUtf8 } from "node:buffer"
import { type Json, SuperstepError } from "@superstep/engine"
import { isInteractive } from "./answerers.ts"
import type { Cli } from "./cli.ts"
import type { OpenedWorkflow } from "./open-workflow.ts"
import { foreignLine } from "./terminal.ts"
import { usageError } from "./usage-error.ts"

const LARGEST = 10_000_000

/** Undefined: the person was asked and left. */
export async function readInput(
  given: string | undefined,
  opened: OpenedWorkflow,
  cli: Cli,
): Promise<Json | undefined> {
  if (given !== undefined || !needsPrompt(opened) || !isInteractive(cli))
    return await givenInput(given, opened, cli)
  const { isCancel, text } = await import("@clack/prompts")
  const { stdin: input, stderr: output } = cli.io
  const said = await text({ message: `What is "${foreignLine(opened.name)}" to do?`, input, output })
  return isCancel(said) ? undefined : asInput(said ?? "", opened)
}

/** The same, where nobody is asked. */
export async function givenInput(given: string | undefined, opened: OpenedWorkflow, cli: Cli): Promise<Json> {
  if (given === "-") return asInput(await readStdin(cli), opened)
  if (given !== undefined) return asInput(given, opened)
  if (!needsPrompt(opened)) return ""
  throw usageError(`${opened.name} needs a prompt: write it after FILE, or - to read it from stdin.`)
}

async function readStdin({ io }: Cli): Promise<string> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of io.stdin) {
    const bytes = Buffer.from(part as Uint8Array)
    size += bytes.length
    if (size > LARGEST) throw tooLarge()
    parts.push(bytes)
  }
  const bytes = Buffer.concat(parts)
  if (!isUtf8(bytes) || bytes.includes(0)) {
    throw usageError("What is on stdin is no text: a prompt is UTF-8, without NUL.")
  }
  // The line break that `echo` and editors add is not meant.
  return bytes
    .toString("utf8")
    .replace(/^\uFEFF/, "")
    .replace(/\r?\n$/, "")
}

function tooLarge(): SuperstepError {
  const text = `The prompt on stdin is larger than ${LARGEST / 1_000_000} MB. Write it to a file, and name the file in the prompt.`
  return new SuperstepError("VALUE_TOO_LARGE", text, { retryable: false })
}

/** A definition takes the words as they are. A module may say that it takes something else: then they are JSON. */
function asInput(text: string, opened: OpenedWorkflow): Json {
  if (opened.definition !== undefined || takesText(opened)) return text
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    throw usageError(`${opened.name} does not take a text: write its input as JSON.`, error)
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
    if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return true
    const { type } = schema as { readonly type?: Json }
    return type === undefined || type === "string" || (Array.isArray(type) && type.includes("string"))
  })
}

/** A module that says nothing about its input, and a definition in which nobody is told anything, go without. */
function needsPrompt(opened: OpenedWorkflow): boolean {
  if (opened.definition !== undefined) return opened.definition.agents.size > 0
  return startSchemas(opened) !== undefined || "asTool" in opened.workflow
}
