/**
 * The tool calls of one turn: all run concurrently, and their results have the order of the calls. A failed call is a
 * result for the model; only a fatal error, a limit, or the end of the task is thrown.
 *
 * T1 a finished call is never made again.
 * T2 a call is recorded and counted before it is made. One that was pending when the process died is made again, with the
 *    same idempotency key.
 * T3 a call that cannot be made again, because its secret arguments are lost, has an unknown outcome if it had started,
 *    and has done nothing if it had not.
 *
 * A durable tool records its own operations.
 */
import { setMaxListeners } from "node:events"
import { isSuperstepError, type Json, SuperstepError } from "../core/index.ts"
import { type Context, type PaidStep, telemetryOf } from "../runtime/index.ts"
import { andThen } from "../runtime/internal.ts"
import type { GenerateRequest, Tool, ToolCallContext } from "../tools/index.ts"
import { callTool, maskArgs, PATH, type ToolOutcome, toJson } from "../tools/internal.ts"
import type { ActiveAgent } from "./agent-core.ts"
import { readObject, type ToolCall } from "./conversation.ts"
import { checkAll, guardrailsOn } from "./guardrails.ts"
import { type HandoffTool, isHandoff, type TakeOver } from "./hand-off.ts"
import type { Hooks } from "./middleware.ts"
import { generated } from "./model-step.ts"
import { fillMasks, LOST, outcomeUnknown, UNKNOWN, type UnknownOutcomes } from "./secrets.ts"
import { type AllowedArgs, allowedArgs, denied, type FailedOutcome, failure } from "./tool-approval.ts"
import { tracedToolCall } from "./traced-calls.ts"

interface TurnResult {
  readonly outcomes: readonly ToolOutcome[]
  /** Arguments that a person edited, by the call's id. */
  readonly edited: ReadonlyMap<string, unknown>
  /** The agent that continues the conversation. */
  readonly next: TakeOver | undefined
  /** The limit that some calls reached: those were not made. */
  readonly limit?: SuperstepError | undefined
}

/** `made` receives the results as they arrive. */
export async function toolTurn(
  active: ActiveAgent,
  calls: readonly ToolCall[],
  unknown: UnknownOutcomes,
  made: (ToolOutcome | undefined)[] = [],
): Promise<TurnResult> {
  const edited = new Map<string, unknown>()
  const others = calls.length > 1 ? new AbortController() : undefined
  const { signal } = active.scope
  const { byName: tools } = active.tools
  let repeats: Map<string, string> | undefined
  for (const call of calls) {
    const key = unknown.take(call)
    if (key === undefined) continue
    repeats ??= new Map()
    repeats.set(call.id, key)
  }
  const turn: ToolTurn = {
    active,
    repeats,
    edited,
    durableBegun: undefined,
    signal: others === undefined ? signal : eitherOf(signal, others.signal),
  }
  let limit: SuperstepError | undefined

  const outcomeOf = async (call: ToolCall): Promise<ToolOutcome | TakeOver> => {
    const tool = tools.get(call.name)
    if (tool === undefined) return failure("TOOL_UNKNOWN", noSuchTool(call.name, tools))
    try {
      const { hooks, options } = active.core
      const decided: Decided = hooks === undefined ? { call } : await hookedCall(active, hooks, tool, call)
      if ("outcome" in decided) return decided.outcome
      if (decided.call !== call) edited.set(call.id, readObject(decided.call.args))
      if (options.guardrails !== undefined) await guardCall(active, tool, decided.call)
      const mustAsk = decided.mustAsk === true
      if (isHandoff(tool)) return await handOver(tool, decided.call, mustAsk)
      const outcome = await makeCall(turn, tool, decided.call, mustAsk)
      const after = hooks && (await hooks.afterToolCall(active.about(0), tool, decided.call, outcome))
      return after ?? outcome
    } catch (error) {
      if (isSuperstepError(error) && error.limit === true) {
        // The other calls of the turn finish and are recorded.
        limit ??= error
        return failure(error.code, error.message)
      }
      others?.abort(error)
      throw error
    }
  }

  /** The agent that takes over, if the hand-off is allowed. */
  const handOver = async (
    tool: HandoffTool,
    call: ToolCall,
    mustAsk: boolean,
  ): Promise<ToolOutcome | TakeOver> => {
    const allowed = await allowedArgs(turn, tool, call, mustAsk, () => undefined)
    return allowed.ok ? tool.target(allowed.args) : allowed
  }

  const ends = await Promise.all(
    calls.map((call, i) =>
      outcomeOf(call).then((end) => {
        if (isOutcome(end)) made[i] = end
        return end
      }),
    ),
  )
  // The first hand-off of the turn wins.
  const next = ends.find((one): one is TakeOver => !isOutcome(one))
  let isTaken = false
  const outcomes = ends.map((one): ToolOutcome => {
    if (isOutcome(one)) return one
    if (isTaken)
      return failure("HANDOFF_TAKEN", `The conversation was handed over to "${next?.agent.name}" already.`)
    isTaken = true
    return { ok: true, value: `Handed over to "${one.agent.name}".` }
  })
  for (const [i, call] of calls.entries()) {
    unknown.note(call, outcomes[i] as ToolOutcome, idempotencyKeyOf(turn, call.name, call.id))
  }
  return { outcomes, edited, next, limit }
}

/** The outcome of a call, or the call to make. `mustAsk`: a person decides on it. */
type Decided = { readonly outcome: ToolOutcome } | { readonly call: ToolCall; readonly mustAsk?: boolean }

/** Applies the agent's hooks to a call. */
async function hookedCall(
  { secrets, about }: ActiveAgent,
  hooks: Hooks,
  tool: Tool,
  call: ToolCall,
): Promise<Decided> {
  const decided = await hooks.onToolCall(about(0), tool, call)
  if (decided === undefined || decided === null) return { call }
  if ("deny" in decided) return { outcome: failure("TOOL_DENIED", denied(tool.name, decided.deny)) }
  if ("result" in decided) return { outcome: { ok: true, value: toJson(decided.result, tool.name) } }
  const mustAsk = decided.ask === true
  if (!("args" in decided)) return { call, mustAsk }
  const args = JSON.stringify(decided.args)
  const inMemory = secrets.argsOf(call.id)
  if (inMemory !== undefined) {
    secrets.setArgs(call.id, JSON.stringify(fillMasks(decided.args, readObject(inMemory))))
  }
  return { call: { ...call, args }, mustAsk }
}

/** Throws if a guardrail of the agent trips. */
async function guardCall(
  active: ActiveAgent,
  { name: tool, secret }: Tool,
  { id, args }: ToolCall,
): Promise<void> {
  const { core } = active
  const guardrails = guardrailsOn(core.options.guardrails, "tool", tool)
  if (guardrails.length === 0) return
  const value = maskArgs(readObject(args) as Json, secret)
  await checkAll(active.scope, guardrails, { agent: core.name, text: JSON.stringify(value), value, tool }, id)
}

function eitherOf(task: AbortSignal, turn: AbortSignal): AbortSignal {
  const signal = AbortSignal.any([task, turn])
  // Every call adds a listener, and a turn may have many calls.
  setMaxListeners(0, signal)
  return signal
}

function isOutcome(made: ToolOutcome | TakeOver): made is ToolOutcome {
  return "ok" in made
}

function noSuchTool(name: string, tools: ReadonlyMap<string, Tool>): string {
  const names = [...tools.keys()].map((one) => `"${one}"`).join(", ")
  return `There is no tool "${name}". ${names === "" ? "There are no tools; answer without." : `The tools are ${names}.`}`
}

interface ToolTurn {
  readonly active: ActiveAgent
  /** Fires with the scope's signal, and when another call of the turn fails permanently. */
  readonly signal: AbortSignal
  /** Idempotency keys of calls that repeat an earlier one, by their id. */
  readonly repeats: ReadonlyMap<string, string> | undefined
  /** Arguments that a person edited, by the call's id. */
  readonly edited: Map<string, unknown>
  /**
   * Resolves when the earlier durable calls have begun: they share the node's own state, so they begin in order. Undefined if
   * there are none.
   */
  durableBegun: Promise<void> | undefined
}

function makeCall(
  turn: ToolTurn,
  tool: Tool,
  call: ToolCall,
  mustAsk: boolean,
): ToolOutcome | Promise<ToolOutcome> {
  if (tool.durable === true) return makeDurableCall(turn, tool, call, mustAsk)
  return andThen(
    allowedArgs(turn, tool, call, mustAsk, () => undefined),
    (allowed) => (allowed.ok ? recordedCall(turn, tool, call, knownOf(allowed)) : allowed),
  )
}

async function makeDurableCall(
  turn: ToolTurn,
  tool: Tool,
  call: ToolCall,
  mustAsk: boolean,
): Promise<ToolOutcome> {
  const before = turn.durableBegun
  let begun = () => {}
  turn.durableBegun = new Promise((resolve) => {
    begun = resolve
  })
  try {
    // A call that waits for a person does not block the others.
    const allowed = await allowedArgs(turn, tool, call, mustAsk, begun)
    return allowed.ok ? await durableCall(turn, tool, call, knownOf(allowed), before, begun) : allowed
  } finally {
    begun()
  }
}

/** The arguments of a call; undefined if they were secret and are lost. */
type KnownArgs = { readonly args: unknown } | undefined

function knownOf({ args, isLost }: AllowedArgs): KnownArgs {
  return isLost ? undefined : { args }
}

function recordedCall(turn: ToolTurn, tool: Tool, call: ToolCall, known: KnownArgs): Promise<ToolOutcome> {
  const { core, scope } = turn.active
  const judged = (outcome: ToolOutcome) =>
    outcome.ok ? outcome : applyErrorPolicy(turn, tool, call, outcome)
  const run = (paid: PaidStep): ToolOutcome | Promise<ToolOutcome> => {
    if (known === undefined) return lost(tool, paid.mayHaveRun)
    return andThen(start(turn, paid), () => runTool(turn, tool, known.args, call, false).then(judged))
  }
  return scope.ctx.step(stepName(tool, call), run, {
    usage: (outcome) => (wasNotMade(outcome) ? {} : ONE_CALL),
    source: () => ({ agent: core.name }),
  })
}

/**
 * Records and counts the start; the outcome is derived from the tool's own records. A call with secret arguments cannot
 * replay these, so its outcome is recorded too.
 */
async function durableCall(
  turn: ToolTurn,
  tool: Tool,
  call: ToolCall,
  known: KnownArgs,
  before: Promise<void> | undefined,
  begun: () => void,
): Promise<ToolOutcome> {
  const { core, scope } = turn.active
  let isResumed = true
  const name = stepName(tool, call)
  const began = await scope.ctx.step<true | ToolOutcome>(
    name,
    async (paid) => {
      isResumed = false
      if (known === undefined) return lost(tool, paid.mayHaveRun)
      const started = start(turn, paid)
      if (started !== undefined) await started
      return true
    },
    { usage: (made) => (made === true ? ONE_CALL : {}), source: () => ({ agent: core.name }) },
  )
  if (began !== true) return began
  if (known === undefined) return await scope.ctx.step(`outcome:${name}`, () => lost(tool, true))
  await before
  try {
    const running = runTool(turn, tool, known.args, call, isResumed)
    begun()
    const outcome = await running
    const seen = outcome.ok ? outcome : applyErrorPolicy(turn, tool, call, outcome)
    return hasSecrets(tool) ? await scope.ctx.step(`outcome:${name}`, () => seen) : seen
  } catch (error) {
    // A sub-agent has reached one of its own limits: that is a result for its caller.
    if (isSuperstepError(error, "AGENT_LIMIT") && !turn.signal.aborted) {
      return failure(error.code, error.message)
    }
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
  const { ctx } = turn.active.scope
  const context = contextOf(turn, tool, call)
  const parent = telemetryOf(ctx)
  return parent === undefined
    ? callTool(tool, args, context, { clock: ctx.clock })
    : tracedToolCall(parent, tool, args, context, isResumed)
}

/** Records and counts the call, if limits and budgets allow it. */
function start({ active }: ToolTurn, paid: PaidStep): Promise<void> | undefined {
  const { core, scope, guards } = active
  scope.ctx.checkBudget()
  for (const guard of guards) guard.checkToolCall(scope.ctx)
  return paid.reserve(ONE_CALL, { agent: core.name })
}

function contextOf(turn: ToolTurn, tool: Tool, { id }: ToolCall): ToolCallContext {
  const { core, scope, guards } = turn.active
  const step = stepName(tool, { id })
  const path = `${scope.path}${step}/`
  let own: Context | undefined
  // Most tools do not read it.
  const scoped = () => {
    own ??= scope.ctx.scope(step)
    return own
  }
  return {
    id,
    agent: core.name,
    tool: tool.name,
    signal: turn.signal,
    idempotencyKey: idempotencyKeyOf(turn, tool.name, id),
    get ctx() {
      return scoped()
    },
    generate: (request: GenerateRequest) =>
      generated({ core, guards, scope: { ...scope, ctx: scoped(), signal: turn.signal, path } }, request),
    progress: (data: unknown) =>
      scope.ctx.progress({ tool: { id, name: tool.name }, data, agent: core.name }),
    get context() {
      return scope.ctx.context
    },
    [PATH]: path,
  } as ToolCallContext
}

/** Derived from the position of the call in the record: the same after a crash, even if the arguments are lost. */
function idempotencyKeyOf({ active, repeats }: ToolTurn, tool: string, id: string): string {
  const { ctx, path } = active.scope
  return repeats?.get(id) ?? `${ctx.idempotencyKey}:${path}tool:${tool}:${id}`
}

function stepName(tool: Tool, { id }: Pick<ToolCall, "id">): string {
  return `tool:${tool.name}:${id}`
}

function applyErrorPolicy(
  { active }: ToolTurn,
  tool: Tool,
  { id }: ToolCall,
  outcome: FailedOutcome,
): ToolOutcome {
  const { onToolError = "result" } = active.core.options
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

/** The secret arguments of a call are lost. */
function lost({ name }: Tool, mayHaveRun: boolean): FailedOutcome {
  return mayHaveRun ? failure(UNKNOWN, outcomeUnknown(name)) : failure("TOOL_SECRETS_LOST", LOST)
}

/** Whether the call was not made, or not made again: usage that an earlier start reserved is counted separately. */
function wasNotMade(outcome: ToolOutcome): boolean {
  return !outcome.ok && (outcome.error.code === "TOOL_SECRETS_LOST" || outcome.error.code === UNKNOWN)
}

function hasSecrets({ secret }: Tool): boolean {
  return secret !== undefined && secret.length > 0
}
