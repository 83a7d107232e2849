/** Goes on with a stored run in this process, as `superstep run` would: watched, answered, let go of at Ctrl-C. */
import {
  type GraphChangePolicy,
  isSuperstepError,
  pastEvents,
  type Run,
  Runtime,
  type StoredRun,
} from "@superstep/engine"
import type { Command } from "commander"
import { attend, storeFlagOf } from "./attend.ts"
import type { Cli } from "./cli.ts"
import type { OutputFlags, StoreFlags } from "./common-flags.ts"
import { shortId, typedId } from "./find-run.ts"
import type { OpenStore } from "./open-store.ts"
import type { OpenedWorkflow } from "./open-workflow.ts"
import { openStoredWorkflow, type StoredWorkflowFlags, storedWorkflowFlags } from "./stored-workflow.ts"
import { usageError } from "./usage-error.ts"

export interface GoOnFlags extends OutputFlags, StoreFlags, StoredWorkflowFlags {
  readonly yolo?: true | undefined
  readonly acceptChanges?: true | undefined
}

export function goOnFlags(command: Command): Command {
  return storedWorkflowFlags(command)
    .option("--accept-changes", "go on although the definition has changed: nodes are matched by name")
    .option("--yolo", "tools run without asking, unless they are denied")
}

export interface GoOnOptions {
  /** The run to go on with: the stored one, or another that is made of it once its workflow is there. */
  readonly of?: ((opened: OpenedWorkflow) => Promise<string>) | undefined
  readonly takeOver?: boolean | undefined
  /** Once it is here, before anything else is done with it. */
  readonly first?: ((run: Run<unknown>) => Promise<void>) | undefined
}

export async function goOn(
  cli: Cli,
  store: OpenStore,
  run: StoredRun,
  flags: GoOnFlags,
  options: GoOnOptions = {},
): Promise<void> {
  const opened = await openStoredWorkflow(cli, store, run, flags)
  try {
    const made = await options.of?.(opened)
    const which = made === undefined ? { runId: run.runId } : { runId: made, madeOf: run.runId }
    cli.exit(await attended(cli, store, opened, which, flags, options))
  } finally {
    await opened.close()
  }
}

async function attended(
  cli: Cli,
  store: OpenStore,
  opened: OpenedWorkflow,
  { runId, madeOf }: { readonly runId: string; readonly madeOf?: string },
  flags: GoOnFlags,
  { takeOver, first }: GoOnOptions,
) {
  const onGraphChange: GraphChangePolicy | undefined = flags.acceptChanges && "continue"
  const past = await pastEvents(store, runId)
  try {
    return await attend(cli, {
      opened,
      store,
      flags,
      onGraphChange,
      past,
      begin: async (runtime) => {
        const run = runtime.resume(opened.workflow, runId, { takeOver })
        await first?.(run)
        return { run, after: past.at(-1)?.seq ?? 0 }
      },
    })
  } catch (error) {
    if (isSuperstepError(error, "RUN_HELD")) throw held(runId, storeFlagOf(flags), error)
    if (!isSuperstepError(error, "GRAPH_CHANGED")) throw error
    const what = error.message.replace(/\nResume it with onGraphChange.*$/, "")
    if (madeOf === undefined) throw changed(what, endOf(runId, storeFlagOf(flags)), error)
    await discard(store, runId)
    throw changed(
      what.replace(runId, () => madeOf),
      ".",
      error,
    )
  }
}

function held(runId: string, storeFlag: string, cause: Error): Error {
  const id = typedId(runId)
  const where = /process \d+ on \S+?(?=\.( |$))/.exec(cause.message)?.[0] ?? "another process"
  return usageError(
    `Run ${shortId(runId)} is at work in ${where}. Watch it there:\nsuperstep runs events ${id} --follow${storeFlag}\n` +
      `If that process is stuck:\nsuperstep runs resume ${id} --take-over${storeFlag}`,
    cause,
  )
}

function changed(what: string, end: string, cause: Error): Error {
  const all = "To go on all the same, with nodes matched by name, add --accept-changes"
  return usageError(`${what}\n${all}${end}`, cause)
}

function endOf(runId: string, storeFlag: string): string {
  return `; to end it:\nsuperstep runs cancel ${typedId(runId)}${storeFlag}`
}

/** One that was just made, and cannot go on: it would be in lists for ever. */
async function discard(store: OpenStore, runId: string): Promise<void> {
  const runtime = new Runtime({ store, workflows: [] })
  try {
    await runtime.cancel(runId)
    await runtime.remove(runId)
  } finally {
    await runtime.close()
  }
}
