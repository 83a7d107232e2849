/** Which runs in flight a new version of their workflow would break: to be asked before it is deployed. */
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
  /** Lines with `-` for what the run was made with, `~` for what changed, and `+` for what the workflow has now. */
  readonly difference: readonly string[]
  /** Why it cannot even continue with `onGraphChange: "continue"`, or could not be compared; absent where it can. */
  readonly problem?: string | undefined
}

const PAGE = 100

/** Empty when every run in flight can continue with this version. */
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

/** The run's own graph first; where the run could continue with it, the graphs of the workflows that its handlers call. */
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
