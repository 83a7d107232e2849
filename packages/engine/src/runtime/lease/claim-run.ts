/** Claims a run for this process, reads it back, and continues or cancels it. */
import { type RunCancelled, type RunId, type RunStatus, SuperstepError } from "../../core/index.ts"
import { omitUndefined } from "../../core/internal.ts"
import { type LoadedFrame, loadRun } from "../journal/load-run.ts"
import type { Clock } from "../ports/clock.ts"
import type { Program } from "../ports/program.ts"
import { runTaken, type Store } from "../ports/store.ts"
import { hasEnded, type Lease, runFailure, type StoredRun } from "../ports/stored.ts"
import type { Telemetry } from "../ports/telemetry.ts"
import type { GraphChangePolicy } from "../run/graph-change.ts"
import { contextMissing } from "../run/result.ts"
import { RunHost } from "../run/run-host.ts"
import type { Keeper } from "./keeper.ts"

export interface RunEnvironment {
  readonly keeper: Keeper
  readonly clock: Clock
  readonly telemetry?: Telemetry | undefined
  readonly onGraphChange?: GraphChangePolicy | undefined
  readonly contextOf?: ContextOf | undefined
}

/** Creates the context of a run that is loaded into this process. */
export type ContextOf = (run: Pick<StoredRun, "runId" | "workflow" | "thread" | "labels">) => unknown

/** A run that cannot continue here is released as it was, and the error thrown. Undefined if another process claimed it first. */
export function claimAndRestoreRun(
  program: Program,
  run: StoredRun,
  environment: RunEnvironment,
): Promise<RunHost | undefined> {
  return claimRun(run, environment.keeper, async (lease) => {
    try {
      return await restoreRun(program, run, lease, environment)
    } catch (error) {
      await environment.keeper.store.release(lease, run.wakeAt)
      throw error
    }
  })
}

/** What could not be read or written stays in the mail: restoring the run reports the problem. */
const NOT_YET = () => undefined

/**
 * Claims a run that no live process holds, restores it, and delivers its stored mail. Returns the run's host if this process
 * already has it (K5).
 */
export async function claimRun(
  run: StoredRun,
  keeper: Keeper,
  restore: (lease: Lease) => Promise<RunHost | undefined>,
): Promise<RunHost | undefined> {
  const host = await keeper.pass(run.runId, async () => {
    const here = keeper.host(run.runId)
    if (here !== undefined) return here
    const lease = await keeper.claim(run)
    if (lease === undefined) return undefined
    await keeper.bufferSignals(lease).catch(NOT_YET)
    return await restore(lease)
  })
  if (host !== undefined) await keeper.deliver()
  return host
}

/** The same for a run that this process has just claimed from the queue. */
export async function restoreClaimed(
  run: StoredRun,
  keeper: Keeper,
  restore: (lease: Lease) => Promise<RunHost | undefined>,
): Promise<RunHost | undefined> {
  const host = await keeper.pass(run.runId, async () => {
    // It was taken from this process, which does not know that yet.
    keeper.host(run.runId)?.stop(runTaken(run.runId))
    const lease = { runId: run.runId, holder: keeper.id, token: run.token }
    await keeper.bufferSignals(lease).catch(NOT_YET)
    return await restore(lease)
  })
  if (host !== undefined) await keeper.deliver()
  return host
}

/** A run that is over, or that is held by the lease. */
export async function restoreRun(
  program: Program,
  run: Pick<StoredRun, "runId" | "workflow" | "status" | "thread" | "labels">,
  lease: Lease | undefined,
  environment: RunEnvironment,
): Promise<RunHost> {
  const { runId, status, thread: id, labels } = run
  const { keeper } = environment
  const { store } = keeper
  const loaded = await loadRun(store, runId, program.graph)
  if (loaded === undefined) throw runUnknown(runId)
  const { thread, context: names } = (loaded.frames.get("") as LoadedFrame).started
  // A run that has ended needs none.
  const context = lease === undefined ? undefined : await environment.contextOf?.(run)
  if (lease !== undefined && names !== undefined && context === undefined) throw contextMissing(runId, names)
  const host = new RunHost({ runId, store, labels, context, ...environment })
  // A fork of a run of a thread has no thread of its own.
  const isOpen = lease !== undefined && id !== undefined && thread !== undefined
  const found = isOpen ? { id, ...(await store.thread(id, thread.version)) } : undefined
  if (lease !== undefined) keeper.add(host)
  try {
    host.restore(program, loaded, { lease, status: status as RunStatus, thread: found })
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

/** False if it has ended, or a process executes or claims it: ask that process. */
export async function cancelFree(
  keeper: Keeper,
  run: StoredRun,
  reason: string | undefined,
  at: number,
): Promise<boolean> {
  if (hasEnded(run)) return false
  return await keeper.pass(run.runId, async () => {
    if (keeper.host(run.runId) !== undefined || (await keeper.isHeldElsewhere(run))) return false
    const lease = await keeper.claimToEnd(run)
    return lease !== undefined && (await cancelHeld(keeper.store, lease, run, { reason, at }))
  })
}

/** Ends a queued run that expired. False if a process has claimed it since it was read. */
export async function cancelExpired(keeper: Keeper, run: StoredRun, at: number): Promise<boolean> {
  return await keeper.pass(run.runId, async () => {
    await keeper.begin()
    const lease = await keeper.store.claim(run.runId, run.token, keeper.id)
    const reason = "No process claimed the run before it expired."
    return (
      lease !== undefined && (await cancelHeld(keeper.store, lease, run, { reason, at, code: "RUN_EXPIRED" }))
    )
  })
}

async function cancelHeld(
  store: Store,
  lease: Lease,
  run: StoredRun,
  why: Omit<RunCancelled, "type">,
): Promise<boolean> {
  try {
    const loaded = await loadRun(store, run.runId)
    const machine = loaded?.frames.get("")?.machine
    if (loaded === undefined || machine === undefined || machine.isOver()) return false
    const before = machine.eventCount
    const entry = { type: "run.cancelled", ...omitUndefined(why) } as RunCancelled
    machine.apply(entry)
    const events = loaded.events + machine.eventCount - before
    await store.append(lease, loaded.seq, [{ seq: loaded.seq + 1, frame: "", entry, events }], {
      status: "cancelled",
      error: machine.error && runFailure(machine.error),
    })
    return true
  } finally {
    // One that was ended is free already.
    await store.release(lease, run.wakeAt)
  }
}
