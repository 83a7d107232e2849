/** `superstep runs retry`: a new run with the past of one that failed, or came to a limit, from right before that. */
import { isSuperstepError, rerun, type StoredRun } from "@superstep/engine"
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { type BoundFlags, boundFlags, limitsOf, outputFlags, storeFlags } from "../common-flags.ts"
import { findRun, shortId } from "../find-run.ts"
import { type GoOnFlags, goOn, goOnFlags } from "../go-on.ts"
import type { OpenStore } from "../open-store.ts"
import { withMaxSteps } from "../run-labels.ts"
import { usageError } from "../usage-error.ts"
import { useStore } from "../use-store.ts"

interface RetryFlags extends GoOnFlags, BoundFlags {
  readonly from?: string | undefined
}

export function retryCommand(cli: Cli): Command {
  const command = new Command("retry")
    .description("what failed, or came to a limit, once more: a new run with the same past")
    .argument("<run>", "its id; the beginning or the end of it is enough")
    .option("--from <node>", "from the last visit of this node on, whether it failed or not")
    .addHelpText(
      "after",
      "\nLimits and budgets are those that it had, unless others are given; what it has\nused counts.\n\nFor example:\n  superstep runs retry 4f2a91c0 --model openai/gpt-5\n  superstep runs retry 4f2a91c0 --budget usd=5",
    )
    .action((id: string, flags: RetryFlags) =>
      useStore(cli, flags, async (store) => {
        const run = await findRun(store, id)
        await goOn(cli, store, run, flags, {
          of: ({ definition }) => again(cli, store, run, flags, definition?.dialect),
        })
      }),
    )
  for (const add of [boundFlags, goOnFlags, storeFlags, outputFlags]) add(command)
  return command
}

async function again(
  { err }: Cli,
  store: OpenStore,
  run: StoredRun,
  flags: RetryFlags,
  dialect: string | undefined,
): Promise<string> {
  const { runId, status } = run
  const { from, quiet } = flags
  const made = await rerun(store, runId, {
    ...limitsOf(flags, dialect),
    labels: withMaxSteps(run, flags),
    from: from === undefined ? undefined : { node: from },
  }).catch((error) => {
    if (!isSuperstepError(error, "RUN_NOT_FAILED")) throw error
    throw usageError(
      `Run ${shortId(runId)} is ${status}, not failed: there is nothing to retry. ` +
        "To run a part of it again, name where from: --from NODE.",
      error,
    )
  })
  if (!quiet) err.line(err.paint.dim(`run ${made}, which goes on from ${shortId(runId)}`))
  return made
}
