/** `superstep runs resume` and `superstep runs retry`: continue a run in this process. */
import { isSuperstepError, rerun, type StoredRun } from "@superstep/engine"
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import {
  type BoundFlags,
  boundFlags,
  complete,
  limitsOf,
  outputFlags,
  storeFlags,
  strictFlag,
} from "../flags.ts"
import { withMaxSteps } from "../open/run-labels.ts"
import { type OpenStore, storeFlagOf, withStore } from "../open/store.ts"
import { usageError } from "../print/errors.ts"
import { findRun, shortId, typedId } from "../run/find-run.ts"
import { type ResumeFlags, resume, resumeFlags } from "../run/run-workflow.ts"
import { RUN_ID } from "./runs-show.ts"

interface TakeOverFlags extends ResumeFlags {
  readonly takeOver?: true | undefined
}

export function resumeCommand(cli: Cli): Command {
  const command = new Command("resume")
    .description("resume a run that was stopped or that waits")
    .argument("<run>", RUN_ID)
    .option("--take-over", "take the run from a process that is stuck")
    .action((id: string, flags: TakeOverFlags) =>
      withStore(cli, flags, async (store) => {
        const run = await findRun(store, id)
        const { status } = run
        if (status !== "queued" && status !== "running" && status !== "waiting")
          throw cannotResume(run, storeFlagOf(flags))
        await resume(cli, store, run, flags, { takeOver: flags.takeOver })
      }),
    )
  return complete(
    command,
    [strictFlag, resumeFlags, storeFlags, outputFlags],
    "superstep runs resume 4f2a91c0",
  )
}

function cannotResume({ runId, status }: StoredRun, storeFlag: string): Error {
  const id = typedId(runId)
  const suggest = (why: string, command: string) =>
    usageError(`Run ${shortId(runId)} is ${why}:\nsuperstep runs ${command}${storeFlag}`)
  if (status === "quarantined") {
    const why = "quarantined: each process that executed it died. Find the cause, then release it"
    return suggest(why, `release ${id}`)
  }
  if (status === "failed") return suggest("failed. Retry it from where it failed", `retry ${id}`)
  if (status === "limit") {
    const why = "stopped at a limit. Continue it with a higher --budget, --max-steps or --timeout"
    return suggest(why, `retry ${id} --budget usd=…`)
  }
  return suggest(`${status}. Repeat a part of it from a superstep`, `fork ${id} --at N`)
}

interface RetryFlags extends ResumeFlags, BoundFlags {
  readonly from?: string | undefined
}

export function retryCommand(cli: Cli): Command {
  const command = new Command("retry")
    .description("retry a run that failed or reached a limit, as a new run with the same history")
    .argument("<run>", RUN_ID)
    .option("--from <node>", "retry from the last visit of this node, whether it failed or not")
    .action((id: string, flags: RetryFlags) =>
      withStore(cli, flags, async (store) => {
        const run = await findRun(store, id)
        await resume(cli, store, run, flags, {
          makeRun: ({ definition }) => retry(cli, store, run, flags, definition?.dialect),
        })
      }),
    )
  return complete(
    command,
    [boundFlags, strictFlag, resumeFlags, storeFlags, outputFlags],
    ["superstep runs retry 4f2a91c0 --model openai/gpt-5", "superstep runs retry 4f2a91c0 --budget usd=5"],
    "The new run keeps the limits and budgets of the old one, unless you set others. Usage of the old run counts.",
  )
}

async function retry(
  { err }: Cli,
  store: OpenStore,
  run: StoredRun,
  flags: RetryFlags,
  dialect: string | undefined,
): Promise<string> {
  const { runId, status } = run
  const made = await rerun(store, runId, {
    ...limitsOf(flags, dialect),
    labels: withMaxSteps(run, flags),
    from: flags.from === undefined ? undefined : { node: flags.from },
  }).catch((error) => {
    if (!isSuperstepError(error, "RUN_NOT_FAILED")) throw error
    throw usageError(
      `Run ${shortId(runId)} is ${status}, not failed: there is nothing to retry. ` +
        "To repeat a part of it, add --from NODE.",
      error,
    )
  })
  if (!flags.quiet) err.line(err.paint.dim(`run ${made}, which continues ${shortId(runId)}`))
  return made
}
