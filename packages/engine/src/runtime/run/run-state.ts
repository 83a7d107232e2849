/** What a run has done so far and what it waits for, read from its journal: in any process, while it executes or after. */
import type { BufferedSignal, Json, Machine, OpenRequest, RunId, Usage } from "../../core/index.ts"
import { loadRun } from "../journal/load-run.ts"
import { runUnknown } from "../lease/claim-run.ts"
import type { Store } from "../ports/store.ts"
import type { StoredStatus } from "../ports/stored.ts"
import type { OpenWait } from "./options.ts"
import { requestsOf, waitsOf } from "./result.ts"

export interface RunState {
  readonly runId: RunId
  readonly workflow: string
  readonly status: StoredStatus
  /** The last record of its journal that is part of this state, and its time. */
  readonly seq: number
  readonly at: number
  /** Committed values of its channels. */
  readonly state: { readonly [key: string]: Json }
  readonly outputs: readonly Json[]
  /** Open questions, those of sub-workflows included. */
  readonly requests: readonly OpenRequest[]
  /** What it waits for by `ctx.waitFor`, the oldest first, sub-workflows included. */
  readonly waits: readonly OpenWait[]
  /** Signals that no wait has taken yet. */
  readonly signals: readonly BufferedSignal[]
  readonly usage: Usage
  readonly supersteps: number
}

/** What is durable: the state after the last record. */
export async function runState(store: Store, runId: RunId): Promise<RunState> {
  const row = await store.run(runId)
  const loaded = row && (await loadRun(store, runId))
  if (row === undefined || loaded === undefined) throw runUnknown(runId)
  const { frames, seq, at } = loaded
  const { machine } = frames.get("") as { readonly machine: Machine }
  const isOver = machine.isOver()
  return {
    runId,
    workflow: row.workflow,
    status: isOver ? machine.status : row.status,
    seq,
    at,
    state: machine.allState(),
    outputs: [...machine.outputs],
    requests: isOver ? [] : requestsOf(frames),
    waits: isOver ? [] : waitsOf(frames),
    signals: [...machine.signals()],
    usage: machine.usage,
    supersteps: machine.superstep,
  }
}
