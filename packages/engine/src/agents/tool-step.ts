/**
 * One tool call: read, allowed, made, recorded. A call that finished is never made again; one that was under way when the
 * process died is made again, with the same idempotency key. A durable tool records what it does itself.
 */
import { isSuperstepError, SuperstepError } from "../core/index.ts"
import { type Context, telemetryOf } from "../runtime/index.ts"
import { callTool, type ToolOutcome } from "../tools/call-tool.ts"
import type { Tool, ToolCallContext } from "../tools/index.ts"
import type { Guard } from "./agent-limits.ts"
import type { SomeAgentOptions } from "./agent-options.ts"
import { allowedArgs, type FailedOutcome, failure } from "./allowed-args.ts"
import type { ToolCall } from "./conversation.ts"
import { withPath } from "./scope-path.ts"
import { LOST, type Secrets } from "./secrets.ts"
import { tracedToolCall } from "./traced-calls.ts"

export interface ToolTurn {
  readonly agent: string
  readonly options: Pick<SomeAgentOptions, "approval" | "onToolError">
  readonly tools: ReadonlyMap<string, Tool>
  readonly guards: readonly Guard[]
  readonly secrets: Secrets
  readonly ctx: Context
  readonly signal: AbortSignal
  readonly path: string
  /** Resolves when the durable calls before have begun: they share the node's own state, and begin in their order. */
  durableBegun: Promise<void>
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
  // Nobody waits for a person on behalf of another call.
  const allowed = await allowedArgs(turn, tool, call, edited, begun)
  if (!allowed.ok) return allowed
  const { args, isLost } = allowed
  return await (tool.durable === true && !isLost
    ? durableCall(turn, tool, call, args, before, begun)
    : recordedCall(turn, tool, call, isLost ? undefined : { args }))
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
    const outcome = await runTool(turn, tool, given.args, call, false)
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
    const running = runTool(turn, tool, args, call, end === undefined)
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

function runTool(
  turn: ToolTurn,
  tool: Tool,
  args: unknown,
  call: ToolCall,
  isResumed: boolean,
): Promise<ToolOutcome> {
  const made = contextOf(turn, tool, call)
  const above = telemetryOf(turn.ctx)
  return above === undefined
    ? callTool(tool, args, made, { clock: turn.ctx.clock })
    : tracedToolCall(above, tool, args, made, isResumed)
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
  outcome: FailedOutcome,
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
