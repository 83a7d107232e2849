/** Resumes a stored run in this process, as `superstep run` would execute it. */
import { isSuperstepError, pastEvents, type Run, Runtime, type StoredRun } from "@superstep/engine"
import type { Command } from "commander"
import type { Cli } from "../cli.ts"
import { addFlags, type OutputFlags, type StoreFlags, yoloFlag } from "../flags.ts"
import type { OpenedWorkflow } from "../open/opened-workflow.ts"
import { type OpenStore, storeFlagOf } from "../open/store.ts"
import { openStoredWorkflow, type StoredWorkflowFlags, storedWorkflowFlags } from "../open/workflow.ts"
import { usageError } from "../print/errors.ts"
import { livingHolder, machineOf } from "../print/run-overview.ts"
import { shortId, typedId } from "./find-run.ts"
import { runWorkflow } from "./run-workflow.ts"

export interface ResumeFlags extends OutputFlags, StoreFlags, StoredWorkflowFlags {
  readonly yolo?: true | undefined
  readonly acceptChanges?: true | undefined
  /** An incomplete answer is a failure. */
  readonly strict?: true | undefined
}

export function resumeFlags(command: Command): Command {
  return addFlags(
    command.option("--accept-changes", "continue with a changed definition; nodes are matched by name"),
    storedWorkflowFlags,
    yoloFlag,
  )
}

export interface ResumeOptions {
  /** Makes the run to resume, a fork of the stored one, once its workflow is open. Default: the stored run itself. */
  readonly makeRun?: ((opened: OpenedWorkflow) => Promise<string>) | undefined
  readonly takeOver?: boolean | undefined
  /** Called once the run is claimed, before it continues. */
  readonly first?: ((run: Run<unknown>) => Promise<void>) | undefined
}

export async function resume(
  cli: Cli,
  store: OpenStore,
  stored: StoredRun,
  flags: ResumeFlags,
  { makeRun, takeOver, first }: ResumeOptions = {},
): Promise<void> {
  const opened = await openStoredWorkflow(cli, store, stored, flags)
  try {
    const made = await makeRun?.(opened)
    const runId = made ?? stored.runId
    const past = await pastEvents(store, runId)
    const begin = async (runtime: Runtime) => {
      const run = runtime.resume(opened.workflow, runId, { takeOver })
      await first?.(run)
      return { run, after: past.at(-1)?.seq ?? 0 }
    }
    const onGraphChange = flags.acceptChanges && "continue"
    const { code } = await runWorkflow(cli, { opened, store, flags, onGraphChange, past, begin }).catch(
      async (error) => {
        if (isSuperstepError(error, "RUN_HELD")) throw await held(store, stored, storeFlagOf(flags), error)
        if (!isSuperstepError(error, "GRAPH_CHANGED")) throw error
        if (made !== undefined) await discard(store, made)
        throw graphChanged(stored.runId, runId, storeFlagOf(flags), error)
      },
    )
    cli.exit(code)
  } finally {
    await opened.close()
  }
}

async function held(store: OpenStore, run: StoredRun, storeFlag: string, cause: Error): Promise<Error> {
  const id = typedId(run.runId)
  const holder = await livingHolder(store, (await store.run(run.runId)) ?? run)
  const where = holder === undefined ? "another process" : `process ${holder.pid} on ${machineOf(holder)}`
  return usageError(
    `Run ${shortId(run.runId)} is being executed by ${where}. Follow it:\nsuperstep runs events ${id} --follow${storeFlag}\n` +
      `If that process is stuck, take the run over:\nsuperstep runs resume ${id} --take-over${storeFlag}`,
    cause,
  )
}

/** The engine's message ends with a line on its own API; the CLI's flags replace it. */
function graphChanged(storedId: string, runId: string, storeFlag: string, cause: Error): Error {
  const what = cause.message
    .split("\n")
    .slice(0, -1)
    .join("\n")
    .replace(runId, () => storedId)
  const cancel =
    runId === storedId ? ` To end the run:\nsuperstep runs cancel ${typedId(runId)}${storeFlag}` : ""
  return usageError(`${what}\nTo continue, with nodes matched by name, add --accept-changes.${cancel}`, cause)
}

/** Removes a fork that cannot continue. */
async function discard(store: OpenStore, runId: string): Promise<void> {
  const runtime = new Runtime({ store, workflows: [], recover: false })
  try {
    await runtime.cancel(runId)
    await runtime.remove(runId)
  } finally {
    await runtime.close()
  }
}
