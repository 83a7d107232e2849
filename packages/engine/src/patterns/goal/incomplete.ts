/** What an answer lacks: sources that could not be asked. It is told in the answer, in the run's state and as an event. */
import { append, type Context, channel } from "../../runtime/index.ts"

export interface Incomplete {
  readonly source: string
  readonly reason: string
}

export const incomplete = channel("incomplete", append<Incomplete>())

/** Records that a source failed, which is not the same as having nothing. */
export function reportIncomplete(ctx: Context, source: string, reason: string): void {
  const problem = { source, reason: reason.replace(/\s+/g, " ").trim() }
  ctx.state.write(incomplete, [problem])
  ctx.emit("goal.incomplete", problem)
}

/** The first lines of an answer that lacks something; empty where it lacks nothing. */
export function incompleteText(problems: readonly Incomplete[]): string {
  const lines = problems.map(({ source, reason }) => `Incomplete: ${source}: ${reason}`)
  return lines.length === 0 ? "" : `${[...new Set(lines)].join("\n")}\n\n`
}
