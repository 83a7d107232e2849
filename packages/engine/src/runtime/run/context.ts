/** Contexts derived from a handler's: with their own keys, or with the telemetry of the work they are for. */
import type { AgentReport } from "../ports/agent-report.ts"
import type { CallOptions, Context } from "../ports/program.ts"
import type { WorkTelemetry } from "../ports/telemetry.ts"

/** Under this a task has its telemetry, and what is traced inside it its own. */
export const TELEMETRY: unique symbol = Symbol.for("superstep.telemetry") as never

/** Under this a call of a workflow says what to be traced below, if not its task. */
export const CALLED_FROM: unique symbol = Symbol("called from") as never

export interface TracedCallOptions extends CallOptions {
  /** Asked only when the call is really made. */
  readonly [CALLED_FROM]?: (() => string | undefined) | undefined
}

/** Undefined while telemetry is off. */
export function telemetryOf(ctx: Context): WorkTelemetry | undefined {
  return (ctx as { readonly [TELEMETRY]?: WorkTelemetry | undefined })[TELEMETRY]
}

/** The same context, for what is done in `work`: also in its scopes, and in the workflows that are called from there. */
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
    // The base has private fields, so its properties are read from itself.
    get: (_, property) => Reflect.get(Object.hasOwn(changed, property) ? changed : base, property),
  })
}

/** Under this a task takes the reports of its agents. */
export const REPORT: unique symbol = Symbol.for("superstep.report") as never

/** Puts what an agent did into the result of the run, in this process. */
export function reportAgent(ctx: Context, report: AgentReport): void {
  const { [REPORT]: take } = ctx as { readonly [REPORT]?: ((report: AgentReport) => void) | undefined }
  take?.(report)
}

/** Under this a task learns what stays of its work if a limit ends it. */
export const LEAVES: unique symbol = Symbol.for("superstep.leaves") as never

/** What stays of a task's work if a limit ends it. */
export interface LeftWork {
  /** Written to a channel. */
  readonly writes?: readonly (readonly [key: string, value: unknown])[] | undefined
  /** Goes to the node of the limit route, beside the code and the message. */
  readonly notice?: object | undefined
}

export type Leave = (error: unknown) => LeftWork

/** `leave` is called when a limit ends the task, with the error of that limit: until the function that is returned is. */
export function leaveAtLimit(ctx: Context, leave: Leave): () => void {
  const { [LEAVES]: register } = ctx as { readonly [LEAVES]?: (leave: Leave) => () => void }
  return register?.(leave) ?? (() => undefined)
}

/** Under this a task counts how many model calls of an agent were answered: which reply of a script comes next. */
export const ENDED_CALLS: unique symbol = Symbol.for("superstep.endedCalls") as never

/** In the whole run, without calls under way and those that a crash left without an outcome. */
export function endedCalls(ctx: Context, agent: string): number {
  const { [ENDED_CALLS]: ended } = ctx as { readonly [ENDED_CALLS]?: ((agent: string) => number) | undefined }
  return ended?.(agent) ?? ctx.usedBy(agent).modelCalls ?? 0
}
