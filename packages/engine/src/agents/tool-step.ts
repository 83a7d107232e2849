/**
 * One tool call: read, allowed, made, recorded. A call that finished is never made again; one that was under way when the
 * process died is made again, with the same idempotency key. A durable tool records what it does itself.
 */
import { isSuperstepError, type Json, SuperstepError } from "../core/index.ts"
import type { Context } from "../runtime/index.ts"
import { callTool, readArgs, type ToolOutcome } from "../tools/call-tool.ts"
import type { ParsedArgs, Tool, ToolCallContext } from "../tools/index.ts"
import { maskArgs } from "../tools/secrets.ts"
import type { Guard } from "./agent-limits.ts"
import type { SomeAgentOptions } from "./agent-options.ts"
import type { ToolCall } from "./conversation.ts"
import { withPath } from "./scope-path.ts"
import { fillMasks, isMasked, type LiveArgs, LOST } from "./secrets.ts"
import { askApproval, denied, verdictFor } from "./tool-approval.ts"

export interface ToolTurn {
  readonly agent: string
  readonly options: Pick<SomeAgentOptions, "approval" | "onToolError">
  readonly tools: ReadonlyMap<string, Tool>
  readonly guards: readonly Guard[]
  readonly live: LiveArgs
  readonly ctx: Context
  readonly signal: AbortSignal
  readonly path: string
  /** Resolves when the durable calls before have begun: they share the node's own state, and begin in their order. */
  durableBegun: Promise<void>
}

export function failure(code: string, message: string): ToolOutcome {
  return { ok: false, error: { code, message } }
}

/** The arguments, read and checked: those in memory where the record has them masked. */
export async function argsOf(tool: Tool, { id, args }: ToolCall, live: LiveArgs): Promise<ParsedArgs> {
  const read = await readArgs(tool, live.get(id) ?? args)
  if (read.ok) return read
  return {
    ok: false,
    reason: `The arguments of "${tool.name}" do not fit: ${read.reason}. Call it again with others.`,
  }
}

export async function makeCall(
  turn: ToolTurn,
  tool: Tool,
  call: ToolCall,
  edited: Map<string, unknown>,
): Promise<ToolOutcome> {
  const before = turn.durableBegun
  let begun = () => {}
  if (tool.durable === true) {
    turn.durableBegun = new Promise((resolve) => {
      begun = resolve
    })
  }
  try {
    return await allowedCall(turn, tool, call, edited, before, begun)
  } finally {
    begun()
  }
}

async function allowedCall(
  turn: ToolTurn,
  tool: Tool,
  call: ToolCall,
  edited: Map<string, unknown>,
  before: Promise<void>,
  begun: () => void,
): Promise<ToolOutcome> {
  const { agent, ctx, live, options } = turn
  const isLost = isMasked(tool, call.args) && !live.has(call.id)
  // Lost secrets come out at the very end: what was asked and answered before the crash is gone through again.
  const read = isLost ? lostArgs(call) : await argsOf(tool, call, live)
  if (!read.ok) return failure("TOOL_ARGS", read.reason)
  let { args } = read
  const about = { id: call.id, agent, args }
  const verdict = await verdictFor(tool, about, options.approval, ctx)
  if (verdict === "deny") return failure("TOOL_DENIED", denied(tool.name, undefined))
  if (verdict === "ask") {
    // Nobody waits for a person on behalf of another call.
    begun()
    const answer = await askApproval(tool, about, ctx.scope(`approval:${tool.name}:${call.id}`))
    if (!answer.approve) return failure("TOOL_DENIED", denied(tool.name, answer.reason))
    if (answer.args !== undefined) {
      edited.set(call.id, maskArgs(answer.args as Json, tool.secret))
      const checked = await tool.parse(fillMasks(answer.args, JSON.parse(live.get(call.id) ?? call.args)))
      if (!checked.ok && !isLost) return failure("TOOL_ARGS", editInvalid(tool.name, checked.reason))
      if (checked.ok) args = checked.args
    }
  }
  return await (tool.durable === true && !isLost
    ? durableCall(turn, tool, call, args, before, begun)
    : recordedCall(turn, tool, call, isLost ? undefined : { args }))
}

function lostArgs({ args }: ToolCall): ParsedArgs {
  try {
    return { ok: true, args: JSON.parse(args) }
  } catch {
    return { ok: true, args: {} }
  }
}

async function recordedCall(
  turn: ToolTurn,
  tool: Tool,
  call: ToolCall,
  given: { readonly args: unknown } | undefined,
): Promise<ToolOutcome> {
  const { ctx, agent } = turn
  // Under way until it is on record, and counted there.
  let end: (() => void) | undefined
  const run = async (): Promise<ToolOutcome> => {
    if (given === undefined) return failure("TOOL_SECRETS_LOST", LOST)
    end = begin(turn)
    const outcome = await callTool(tool, given.args, contextOf(turn, tool, call), { clock: ctx.clock })
    return outcome.ok ? outcome : told(turn, tool, call, outcome)
  }
  try {
    return await ctx.step(stepName(tool, call), run, {
      usage: (outcome) => (isLost(outcome) ? {} : { toolCalls: 1 }),
      source: () => ({ agent }),
    })
  } finally {
    end?.()
  }
}

/** Its beginning is recorded, and counted; what it comes to follows from its own records. */
async function durableCall(
  turn: ToolTurn,
  tool: Tool,
  call: ToolCall,
  args: unknown,
  before: Promise<void>,
  begun: () => void,
): Promise<ToolOutcome> {
  const { ctx, agent } = turn
  let end: (() => void) | undefined
  const start = () => {
    end = begin(turn)
    return true
  }
  try {
    await ctx.step(stepName(tool, call), start, {
      usage: () => ({ toolCalls: 1 }),
      source: () => ({ agent }),
    })
  } finally {
    end?.()
  }
  await before
  try {
    const running = callTool(tool, args, contextOf(turn, tool, call), { clock: ctx.clock })
    begun()
    const outcome = await running
    return outcome.ok ? outcome : told(turn, tool, call, outcome)
  } catch (error) {
    // An agent that was asked has reached a limit of its own: that is for the one who asked to know.
    if (isSuperstepError(error, "AGENT_LIMIT") && !turn.signal.aborted)
      return failure(error.code, error.message)
    throw error
  }
}

/** Checks what may be used, and gives the function that ends it. */
function begin({ ctx, guards }: ToolTurn): () => void {
  ctx.checkBudget()
  const begun: Guard[] = []
  const end = () => {
    for (const guard of begun) guard.endToolCall()
  }
  try {
    for (const guard of guards) {
      guard.beginToolCall(ctx)
      begun.push(guard)
    }
  } catch (error) {
    end()
    throw error
  }
  return end
}

function contextOf({ ctx, agent, signal, path }: ToolTurn, tool: Tool, { id }: ToolCall): ToolCallContext {
  const scope = `tool:${tool.name}:${id}`
  const idempotencyKey = `${ctx.idempotencyKey}:${path}${scope}`
  const call = { id, agent, tool: tool.name, signal, idempotencyKey, ctx: ctx.scope(scope) }
  return withPath(call, `${path}${scope}/`)
}

function stepName(tool: Tool, { id }: ToolCall): string {
  return `tool:${tool.name}:${id}`
}

function told(
  { options: { onToolError = "result" } }: ToolTurn,
  tool: Tool,
  { id }: ToolCall,
  outcome: Extract<ToolOutcome, { ok: false }>,
): ToolOutcome {
  if (onToolError === "result") return outcome
  const { error } = outcome
  if (onToolError !== "fail") {
    return { ok: false, error: { ...error, message: onToolError(error.message, { tool: tool.name, id }) } }
  }
  const { retryable } = error
  const text = `Tool "${tool.name}" failed: ${error.message}`
  throw new SuperstepError("TOOL_FAILED", text, retryable === undefined ? {} : { retryable })
}

function isLost(outcome: ToolOutcome): boolean {
  return !outcome.ok && outcome.error.code === "TOOL_SECRETS_LOST"
}

function editInvalid(tool: string, reason: string): string {
  return `The call of "${tool}" was allowed with other arguments, but these do not fit: ${reason}. Nothing was done.`
}
