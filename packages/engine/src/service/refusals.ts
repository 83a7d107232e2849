/** Why a runtime does not do what it is asked to. */
import { type Json, type RunId, SuperstepError } from "../core/index.ts"
import { loadModule } from "../core/internal.ts"
import { hasEnded, type Program, runUnknown, type StoredRun } from "../runtime/index.ts"

export function notRegistered(name: string, known: Program | undefined): SuperstepError {
  const text =
    known === undefined
      ? `This runtime does not have workflow "${name}": new Runtime({ store, workflows: [${name}, …] }).`
      : `This runtime has another workflow under the name "${name}".`
  return new SuperstepError("WORKFLOW_UNKNOWN", text)
}

export function notQuarantined(runId: RunId, row: StoredRun | undefined): SuperstepError {
  if (row === undefined) return runUnknown(runId)
  const text = `Run "${runId}" is ${row.status}, not quarantined. There is nothing to release.`
  return new SuperstepError("RUN_NOT_QUARANTINED", text, { run: runId })
}

export function runKept(runId: RunId, row: StoredRun | undefined): SuperstepError {
  if (row === undefined) return runUnknown(runId)
  const why = hasEnded(row)
    ? "is the past of a fork: remove the fork first"
    : `is ${row.status}: cancel it first`
  return new SuperstepError("RUN_KEPT", `Run "${runId}" ${why}.`, { run: runId })
}

export function keyUnknown(key: string): SuperstepError {
  return new SuperstepError("RUN_UNKNOWN", `The store has no run with the key "${key}".`)
}

export function recoversNothing(): SuperstepError {
  const text = "This runtime was created with recover: false. Create one without it to recover runs."
  return new SuperstepError("OPTION_INVALID", text)
}

/** `run`: for those who await this run. */
export function runtimeClosed(run?: RunId): SuperstepError {
  if (run === undefined)
    return new SuperstepError("RUNTIME_CLOSED", "This runtime is closed. Create another one.")
  const text = `The runtime was closed; run ${run} continues when a process claims it.`
  return new SuperstepError("RUNTIME_CLOSED", text, { run })
}

/** Why an answer does not match the JSON Schema of its question. */
export async function answerProblem(schema: Json, value: Json): Promise<string | undefined> {
  const tools = await loadModule(() => import("../tools/index.ts"))
  return await tools.answerProblem(schema, value)
}

export function consumerUnknown(consumer: string): SuperstepError {
  return new SuperstepError("CONSUMER_UNKNOWN", `The store has no consumer "${consumer}".`)
}
