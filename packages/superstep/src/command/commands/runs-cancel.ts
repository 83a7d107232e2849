/** `superstep runs cancel`: ends runs, wherever they are at work. Their definitions need not be there. */
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { type OutputFlags, outputFlags, type StoreFlags, storeFlags } from "../common-flags.ts"
import { findRuns } from "../find-run.ts"
import { forEachRun } from "../for-each-run.ts"
import { jsonLine } from "../json-line.ts"
import type { OpenStore } from "../open-store.ts"
import { foreignLine } from "../terminal.ts"
import { useStore } from "../use-store.ts"

interface CancelFlags extends OutputFlags, StoreFlags {
  readonly reason?: string | undefined
}

export function cancelCommand(cli: Cli): Command {
  const command = new Command("cancel")
    .description("end runs, wherever they are at work")
    .argument("<run...>", "their ids; the beginnings or the ends of them are enough")
    .option("--reason <text>", "for the record")
    .addHelpText("after", '\nFor example:\n  superstep runs cancel 4f2a91c0 --reason "not needed any more"')
    .action((ids: string[], flags: CancelFlags) =>
      useStore(cli, flags, (store) => cancel(cli, store, ids, flags)),
    )
  return outputFlags(storeFlags(command))
}

async function cancel(cli: Cli, store: OpenStore, ids: readonly string[], flags: CancelFlags): Promise<void> {
  await forEachRun(cli, store, await findRuns(store, ids), async (runtime, runId) => {
    await runtime.cancel(runId, flags.reason ?? "superstep runs cancel")
    if (flags.json) cli.out.line(jsonLine({ runId, status: "cancelled" }))
    else if (!flags.quiet) cli.err.line(`Cancelled ${foreignLine(runId)}.`)
  })
}
