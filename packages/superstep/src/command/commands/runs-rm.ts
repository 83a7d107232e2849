/** `superstep runs rm`: removes runs that are over, with all that is on record of them. */
import { isSuperstepError, Runtime } from "@superstep/engine"
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { type OutputFlags, outputFlags, type StoreFlags, storeFlags } from "../common-flags.ts"
import { confirmed } from "../confirm.ts"
import { EXIT } from "../exit-codes.ts"
import { counted } from "../figures.ts"
import { findRun } from "../find-run.ts"
import { jsonLine } from "../json-line.ts"
import type { OpenStore } from "../open-store.ts"
import { printError } from "../print-error.ts"
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
  const found = await Promise.all(ids.map((id) => findRun(store, id)))
  const runs = [...new Map(found.map((run) => [run.runId, run])).values()]
  const what = runs.length === 1 ? `run ${runs[0]?.runId}` : counted(runs.length, "run")
  if (!(await confirmed(cli, `Remove ${what} for good?`, flags.yes))) return
  const runtime = new Runtime({ store, workflows: [] })
  try {
    for (const { runId } of runs) {
      try {
        await runtime.remove(runId)
        if (flags.json) cli.out.line(jsonLine({ runId, removed: true }))
        else if (!flags.quiet) cli.err.line(`Removed ${runId}.`)
      } catch (error) {
        // The others go all the same.
        if (!isSuperstepError(error)) throw error
        await printError(error, cli)
        cli.exit(EXIT.failed)
      }
    }
  } finally {
    await runtime.close()
  }
}
