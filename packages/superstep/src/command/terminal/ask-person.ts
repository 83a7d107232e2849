/** Asks the person at the terminal: a question of a run, a hand-off, the approval of a tool call, or a confirmation. */
import type { Json, OpenRequest } from "@superstep/engine"
import type { ApprovalAnswer, ApprovalRequest } from "@superstep/engine/agents"
import { type Cli, EXIT, isInteractive } from "../cli.ts"
import { usageError } from "../print/errors.ts"
import { conversationLines } from "../print/question.ts"
import { type HandOff, handOffIn } from "../run/answer-shape.ts"
import { isApproval, isRecord, parseJson } from "../run/read-input.ts"
import type { Answered } from "../run/supervise.ts"
import { type Asked, askFor, type PromptStreams, type Prompts, WHY_NOT } from "./ask-field.ts"
import { clipped, sanitize, sanitizeLine } from "./terminal.ts"

const MAX_LINE_LENGTH = 72
const MAX_LINES = 30
const MAX_MESSAGES = 12
const MAX_MESSAGE = 600

export async function askPerson(request: OpenRequest, streams: PromptStreams): Promise<Answered> {
  // Loaded on the first question.
  const prompts = await import("@clack/prompts")
  const value = await askRequest(prompts, request, streams)
  if (prompts.isCancel(value)) return { kind: "interrupt" }
  return { kind: "answer", value, by: streams.by }
}

async function askRequest(prompts: Prompts, request: OpenRequest, streams: PromptStreams): Asked<unknown> {
  const { data, schema } = request
  if (isApproval(data)) return await askApproval(prompts, data, streams)
  const handOff = handOffIn(data)
  if (handOff !== undefined) return await askHandOff(prompts, request, handOff, streams)
  return await askFor(prompts, questionOf(request), schema, streams)
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

/** The person answers the agents, sends the conversation to one of its routes, or ends it. */
async function askHandOff(
  { text, select }: Prompts,
  { prompt, to, data: _, ...request }: OpenRequest,
  handOff: HandOff,
  streams: PromptStreams,
): Asked<Json> {
  const lines = conversationLines(handOff, MAX_LINE_LENGTH, { most: MAX_MESSAGES, clip: MAX_MESSAGE })
  const message = [questionOf({ ...request, prompt, to, data: undefined }), ...lines.slice(-MAX_LINES)].join(
    "\n",
  )
  const ROUTE = "route:"
  const chosen = await select({
    message,
    options: [
      { value: "answer", label: "Answer, and let the agents continue" },
      ...handOff.routes.map((name) => ({ value: ROUTE + name, label: `Send to ${sanitizeLine(name)}` })),
      { value: "end", label: "End" },
    ],
    ...streams,
  })
  if (typeof chosen === "symbol") return chosen
  const isAnswer = chosen === "answer"
  const typed = await text({
    message: isAnswer ? "Your answer" : "A message with it (optional)",
    validate: (value) => (isAnswer && (value ?? "").trim() === "" ? "Enter an answer." : undefined),
    ...streams,
  })
  if (typeof typed === "symbol") return typed
  const words = typed ? { message: typed } : {}
  if (isAnswer) return { message: typed }
  return chosen === "end" ? { end: true, ...words } : { route: chosen.slice(ROUTE.length), ...words }
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
      { value: "always", label: `Approve, and always allow "${sanitizeLine(tool)}" in this run` },
    ],
    ...streams,
  })
  if (typeof verdict === "symbol") return verdict
  if (verdict === "approve") return { approve: true }
  if (verdict === "always") return { approve: true, always: true }
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
