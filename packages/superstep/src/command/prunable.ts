/** What a policy would let go, without doing so. */
import type { Amount, PrunePolicy, Store, StoredRun, StoredStatus } from "@superstep/engine"

const PAGE = 500
const IN_FLIGHT: ReadonlySet<StoredStatus> = new Set(["running", "waiting", "quarantined"])

/** As `store.prune` decides; what snapshots take is not counted. */
export async function prunable(store: Pick<Store, "runs">, policy: PrunePolicy): Promise<Amount> {
  const { keep, endedBefore } = policy
  const newer = new Map<string, number>()
  /** Runs that are the past of one that stays. */
  const needed = new Set<string>()
  let [count, bytes] = [0, 0]
  // Newest first: a fork comes before its past.
  for await (const run of allRuns(store)) {
    const isOver = !IN_FLIGHT.has(run.status)
    const place = newer.get(run.workflow) ?? 0
    if (isOver && !run.pinned) newer.set(run.workflow, place + 1)
    const mayGo =
      (keep !== undefined && place >= keep) || (endedBefore !== undefined && run.updatedAt < endedBefore)
    const fits = policy.workflow === undefined || run.workflow === policy.workflow
    if (isOver && !run.pinned && mayGo && fits && !needed.has(run.runId)) {
      count++
      bytes += run.bytes
    } else if (run.forkOf !== undefined) needed.add(run.forkOf.runId)
  }
  return { count, bytes }
}

async function* allRuns(store: Pick<Store, "runs">): AsyncGenerator<StoredRun> {
  for (let before: string | undefined; ; ) {
    const page: readonly StoredRun[] = await store.runs({ before, limit: PAGE })
    yield* page
    if (page.length < PAGE) return
    before = page.at(-1)?.runId
  }
}
