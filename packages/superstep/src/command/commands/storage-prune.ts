/** `superstep storage prune`: lets runs go that are over. */
import type { PrunePolicy } from "@superstep/engine"
import { Command } from "commander"
import { size } from "../amounts.ts"
import type { Cli } from "../cli.ts"
import {
  type OutputFlags,
  outputFlags,
  parseDuration,
  parseWhole,
  type StoreFlags,
  storeFlags,
} from "../common-flags.ts"
import { confirmed } from "../confirm.ts"
import { counted } from "../figures.ts"
import { jsonLine } from "../json-line.ts"
import type { OpenStore } from "../open-store.ts"
import { prunable } from "../prunable.ts"
import { usageError } from "../usage-error.ts"
import { useStore } from "../use-store.ts"

interface PruneFlags extends OutputFlags, StoreFlags {
  /** Milliseconds. */
  readonly older?: number | undefined
  readonly keep?: number | undefined
  readonly workflow?: string | undefined
  readonly dryRun?: true | undefined
  readonly yes?: true | undefined
}

export function pruneCommand(cli: Cli): Command {
  const command = new Command("prune")
    .description("remove runs that are over: the old ones, or all but the newest")
    .option("--older <time>", "those that ended longer ago than this: 30d, 12h", parseDuration)
    .option("--keep <n>", "all but the newest n of each workflow", parseWhole)
    .option("--workflow <name>", "of this workflow only")
    .option("--dry-run", "only say what would go")
    .option("--yes", "do not ask")
    .addHelpText(
      "after",
      "\nWith both --older and --keep a run goes by either. Runs in flight, pinned runs\nand the past of forks are never removed.\n\nFor example:\n  superstep storage prune --older 30d --keep 1000 --yes",
    )
    .action((flags: PruneFlags) => useStore(cli, flags, (store) => prune(cli, store, flags)))
  return outputFlags(storeFlags(command))
}

async function prune(cli: Cli, store: OpenStore, flags: PruneFlags): Promise<void> {
  const { older, keep, workflow, dryRun, json, quiet } = flags
  if (older === undefined && keep === undefined) {
    throw usageError("Say what may go: --older 30d, --keep 1000, or both.")
  }
  const policy: PrunePolicy = {
    workflow,
    keep,
    endedBefore: older === undefined ? undefined : Date.now() - older,
  }
  const { count, bytes } = await prunable(store, policy)
  if (dryRun) {
    if (json) return cli.out.line(jsonLine({ count, bytes, dryRun: true }))
    return cli.out.line(`Would remove ${counted(count, "run")}, ${size(bytes)}.`)
  }
  if (
    count > 0 &&
    !(await confirmed(cli, `Remove ${counted(count, "run")}, ${size(bytes)}, for good?`, flags.yes))
  )
    return
  const gone = count > 0 ? await store.prune(policy) : { count: 0, bytes: 0 }
  if (json) cli.out.line(jsonLine(gone))
  else if (!quiet) cli.out.line(`Removed ${counted(gone.count, "run")}, ${size(gone.bytes)}.`)
}
