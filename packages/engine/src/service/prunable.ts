/** What retention would delete: the dry run of `store.prune`. */
import { type Amount, hasEnded, type PrunePolicy, type Store, type StoredRun } from "../runtime/index.ts"

const PAGE = 500

/** What `store.prune` would remove; the size of snapshots is not counted. */
export async function prunable(store: Pick<Store, "runs">, policy: PrunePolicy): Promise<Amount> {
  const { keep, endedBefore } = policy
  const newer = new Map<string, number>()
  /** Runs whose records a kept run still needs. */
  const needed = new Set<string>()
  let [count, bytes] = [0, 0]
  // Newest first, so a fork is visited before the run that it was forked from.
  for await (const run of allRuns(store)) {
    const isEnded = hasEnded(run)
    const place = newer.get(run.workflow) ?? 0
    if (isEnded && !run.pinned) newer.set(run.workflow, place + 1)
    const mayGo =
      (keep !== undefined && place >= keep) || (endedBefore !== undefined && run.updatedAt < endedBefore)
    const matches = policy.workflow === undefined || run.workflow === policy.workflow
    if (isEnded && !run.pinned && mayGo && matches && !needed.has(run.runId)) {
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
