/** Brings a run into this process: claimed, read back, and going on. */
import { type RunId, type RunStatus, SuperstepError } from "../core/index.ts"
import type { Clock } from "./clock.ts"
import type { GraphChangePolicy } from "./graph-change.ts"
import type { Keeper } from "./keeper.ts"
import { type LoadedFrame, loadRun } from "./loaded-run.ts"
import type { Program } from "./program.ts"
import { RunHost } from "./run-host.ts"
import type { Lease, StoredRun } from "./stored.ts"
import type { Telemetry } from "./telemetry-port.ts"

export interface Surroundings {
  readonly keeper: Keeper
  readonly clock: Clock
  readonly telemetry?: Telemetry | undefined
  readonly onGraphChange?: GraphChangePolicy | undefined
}

/** A run that cannot continue here is let go as it was, and the error thrown. Undefined when somebody else was faster. */
export function takeUp(program: Program, run: StoredRun, around: Surroundings): Promise<RunHost | undefined> {
  return claimRun(run, around.keeper, async (lease) => {
    try {
      return await revive(program, run, lease, around)
    } catch (error) {
      await around.keeper.store.release(lease, run.wakeAt)
      throw error
    }
  })
}

/** Claims a run that nobody alive holds, and restores it. One that is here by now is given as it is (K5). */
export async function claimRun(
  run: StoredRun,
  keeper: Keeper,
  restore: (lease: Lease) => Promise<RunHost | undefined>,
): Promise<RunHost | undefined> {
  return await keeper.pass(run.runId, async () => {
    const here = keeper.host(run.runId)
    if (here !== undefined) return here
    const lease = await keeper.claim(run)
    return lease === undefined ? undefined : await restore(lease)
  })
}

/** A run that is over, or that is held by the lease. */
export async function revive(
  program: Program,
  { runId, status, thread: id }: Pick<StoredRun, "runId" | "status" | "thread">,
  lease: Lease | undefined,
  around: Surroundings,
): Promise<RunHost> {
  const { keeper } = around
  const { store } = keeper
  const loaded = await loadRun(store, runId, program.graph)
  if (loaded === undefined) throw runUnknown(runId)
  const host = new RunHost({ runId, store, ...around })
  const { thread } = (loaded.frames.get("") as LoadedFrame).started
  // A fork of a run of a thread has no thread of its own.
  const isOpen = lease !== undefined && id !== undefined && thread !== undefined
  const found = isOpen ? { id, ...(await store.thread(id, thread.version)) } : undefined
  if (lease !== undefined) keeper.add(host)
  try {
    host.restore(program, loaded, { lease, standing: status as RunStatus, thread: found })
  } catch (error) {
    keeper.remove(host)
    throw error
  }
  return host
}

export function runUnknown(runId: RunId): SuperstepError {
  return new SuperstepError("RUN_UNKNOWN", `The store has no run "${runId}".`, { run: runId })
}

export function runQuarantined({ runId, takeovers }: StoredRun): SuperstepError {
  const text = `Run "${runId}" is quarantined: ${takeovers} processes died while they executed it. Find out why, then release it with runtime.release("${runId}") or superstep runs release ${runId}.`
  return new SuperstepError("RUN_QUARANTINED", text, { run: runId })
}
