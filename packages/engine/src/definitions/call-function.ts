/** Calls a function of the user's own code. Its result is journaled: after a crash the function is not called again. */
import { type Json, SuperstepError } from "../core/index.ts"
import { filling, type Reference, type Scope, type Spelling } from "../expressions/index.ts"
import type { Context } from "../runtime/index.ts"
import { jsonSchema } from "../tools/index.ts"

/** What a function knows about its run. */
export type StepFunctionContext = Pick<
  Context,
  "runId" | "labels" | "attempt" | "idempotencyKey" | "signal" | "log"
>

/** The arguments are the step's `args`; without any, `{ input }`: the run's prompt, in a graph the output before it. */
export type StepFunction<Args = never, Result = unknown> = (
  args: Args,
  ctx: StepFunctionContext,
) => Result | Promise<Result>

interface CallOptions<At> {
  /** Strings may be templates; a template of one expression keeps its type. */
  readonly args: Json
  /** JSON Schema of the result. */
  readonly schema: Json | undefined
  readonly spelling: Spelling
  scope(at: At, references: readonly Reference[]): Scope
}

/** `id` is the step's or the node's. */
export function functionCaller<At>(
  run: StepFunction,
  { args, schema, spelling, scope }: CallOptions<At>,
): (id: string, at: At, ctx: Context) => Promise<Json> {
  const fill = filling(args, spelling, scope)
  const result = schema === undefined ? undefined : jsonSchema<Json>(schema)
  return async (id, at, ctx) => {
    const filled = fill(at)
    const { runId, labels, attempt, idempotencyKey, signal } = ctx
    const own = { runId, labels, attempt, idempotencyKey, signal, log: ctx.log.bind(ctx) }
    return await ctx.step("call", async () => {
      const value = (await run(filled as never, own)) ?? null
      const checked = await result?.["~standard"].validate(value)
      if (checked?.issues === undefined) return value as Json
      const problem = checked.issues.map(({ message }) => message).join("; ")
      const text = `The result of the function of "${id}" does not match its schema: ${problem}.`
      throw new SuperstepError("FUNCTION_RESULT", text, { retryable: false })
    })
  }
}
