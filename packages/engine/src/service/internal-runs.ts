/**
 * Internal workflows: those of Superstep itself, such as deliveries of webhooks. Their runs are durable like all others, and
 * do not appear among those of users: not in lists, and not as events of subscriptions.
 */
import type { RunQuery, Store, StoredRun } from "../runtime/index.ts"

/** The names of internal workflows begin with it. */
const PREFIX = "superstep."
/** The queue of internal runs, which every process serves for the internal workflows that it has. */
export const INTERNAL_QUEUE = "superstep.internal"

export function isInternal(workflow: string): boolean {
  return workflow.startsWith(PREFIX)
}

/** The runs that a query finds, without internal ones unless it names their workflow. */
export async function ownRuns(
  store: Pick<Store, "runs">,
  query: RunQuery = {},
): Promise<readonly StoredRun[]> {
  const { workflow, limit = Number.POSITIVE_INFINITY } = query
  if (workflow !== undefined) return await store.runs(query)
  const found: StoredRun[] = []
  for (let before = query.before; ; ) {
    const page = await store.runs({ ...query, before })
    found.push(...page.filter((run) => !isInternal(run.workflow)))
    if (page.length < limit || found.length >= limit) return found.slice(0, limit)
    before = page.at(-1)?.runId
  }
}
