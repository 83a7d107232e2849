/** How work inside a task finds the telemetry of what it is done in: it rides along on the handler's context. */
import type { CallOptions, Context } from "./context.ts"
import type { WorkTelemetry } from "./work-telemetry.ts"

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
  return new Proxy(base, {
    // The base has private fields, so its properties are read from itself.
    get: (_, property) =>
      Object.hasOwn(traced, property)
        ? traced[property as keyof typeof traced]
        : Reflect.get(base, property, base),
  })
}
