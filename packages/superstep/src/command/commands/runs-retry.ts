/** `superstep runs retry`: a new run with the past of one that failed, from right before the failure. */
import { isSuperstepError, rerun } from "@superstep/engine"
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { outputFlags, storeFlags } from "../common-flags.ts"
import { findRun, shortId } from "../find-run.ts"
import { type GoOnFlags, goOn, goOnFlags } from "../go-on.ts"
import type { OpenStore } from "../open-store.ts"
import { usageError } from "../usage-error.ts"
import { useStore } from "../use-store.ts"

interface RetryFlags extends GoOnFlags {
  readonly from?: string | undefined
}

export function retryCommand(cli: Cli): Command {
  const command = new Command("retry")
    .description("what failed once more, as a new run with the same past")
    .argument("<run>", "its id; the beginning or the end of it is enough")
    .option("--from <node>", "from the last visit of this node on, whether it failed or not")
    .addHelpText("after", "\nFor example:\n  superstep runs retry 4f2a91c0 --model openai/gpt-5")
    .action((id: string, flags: RetryFlags) =>
      useStore(cli, flags, async (store) => {
        const run = await findRun(store, id)
        await goOn(cli, store, run, flags, { of: () => again(cli, store, run.runId, flags) })
      }),
    )
  for (const add of [goOnFlags, storeFlags, outputFlags]) add(command)
  return command
}

async function again(
  { err }: Cli,
  store: OpenStore,
  runId: string,
  { from, quiet }: RetryFlags,
): Promise<string> {
  const made = await rerun(store, runId, from === undefined ? {} : { from: { node: from } }).catch(
    (error) => {
      if (!isSuperstepError(error, "RUN_NOT_FAILED")) throw error
      throw usageError(
        `Run ${shortId(runId)} has not failed: there is nothing to retry. ` +
          "To run a part of it again, name where from: --from NODE.",
        error,
      )
    },
  )
  if (!quiet) err.line(err.paint.dim(`run ${made}, which goes on from ${shortId(runId)}`))
  return made
}
