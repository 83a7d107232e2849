/** `superstep runs rm`: removes runs that are over, with all that is on record of them. */
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { type OutputFlags, outputFlags, type StoreFlags, storeFlags } from "../common-flags.ts"
import { confirmed } from "../confirm.ts"
import { counted } from "../figures.ts"
import { findRuns } from "../find-run.ts"
import { forEachRun } from "../for-each-run.ts"
import { jsonLine } from "../json-line.ts"
import type { OpenStore } from "../open-store.ts"
import { foreignLine } from "../terminal.ts"
import { useStore } from "../use-store.ts"

interface RemoveFlags extends OutputFlags, StoreFlags {
  readonly yes?: true | undefined
}

export function rmCommand(cli: Cli): Command {
  const command = new Command("rm")
    .description("remove runs that are over, with all that is on record of them")
    .argument("<run...>", "their ids; the beginnings or the ends of them are enough")
    .option("--yes", "do not ask")
    .addHelpText("after", "\nFor example:\n  superstep runs rm 4f2a91c0 --yes")
    .action((ids: string[], flags: RemoveFlags) =>
      useStore(cli, flags, (store) => remove(cli, store, ids, flags)),
    )
  return outputFlags(storeFlags(command))
}

async function remove(cli: Cli, store: OpenStore, ids: readonly string[], flags: RemoveFlags): Promise<void> {
  const runs = await findRuns(store, ids)
  const what = runs.length === 1 ? `run ${foreignLine(runs[0]?.runId ?? "")}` : counted(runs.length, "run")
  if (!(await confirmed(cli, `Remove ${what} for good?`, flags.yes))) return
  await forEachRun(cli, store, runs, async (runtime, runId) => {
    await runtime.remove(runId)
    if (flags.json) cli.out.line(jsonLine({ runId, removed: true }))
    else if (!flags.quiet) cli.err.line(`Removed ${foreignLine(runId)}.`)
  })
}
