/** Finds the runs in flight that a new version of their workflow would break. Call it before you deploy. */
import { type RunId, toErrorData } from "../core/index.ts"
import {
  adopt,
  type Callable,
  calledGraphs,
  differenceOf,
  IN_FLIGHT,
  loadRun,
  type Program,
  type Store,
  type StoredRun,
  type StoredStatus,
} from "../runtime/index.ts"

export interface GraphConflict {
  readonly runId: RunId
  readonly status: StoredStatus
  /** Lines with `-` for removed, `~` for changed and `+` for added parts of the workflow. */
  readonly difference: readonly string[]
  /** Why it cannot continue even with `onGraphChange: "continue"`, or could not be compared; absent if it can. */
  readonly problem?: string | undefined
}

const PAGE = 100

/** Empty if every run in flight can continue with this version. */
export async function graphConflicts(
  store: Store,
  workflow: Callable<never, unknown>,
): Promise<GraphConflict[]> {
  const { program } = workflow
  const conflicts: GraphConflict[] = []
  let before: RunId | undefined
  for (;;) {
    const runs = await store.runs({
      workflow: program.graph.name,
      status: IN_FLIGHT,
      before,
      limit: PAGE,
    })
    for (const row of runs) {
      const { runId, status } = row
      const found = await conflictOf(store, row, program)
      if (found !== undefined) conflicts.push({ runId, status, ...found })
    }
    before = runs.at(-1)?.runId
    if (runs.length < PAGE) return conflicts
  }
}

/**
 * Compares the run's own graph first; if the run could continue with it, the graphs of the workflows that its handlers call.
 */
async function conflictOf(
  store: Store,
  { runId, labels }: Pick<StoredRun, "runId" | "labels">,
  program: Program,
): Promise<Pick<GraphConflict, "difference" | "problem"> | undefined> {
  const run = await loadRun(store, runId, program.graph)
  const machine = run?.frames.get("")?.machine
  if (run === undefined || machine === undefined) return undefined
  const { lines } = differenceOf(machine, program.graph)
  try {
    adopt(machine, program.graph, "continue")
  } catch (error) {
    return { difference: lines, problem: toErrorData(error).message }
  }
  if (run.frames.size === 1) return lines.length === 0 ? undefined : { difference: lines }
  const called = await calledGraphs(run, program, labels)
  const difference = [...lines, ...called.lines]
  if (difference.length === 0 && called.problem === undefined) return undefined
  const { lines: _, ...rest } = called
  return { ...rest, difference }
}
