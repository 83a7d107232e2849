/** `superstep runs release`: frees quarantined runs, so that a process continues them. */
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { type OutputFlags, outputFlags, type StoreFlags, storeFlags } from "../common-flags.ts"
import { findRuns } from "../find-run.ts"
import { forEachRun } from "../for-each-run.ts"
import { jsonLine } from "../json-line.ts"
import type { OpenStore } from "../open-store.ts"
import { foreignLine } from "../terminal.ts"
import { useStore } from "../use-store.ts"

export function releaseCommand(cli: Cli): Command {
  const command = new Command("release")
    .description("free quarantined runs: those that were executing each time their process died")
    .argument("<run...>", "run ids; a unique beginning or end of each is enough")
    .addHelpText(
      "after",
      "\nFor example:\n  superstep runs list --status quarantined\n  superstep runs release 4f2a91c0",
    )
    .action((ids: string[], flags: OutputFlags & StoreFlags) =>
      useStore(cli, flags, (store) => release(cli, store, ids, flags)),
    )
  return outputFlags(storeFlags(command))
}

async function release(
  cli: Cli,
  store: OpenStore,
  ids: readonly string[],
  flags: OutputFlags,
): Promise<void> {
  await forEachRun(cli, store, await findRuns(store, ids), async (runtime, runId) => {
    await runtime.release(runId)
    const status = (await store.run(runId))?.status
    if (flags.json) cli.out.line(jsonLine({ runId, status }))
    else if (!flags.quiet) cli.err.line(`Released ${foreignLine(runId)}. It is ${status} again.`)
  })
}
