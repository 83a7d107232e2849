/** Contexts derived from a handler's context: with their own keys, or with the telemetry of their work. */
import type { AgentChange, Json, OpenRequest, RouteDecision } from "../../core/index.ts"
import { freezeData } from "../../core/internal.ts"
import { clipped } from "../../text/index.ts"
import type { SlotKeeper } from "../lease/slot-keeper.ts"
import type { AgentReport } from "../ports/agent-report.ts"
import type { CallOptions, Context } from "../ports/program.ts"
import type { WorkTelemetry } from "../ports/telemetry.ts"

/** Key of the telemetry of a task, or of the work traced inside it. */
export const TELEMETRY: unique symbol = Symbol.for("superstep.telemetry") as never

/** Key under which a call of a workflow names its parent span, if that is not its task. */
export const CALLED_FROM: unique symbol = Symbol("called from") as never

export interface TracedCallOptions extends CallOptions {
  /** Called only if the call is made. */
  readonly [CALLED_FROM]?: (() => string | undefined) | undefined
}

/** Undefined while telemetry is off. */
export function telemetryOf(ctx: Context): WorkTelemetry | undefined {
  return (ctx as { readonly [TELEMETRY]?: WorkTelemetry | undefined })[TELEMETRY]
}

/** The same context traced as part of `work`, also in its scopes and in the workflows that it calls. */
export function tracedContext(base: Context, work: WorkTelemetry): Context {
  const traced = {
    [TELEMETRY]: work,
    scope: (name: string) => tracedContext(base.scope(name), work),
    call: ((workflow, input, options) => {
      const from: TracedCallOptions = { [CALLED_FROM]: () => work.trace, ...options }
      return base.call(workflow, input, from)
    }) as Context["call"],
  }
  return contextWith(base, traced)
}

/** The same context with other members: a scope has other keys for steps and waits. */
export function contextWith(base: Context, changed: Partial<Context>): Context {
  return new Proxy(base, {
    // The base has private fields, so its properties are read on the base itself.
    get: (_, property) => Reflect.get(Object.hasOwn(changed, property) ? changed : base, property),
  })
}

/** Key under which a task collects the reports of its agents. */
export const REPORT: unique symbol = Symbol.for("superstep.report") as never

/** Adds an agent's report to the result of the run, in this process. */
export function reportAgent(ctx: Context, report: AgentReport): void {
  const { [REPORT]: take } = ctx as { readonly [REPORT]?: ((report: AgentReport) => void) | undefined }
  take?.(report)
}

/** Key under which a task collects what its route was decided with. */
export const DECIDED: unique symbol = Symbol.for("superstep.decided") as never

/** Characters of the JSON of an operand: the journal has the whole value where it was written. */
const MAX_OPERAND = 500

/** Records a condition of a definition with the end of the task. */
export function recordDecision(ctx: Context, { operands, ...decision }: RouteDecision): void {
  const { [DECIDED]: take } = ctx as { readonly [DECIDED]?: ((decision: RouteDecision) => void) | undefined }
  if (take === undefined) return
  const shown = operands.map(({ text, value }) =>
    value === undefined ? { text } : { text, value: short(value) },
  )
  take(freezeData({ ...decision, operands: shown }))
}

function short(value: Json): Json {
  const text = JSON.stringify(value)
  return text.length <= MAX_OPERAND ? (JSON.parse(text) as Json) : clipped(text, MAX_OPERAND)
}

/** Key under which a task registers the work that remains if a limit ends it. */
export const LEAVES: unique symbol = Symbol.for("superstep.leaves") as never

/** The work of a task that remains if a limit ends it. */
export interface LeftWork {
  /** Written to a channel. */
  readonly writes?: readonly (readonly [key: string, value: unknown])[] | undefined
  /** Passed to the node of the limit route, besides the code and the message. */
  readonly notice?: object | undefined
}

export type Leave = (error: unknown) => LeftWork

/** Calls `leave` with the error when a limit ends the task. The returned function unregisters it. */
export function leaveAtLimit(ctx: Context, leave: Leave): () => void {
  const { [LEAVES]: register } = ctx as { readonly [LEAVES]?: (leave: Leave) => () => void }
  return register?.(leave) ?? (() => undefined)
}

/** Key of the slots that the run of a task shares with other processes. */
export const SLOTS: unique symbol = Symbol.for("superstep.slots") as never

/** Undefined for a run without a store. */
export function slotsOf(ctx: Context): Pick<SlotKeeper, "take"> | undefined {
  return (ctx as { readonly [SLOTS]?: Pick<SlotKeeper, "take"> | undefined })[SLOTS]
}

/** Key under which a task finds what forks of its run changed of an agent. */
export const AGENT_CHANGE: unique symbol = Symbol.for("superstep.agentChange") as never

export function agentChange(ctx: Context, agent: string): AgentChange | undefined {
  const { [AGENT_CHANGE]: changeOf } = ctx as {
    readonly [AGENT_CHANGE]?: ((agent: string) => AgentChange | undefined) | undefined
  }
  return changeOf?.(agent)
}

/** Key under which a task counts the answered model calls of an agent, which select the next reply of a script. */
export const ENDED_CALLS: unique symbol = Symbol.for("superstep.endedCalls") as never

/** Counts the whole run, except calls in progress and calls that a crash left without an outcome. */
export function endedCalls(ctx: Context, agent: string): number {
  const { [ENDED_CALLS]: ended } = ctx as { readonly [ENDED_CALLS]?: ((agent: string) => number) | undefined }
  return ended?.(agent) ?? ctx.usedBy(agent).modelCalls ?? 0
}

/** Key under which a question says which later questions of the run its answer also holds for. */
export const KEEPS: unique symbol = Symbol.for("superstep.keeps") as never

/** Questions of a run that one answer may settle, now and later. */
export interface KeptAnswer {
  /** What the questions have in common. */
  readonly name: string
  /** The answer to the others; undefined if this answer holds for its own question only. */
  of(answer: Json): Json | undefined
  /** Whether an open question is one of them. */
  covers(request: OpenRequest): boolean
}

export interface KeepableQuestion {
  readonly [KEEPS]?: KeptAnswer | undefined
}

/** Key under which a task finds the answer that the run keeps for a question. */
export const KEPT: unique symbol = Symbol.for("superstep.kept") as never

/** Undefined also if the context has asked before: then its own answer counts, when the handler runs again too. */
export function keptAnswer(ctx: Context, name: string): Json | undefined {
  const { [KEPT]: kept } = ctx as { readonly [KEPT]?: ((name: string) => Json | undefined) | undefined }
  return kept?.(name)
}

const ignore = () => undefined

/**
 * A handler may hold a promise that it does not await yet: stopping its task must not crash the process. An operation begun
 * after the handler returned is a mistake, so its rejection stays unhandled.
 */
export function unlistened<T>(
  operations: { checkOpen(call: string): void },
  call: string,
  begin: () => Promise<T>,
): Promise<T> {
  try {
    operations.checkOpen(call)
  } catch (error) {
    return Promise.reject(error)
  }
  const promise = begin()
  promise.catch(ignore)
  return promise
}
