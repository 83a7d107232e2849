/** Values to store, for tests and for the programs that they start. */
import type { JournalRecord, Json, Lease, RunChange, RunCreated } from "@superstep/engine"

export function lease(runId: string, token = 1, holder = "h"): Lease {
  return { runId, holder, token }
}

/** What makes a run, with its first records. */
export function created(more: Partial<RunCreated> = {}): RunChange & { created: RunCreated } {
  return { created: { workflow: "w", graph: "g", ...more } }
}

/** What makes a run that is over at once. */
export function over(thread?: string) {
  return { ...created({ thread }), status: "completed" } as const
}

export function records(first: number, count: number, value: Json = "value"): JournalRecord[] {
  return Array.from({ length: count }, (_, i) => ({
    seq: first + i,
    frame: "",
    entry: { type: "step.recorded", at: 1_000 + first + i, task: 1, key: "k", value },
    events: first + i,
  }))
}
