/**
 * One tool call: read, allowed, put on record, made, recorded.
 *
 * T1 a call that finished is never made again.
 * T2 a call is on record, and counted, before it is made. One that was under way when the process died is made again, with
 *    the same idempotency key.
 * T3 a call that cannot be made again, because its secret arguments are gone, has an unknown outcome if it had started, and
 *    has done nothing if it had not.
 *
 * A durable tool records what it does itself.
 */
import { isSuperstepError, SuperstepError } from "../core/index.ts"
import { type Context, type PaidStep, telemetryOf } from "../runtime/index.ts"
import { callTool, type ToolOutcome } from "../tools/call-tool.ts"
import type { Tool, ToolCallContext } from "../tools/index.ts"
import type { Guard } from "./agent-limits.ts"
import type { SomeAgentOptions } from "./agent-options.ts"
import { allowedArgs, type FailedOutcome, failure } from "./allowed-args.ts"
import type { ToolCall } from "./conversation.ts"
import { withPath } from "./scope-path.ts"
import { LOST, outcomeUnknown, type Secrets } from "./secrets.ts"
import { tracedToolCall } from "./traced-calls.ts"
import { UNKNOWN } from "./unknown-outcomes.ts"

export interface ToolTurn {
  readonly agent: string
  readonly options: Pick<SomeAgentOptions, "approval" | "onToolError">
  readonly tools: ReadonlyMap<string, Tool>
  readonly guards: readonly Guard[]
  readonly secrets: Secrets
  readonly ctx: Context
  readonly signal: AbortSignal
  readonly path: string
  /** Idempotency keys of calls that repeat an earlier one, by their id. */
  readonly repeats: ReadonlyMap<string, string>
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
  const given = allowed.isLost ? undefined : { args: allowed.args }
  return await (tool.durable === true
    ? durableCall(turn, tool, call, given, before, begun)
    : recordedCall(turn, tool, call, given))
}

/** The arguments of a call; undefined where they were secret and are gone. */
type Given = { readonly args: unknown } | undefined

async function recordedCall(turn: ToolTurn, tool: Tool, call: ToolCall, given: Given): Promise<ToolOutcome> {
  const { ctx, agent } = turn
  const run = async (paid: PaidStep): Promise<ToolOutcome> => {
    if (given === undefined) return lost(tool, paid.mayHaveRun)
    const started = start(turn, paid)
    if (started !== undefined) await started
    const outcome = await runTool(turn, tool, given.args, call, false)
    return outcome.ok ? outcome : told(turn, tool, call, outcome)
  }
  return await ctx.step(stepName(tool, call), run, {
    usage: (outcome) => (wasNotMade(outcome) ? {} : ONE_CALL),
    source: () => ({ agent }),
  })
}

/**
 * Its beginning is recorded, and counted; what it comes to follows from its own records. Without its arguments it cannot go
 * through these again: what a call with secret ones came to is recorded as well.
 */
async function durableCall(
  turn: ToolTurn,
  tool: Tool,
  call: ToolCall,
  given: Given,
  before: Promise<void>,
  begun: () => void,
): Promise<ToolOutcome> {
  const { ctx, agent } = turn
  let isResumed = true
  const name = stepName(tool, call)
  const began = await ctx.step<true | ToolOutcome>(
    name,
    async (paid) => {
      isResumed = false
      if (given === undefined) return lost(tool, paid.mayHaveRun)
      const started = start(turn, paid)
      if (started !== undefined) await started
      return true
    },
    { usage: (made) => (made === true ? ONE_CALL : {}), source: () => ({ agent }) },
  )
  if (began !== true) return began
  if (given === undefined) return await ctx.step(`outcome:${name}`, () => lost(tool, true))
  await before
  try {
    const running = runTool(turn, tool, given.args, call, isResumed)
    begun()
    const outcome = await running
    const seen = outcome.ok ? outcome : told(turn, tool, call, outcome)
    return hasSecrets(tool) ? await ctx.step(`outcome:${name}`, () => seen) : seen
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

/** Puts the call on record and counts it, if limits and budgets allow it. */
function start({ ctx, guards, agent }: ToolTurn, paid: PaidStep): Promise<void> | undefined {
  ctx.checkBudget()
  for (const guard of guards) guard.checkToolCall(ctx)
  return paid.reserve(ONE_CALL, { agent })
}

function contextOf(turn: ToolTurn, tool: Tool, { id }: ToolCall): ToolCallContext {
  const { ctx, agent, signal, path } = turn
  const scope = stepName(tool, { id })
  const idempotencyKey = idempotencyKeyOf(turn, tool.name, id)
  const call = { id, agent, tool: tool.name, signal, idempotencyKey, ctx: ctx.scope(scope) }
  return withPath(call, `${path}${scope}/`)
}

/** By the place of the call in the record: the same after a crash, whatever became of its arguments. */
export function idempotencyKeyOf(
  { ctx, path, repeats }: Pick<ToolTurn, "ctx" | "path" | "repeats">,
  tool: string,
  id: string,
): string {
  return repeats.get(id) ?? `${ctx.idempotencyKey}:${path}tool:${tool}:${id}`
}

function stepName(tool: Tool, { id }: Pick<ToolCall, "id">): string {
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

const ONE_CALL = { toolCalls: 1 }

/** The secret arguments of a call are gone. */
function lost({ name }: Tool, mayHaveRun: boolean): FailedOutcome {
  return mayHaveRun ? failure(UNKNOWN, outcomeUnknown(name)) : failure("TOOL_SECRETS_LOST", LOST)
}

/** It was not made, or not made again: what an earlier start reserved is counted apart. */
function wasNotMade(outcome: ToolOutcome): boolean {
  return !outcome.ok && (outcome.error.code === "TOOL_SECRETS_LOST" || outcome.error.code === UNKNOWN)
}

function hasSecrets({ secret }: Tool): boolean {
  return secret !== undefined && secret.length > 0
}
