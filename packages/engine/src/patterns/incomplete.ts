/** What an answer lacks: a source that failed, a budget that ran out. */
export interface Incomplete {
  readonly source: string
  readonly reason: string
}

/** One for each problem, however often it occurred. */
export function incompleteLines(problems: readonly Incomplete[]): readonly string[] {
  return [...new Set(problems.map(({ source, reason }) => `Incomplete: ${source}: ${reason}`))]
}
