/** Which runs in flight a new version of their workflow would break: to be asked before it is deployed. */
import { graphData, type RunId, toErrorData } from "../core/index.ts"
import {
  adopt,
  type Callable,
  differenceOf,
  loadRun,
  type Store,
  type StoredStatus,
} from "../runtime/index.ts"

export interface GraphConflict {
  readonly runId: RunId
  readonly status: StoredStatus
  /** Lines with `-` for what the run was made with, and `+` for what the workflow has now. */
  readonly difference: readonly string[]
  /** Why it cannot even go on with `onGraphChange: "continue"`; absent where it can. */
  readonly problem?: string | undefined
}

const PAGE = 100

/** Empty when every run in flight can go on with this version. */
export async function graphConflicts(
  store: Store,
  workflow: Callable<never, unknown>,
): Promise<GraphConflict[]> {
  const { graph } = workflow.program
  const { hash } = graphData(graph)
  const conflicts: GraphConflict[] = []
  let before: RunId | undefined
  for (;;) {
    const runs = await store.runs({
      workflow: graph.name,
      status: ["running", "waiting", "quarantined"],
      before,
      limit: PAGE,
    })
    for (const { runId, status, graph: made } of runs) {
      if (made === hash) continue
      const machine = (await loadRun(store, runId, graph))?.frames.get("")?.machine
      if (machine === undefined) continue
      const { lines } = differenceOf(machine, graph)
      if (lines.length === 0) continue
      conflicts.push({
        runId,
        status,
        difference: lines,
        ...problemOf(() => adopt(machine, graph, "continue")),
      })
    }
    before = runs.at(-1)?.runId
    if (runs.length < PAGE) return conflicts
  }
}

function problemOf(attempt: () => unknown): { problem?: string } {
  try {
    attempt()
    return {}
  } catch (error) {
    return { problem: toErrorData(error).message }
  }
}
