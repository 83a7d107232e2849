/** What has happened in a run, as its watchers were told. It is read from the store alone, wherever the run is. */
import type { RunId } from "../core/index.ts"
import { type RunEvent, replayEvents, runUnknown, type Store } from "../runtime/index.ts"

/** Events after that number, up to now; `run.events` goes on from there. Rejects with RUN_UNKNOWN. */
export async function pastEvents(
  store: Pick<Store, "read" | "graph" | "thread">,
  runId: RunId,
  after = 0,
): Promise<readonly RunEvent[]> {
  const records = await store.read(runId, 0)
  if (records.length === 0) throw runUnknown(runId)
  return replayEvents(store, records, after)
}
