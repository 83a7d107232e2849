/** What tests write into stores. */
import type { JournalRecord, Lease } from "@superstep/engine"
import type { PostgresStore } from "./postgres-store.ts"

export function record(seq: number, value = "value"): JournalRecord {
  return {
    seq,
    frame: "",
    entry: { type: "step.recorded", at: seq, task: 1, key: `step ${seq}`, value },
    events: seq,
  }
}

export function leaseOf(runId: string, token = 1, holder = "holder"): Lease {
  return { runId, holder, token }
}

/** Makes a run with one record. */
export async function start(store: PostgresStore, runId: string, holder?: string): Promise<Lease> {
  const lease = leaseOf(runId, 1, holder)
  const created = { workflow: "workflow", graph: "graph" }
  await store.beat({ id: lease.holder, machine: "machine", pid: 1, born: "then" })
  await store.append(lease, 0, [record(1)], { created })
  return lease
}
