/** Claims a run for this process, reads it back, and continues, pauses or cancels it. */
import {
  isSuperstepError,
  type Machine,
  type RunCancelled,
  type RunId,
  type RunPaused,
  type RunResumed,
  type RunStatus,
  SuperstepError,
} from "../../core/index.ts"
import { freezeData, omitUndefined } from "../../core/internal.ts"
import { EVERY, type LoadedFrame, type LoadedRun, loadRun } from "../journal/load-run.ts"
import { RunRow } from "../journal/run-row.ts"
import type { Clock } from "../ports/clock.ts"
import type { RunStart } from "../ports/dispatcher.ts"
import type { Program } from "../ports/program.ts"
import { runNotPaused, runPaused, runTaken, type Store } from "../ports/store.ts"
import {
  hasEnded,
  hasLimits,
  type JournalRecord,
  type Lease,
  runFailure,
  type StoredRun,
} from "../ports/stored.ts"
import type { Telemetry } from "../ports/telemetry.ts"
import type { GraphChangePolicy } from "../run/graph-change.ts"
import { contextMissing } from "../run/result.ts"
import { RunHost } from "../run/run-host.ts"
import type { Keeper, Loaded } from "./keeper.ts"

export interface RunEnvironment {
  readonly keeper: Keeper
  readonly clock: Clock
  readonly telemetry?: Telemetry | undefined
  readonly onGraphChange?: GraphChangePolicy | undefined
  readonly contextOf?: ContextOf | undefined
}

/** Creates the context of a run that is loaded into this process. */
export type ContextOf = (run: Pick<StoredRun, "runId" | "workflow" | "thread" | "labels">) => unknown

/**
 * What a claim needs of a run that nobody executes, read before the run is claimed. It counts if the claim succeeds with the token of
 * the row: then nobody has written to the run since.
 */
export interface ReadAhead {
  /** All of them, if they are few. */
  readonly records: readonly JournalRecord[] | undefined
  readonly hasMail: boolean
  /** A process has the run loaded, which only waits there. */
  readonly isHeld: boolean
}

/** Whether a process may have the run loaded which only waits there, for others: a process that has something for it takes it. */
export function restsElsewhere(run: StoredRun): boolean {
  const { status, holder, executing, wakeAt } = run
  return holder !== undefined && status === "waiting" && !executing && wakeAt === undefined && !hasLimits(run)
}

/** The row of a run, and what else a claim needs, if nobody executes the run. All is read at once. */
export async function readRun(
  store: Store,
  runId: RunId,
): Promise<{ readonly row: StoredRun | undefined; readonly ahead?: ReadAhead | undefined }> {
  const [{ row, records }, { count }] = await Promise.all([
    readShortRun(store, runId),
    store.mailAmount(runId),
  ])
  if (row === undefined) return { row }
  const isHeld = restsElsewhere(row)
  if (row.holder !== undefined && !isHeld) return { row }
  return { row, ahead: { records, hasMail: count > 0, isHeld } }
}

/** The row of a run, and all its records if they are few and end where the row says. Both are read at once. */
export async function readShortRun(
  store: Store,
  runId: RunId,
): Promise<{
  readonly row: StoredRun | undefined
  readonly records?: readonly JournalRecord[] | undefined
}> {
  const [row, records] = await Promise.all([store.run(runId), store.read(runId, 0, EVERY)])
  const isWhole = row !== undefined && row.seq < EVERY && records.at(-1)?.seq === row.seq
  return { row, records: isWhole ? records : undefined }
}

/**
 * Creates a run and executes it here, under a lease of its own. False if the run exists, as this process or another one has created it
 * before; undefined if it cannot be created as it is.
 */
export async function startRun(
  program: Program,
  { runId, created, entry }: RunStart,
  environment: RunEnvironment,
): Promise<boolean | undefined> {
  const { keeper, contextOf } = environment
  return await keeper.pass(runId, async () => {
    if (keeper.host(runId) !== undefined) return false
    await keeper.admit()
    const { workflow, labels } = created
    const context = await contextOf?.({ runId, workflow, labels, thread: undefined })
    const host = new RunHost({ runId, store: keeper.store, labels, context, ...environment })
    host.create(keeper.newLease(runId), created)
    keeper.add(host)
    try {
      host.start(program, freezeData(entry))
      await host.durable()
      return true
    } catch (error) {
      keeper.remove(host)
      if (isSuperstepError(error, "RUN_EXISTS")) return false
      if (isSuperstepError(error, "KEY_TAKEN")) return undefined
      throw error
    }
  })
}

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

/**
 * Claims a run that no live process holds, restores it, and delivers its stored mail. Returns the run's host if this process
 * already has it (K5).
 */
export async function claimRun(
  run: StoredRun,
  keeper: Keeper,
  restore: (lease: Lease, ahead?: ReadAhead) => Promise<RunHost | undefined>,
  ahead?: ReadAhead,
): Promise<RunHost | undefined> {
  const { host, hasMail } = await keeper.pass<Loaded>(run.runId, async () => {
    const here = keeper.host(run.runId)
    if (here !== undefined) return { host: here, hasMail: true }
    const lease = await (ahead?.isHeld ? keeper.claimAtRest(run) : keeper.claim(run))
    if (lease === undefined) return NOT_LOADED
    // Another token: somebody had the run since it was read.
    const read = lease.token === run.token + 1 ? ahead : undefined
    return await keeper.load(lease, (own) => restore(own, read), read?.hasMail)
  })
  if (hasMail) await keeper.deliver()
  return host
}

const NOT_LOADED: Loaded = { host: undefined, hasMail: false }

/** The same for a run that this process has just claimed from the queue. */
export async function restoreClaimed(
  run: StoredRun,
  keeper: Keeper,
  restore: (lease: Lease) => Promise<RunHost | undefined>,
): Promise<RunHost | undefined> {
  const { host, hasMail } = await keeper.pass(run.runId, () => {
    // It was taken from this process, which does not know that yet.
    keeper.host(run.runId)?.stop(runTaken(run.runId))
    const lease = { runId: run.runId, holder: keeper.id, token: run.token }
    return keeper.load(lease, restore)
  })
  if (hasMail) await keeper.deliver()
  return host
}

/**
 * A run that is over, or that is held by the lease. Undefined, and the run is released, if it was paused before it was
 * claimed: a paused run is not loaded (M10).
 */
export async function restoreRun(
  program: Program,
  run: Pick<StoredRun, "runId" | "workflow" | "status" | "thread" | "labels" | "seq">,
  lease: Lease | undefined,
  environment: RunEnvironment,
  ahead?: ReadAhead,
): Promise<RunHost | undefined> {
  const { runId, status, thread: id, labels, seq } = run
  const { keeper } = environment
  const { store } = keeper
  const loaded = await loadRun(store, runId, program.graph, seq, ahead?.records)
  if (loaded === undefined) throw runUnknown(runId)
  const { started, machine } = loaded.frames.get("") as LoadedFrame
  if (lease !== undefined && machine.pause !== undefined) {
    await store.release(lease, undefined)
    return undefined
  }
  const { thread, context: names } = started
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
    const lease = await keeper.claimToWrite(run)
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

/** A change of a run that no process executes. */
export type PauseChange = Omit<RunPaused, "at"> | Omit<RunResumed, "at">

/**
 * Pauses or resumes a run that no process executes, with all its sub-workflows: this process needs no workflow for that. False
 * if the run has ended, or a process executes or claims it: ask that process, or take the run from it. Throws if the run is
 * already as it is to be.
 */
export async function changePauseOfFree(
  keeper: Keeper,
  run: StoredRun,
  change: PauseChange,
  at: number,
  takeOver = false,
): Promise<boolean> {
  if (hasEnded(run) || run.status === "quarantined") return false
  return await keeper.pass(run.runId, async () => {
    if (keeper.host(run.runId) !== undefined) return false
    if (!takeOver && (await keeper.isHeldElsewhere(run)) !== undefined) return false
    const lease = await keeper.claimToWrite(run)
    return lease !== undefined && (await changePause(keeper.store, lease, run, { ...change, at }))
  })
}

async function changePause(
  store: Store,
  lease: Lease,
  run: StoredRun,
  entry: RunPaused | RunResumed,
): Promise<boolean> {
  const isPause = entry.type === "run.paused"
  let { wakeAt } = run
  try {
    const loaded = await loadRun(store, run.runId)
    const root = loaded?.frames.get("")?.machine
    if (loaded === undefined || root === undefined || root.isOver()) return false
    if (isPause && root.pause !== undefined) throw runPaused(run.runId)
    if (!isPause && root.pause === undefined) throw runNotPaused(run.runId, run.status)
    let { seq, events } = loaded
    const records: JournalRecord[] = []
    const row = await rowOf(store, run, loaded)
    for (const [frame, { machine }] of loaded.frames) {
      if (machine.isOver() || (machine.pause !== undefined) === isPause) continue
      const before = machine.eventCount
      row.follow({ key: frame, machine }, entry, machine.apply(entry))
      events += machine.eventCount - before
      records.push({ seq: ++seq, frame, entry, events })
    }
    const machines = [...loaded.frames.values()].map(({ machine }) => machine)
    row.setStatus(statusOf(root, machines), root)
    row.setIdle(true, { wakeAt: () => undefined })
    const leavesQueue = run.status === "queued" ? { leavesQueue: true as const } : {}
    const carriedOut = entry.mail === undefined ? {} : { mail: [entry.mail] }
    await store.append(lease, loaded.seq, records, { ...row.take(), ...leavesQueue, ...carriedOut })
    wakeAt = isPause ? undefined : dueAt(machines, entry.at)
    return true
  } finally {
    await store.release(lease, wakeAt)
  }
}

/** What the run changes besides its journal: a run that is resumed may reach a limit. */
async function rowOf(
  store: Store,
  { status, thread: id }: StoredRun,
  { frames }: LoadedRun,
): Promise<RunRow> {
  const { thread } = (frames.get("") as LoadedFrame).started
  const found = id === undefined || thread === undefined ? undefined : await store.thread(id, thread.version)
  const row = new RunRow()
  row.resumeFrom(status as RunStatus, found && { id: id as string, ...found })
  return row
}

function statusOf(root: Machine, machines: readonly Machine[]): RunStatus {
  if (root.isOver() || root.pause !== undefined) return root.status
  if (machines.some((machine) => machine.isBusy())) return "running"
  return machines.some(({ status }) => status === "waiting") ? "waiting" : "running"
}

/** When a resumed run continues: at once, unless it only waits. */
function dueAt(machines: readonly Machine[], now: number): number | undefined {
  if (machines.some((machine) => machine.isBusy())) return now
  const timers = machines.flatMap((machine) => machine.nextTimer() ?? [])
  return timers.length === 0 ? undefined : Math.min(...timers)
}
