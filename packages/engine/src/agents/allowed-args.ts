/** The arguments with which a call may be made: read, and allowed by rules or by a person, who may have changed them. */
import type { Json } from "../core/index.ts"
import { readArgs, type ToolOutcome } from "../tools/call-tool.ts"
import type { ParsedArgs, Tool } from "../tools/index.ts"
import { maskArgs } from "../tools/secrets.ts"
import { readObject, type ToolCall } from "./conversation.ts"
import { fillMasks, isMasked, type Secrets } from "./secrets.ts"
import { askApproval, denied, verdictFor } from "./tool-approval.ts"
import type { ToolTurn } from "./tool-step.ts"

export type FailedOutcome = Extract<ToolOutcome, { ok: false }>

interface AllowedArgs {
  readonly ok: true
  readonly args: unknown
  /** The secrets among them did not survive a restart. */
  readonly isLost: boolean
}

export function failure(code: string, message: string): FailedOutcome {
  return { ok: false, error: { code, message } }
}

/** Why not is an outcome of the call. What a person changed goes into `edited`, by the call's id. */
export async function allowedArgs(
  { agent, ctx, secrets, options }: ToolTurn,
  tool: Tool,
  call: ToolCall,
  edited: Map<string, unknown>,
  onAsk: () => void,
): Promise<AllowedArgs | FailedOutcome> {
  const isLost = isMasked(tool, call.args) && secrets.argsOf(call.id) === undefined
  // Lost secrets come out at the very end: what was asked and answered before the crash is gone through again.
  const read = isLost ? lostArgs(call) : await argsOf(tool, call, secrets)
  if (!read.ok) return failure("TOOL_ARGS", argsInvalid(tool.name, read.reason))
  const { args } = read
  const about = { id: call.id, agent, args }
  const verdict = await verdictFor(tool, about, options.approval, ctx)
  if (verdict === "deny") return failure("TOOL_DENIED", denied(tool.name, undefined))
  if (verdict === "allow") return { ok: true, args, isLost }
  onAsk()
  const answer = await askApproval(tool, about, ctx.scope(`approval:${tool.name}:${call.id}`))
  if (!answer.approve) return failure("TOOL_DENIED", denied(tool.name, answer.reason))
  if (answer.args === undefined) return { ok: true, args, isLost }
  edited.set(call.id, maskArgs(answer.args as Json, tool.secret))
  if (isLost) return { ok: true, args, isLost }
  const written = readObject(secrets.argsOf(call.id) ?? call.args)
  const checked = await tool.parse(fillMasks(answer.args, written))
  if (!checked.ok) return failure("TOOL_ARGS", editInvalid(tool.name, checked.reason))
  return { ok: true, args: checked.args, isLost }
}

/** The arguments, read and checked: those in memory where the record has them masked. */
async function argsOf(tool: Tool, { id, args }: ToolCall, secrets: Secrets): Promise<ParsedArgs> {
  return await readArgs(tool, secrets.argsOf(id) ?? args)
}

function lostArgs({ args }: ToolCall): ParsedArgs {
  return { ok: true, args: readObject(args) }
}

function argsInvalid(tool: string, reason: string): string {
  return `The arguments of "${tool}" do not fit: ${reason}. Call it again with others.`
}

function editInvalid(tool: string, reason: string): string {
  return `The call of "${tool}" was allowed with other arguments, but these do not fit: ${reason}. Nothing was done.`
}
