/** Continues a stored run in this process: claims it, if that is possible, and unpauses it. */
import { isSuperstepError, type RunId, SuperstepError } from "../../core/index.ts"
import {
  changePauseOfFree,
  claimAndRestoreRun,
  type RunEnvironment,
  restoreRun,
  runQuarantined,
  runUnknown,
} from "../lease/claim-run.ts"
import type { Keeper } from "../lease/keeper.ts"
import type { Clock } from "../ports/clock.ts"
import type { Program } from "../ports/program.ts"
import { runTaken } from "../ports/store.ts"
import { type Holder, hasEnded, type StoredRun } from "../ports/stored.ts"
import type { RunHost } from "./run-host.ts"

/** The run in this process. Throws RUN_HELD if another process executes it, once its holder is known to be alive. */
export async function resumeRun(
  program: Program,
  runId: RunId,
  environment: RunEnvironment,
  takeOver: boolean,
): Promise<RunHost> {
  const { keeper, clock } = environment
  let seen: number | undefined
  for (;;) {
    const here = await keeper.hostAfterGate(runId)
    if (here !== undefined && !takeOver) {
      if (here.root.machine.pause !== undefined) await here.unpause({})
      return sameProgram(here, program)
    }
    here?.stop(runTaken(runId))
    const row = await keeper.store.run(runId)
    if (row === undefined) throw runUnknown(runId)
    if (hasEnded(row)) return (await restoreRun(program, row, undefined, environment)) as RunHost
    if (row.status === "quarantined") throw runQuarantined(row)
    const holder = takeOver ? undefined : await keeper.isHeldElsewhere(row)
    if (holder === undefined && row.status === "paused") {
      await unpauseFree(keeper, row, clock, takeOver)
    } else if (holder === undefined) {
      const host = await claimAndRestoreRun(program, row, environment)
      if (host !== undefined) return sameProgram(host, program)
      // Its limits may not admit it yet.
      if (row.flow !== undefined) await later(clock)
    } else {
      const isAlive = keeper.watch.isHere(holder) || (seen !== undefined && holder.beat !== seen)
      if (isAlive) throw runHeld(runId, holder)
      seen = holder.beat
      await later(clock)
    }
  }
}

/** Another process may resume it at the same time. */
async function unpauseFree(keeper: Keeper, row: StoredRun, clock: Clock, takeOver: boolean): Promise<void> {
  try {
    await changePauseOfFree(keeper, row, { type: "run.resumed" }, clock.now(), takeOver)
  } catch (error) {
    if (!isSuperstepError(error, "RUN_NOT_PAUSED")) throw error
  }
}

function later(clock: Clock): Promise<void> {
  return new Promise((resolve) => clock.setTimer(clock.now() + 250, resolve))
}

/** A run that executes in this process is not started again: resuming it returns the existing one. */
function sameProgram(host: RunHost, program: Program): RunHost {
  if (host.root.program === program) return host
  const text = `Run "${host.runId}" is being executed by this process, with another version of workflow "${program.graph.name}". Wait for it, or resume it with takeOver: true.`
  throw new SuperstepError("RUN_HELD", text, { run: host.runId })
}

function runHeld(runId: RunId, { machine, pid }: Holder): SuperstepError {
  const where = `process ${pid} on ${machine.split(" ")[0]}`
  const text = `Run "${runId}" is being executed by ${where}. Wait for it, or resume it with takeOver: true if that process is stuck.`
  return new SuperstepError("RUN_HELD", text, { run: runId })
}
