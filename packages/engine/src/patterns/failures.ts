/** Failures after which a pattern continues: which errors count, and how an answer reports them. */
import { isSuperstepError } from "../core/index.ts"
import { append, type Channel, type Context, channel } from "../runtime/index.ts"

/** Something that is missing from an answer: a source that failed, or a budget that ran out. */
export interface Incomplete {
  readonly source: string
  readonly reason: string
}

/** Whether the error is a limit or the end of the run: then no source failed, and no fallback applies. */
export function isNoFailure(error: unknown, ctx: Context): boolean {
  return ctx.signal.aborted || (isSuperstepError(error) && error.limit === true)
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

export const incomplete: Channel<readonly Incomplete[], readonly Incomplete[]> = channel(
  "incomplete",
  append<Incomplete>(),
)

/** Records that a source failed, which differs from a source without results. `event` is what observers see. */
export function reportIncomplete(
  ctx: Context,
  source: string,
  reason: string,
  event: "goal.incomplete" | "research.incomplete" = "goal.incomplete",
): void {
  const problem = { source, reason: reason.replace(/\s+/g, " ").trim() }
  ctx.state.write(incomplete, [problem])
  ctx.emit(event, problem)
}

/** Without duplicates: several assistants may have the same problem. */
export function distinct(problems: readonly Incomplete[]): readonly Incomplete[] {
  const isSame = (a: Incomplete, b: Incomplete) => a.source === b.source && a.reason === b.reason
  return problems.filter((one, i) => problems.findIndex((other) => isSame(one, other)) === i)
}

/** An answer and its problems, as one workflow passes them to the workflow that calls it. */
export interface Answered {
  readonly text: string
  readonly incomplete: readonly Incomplete[]
}

/** The text of a called workflow's answer. Its problems become state of the caller too. */
export function passOn([answer]: readonly Answered[], ctx: Context): string {
  if (answer === undefined) return ""
  if (answer.incomplete.length > 0) ctx.state.write(incomplete, answer.incomplete)
  return answer.text
}

/** The first lines of an incomplete answer. Empty if it is complete. */
export function incompleteText(problems: readonly Incomplete[]): string {
  const lines = incompleteLines(problems)
  return lines.length === 0 ? "" : `${lines.join("\n")}\n\n`
}

/** The result of a recorded step whose failure is recorded too: after a restart it has failed the same way. */
export type Tried<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: string; readonly code?: string | undefined }

export async function tried<T>(ctx: Context, name: string, run: () => Promise<T>): Promise<Tried<T>> {
  return await ctx.step(name, async (): Promise<Tried<T>> => {
    try {
      return { ok: true, value: await run() }
    } catch (error) {
      if (isNoFailure(error, ctx)) throw error
      return {
        ok: false,
        reason: messageOf(error),
        ...(isSuperstepError(error) && { code: error.code }),
      }
    }
  })
}

/** One line per problem, however often it occurred. */
export function incompleteLines(problems: readonly Incomplete[]): readonly string[] {
  return [...new Set(problems.map(({ source, reason }) => `Incomplete: ${source}: ${reason}`))]
}
