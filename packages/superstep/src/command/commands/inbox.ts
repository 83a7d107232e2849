/** `superstep inbox`: open questions over all runs, the oldest first. */
import { Command } from "commander"
import { storeFlagOf } from "../attend.ts"
import type { Cli } from "../cli.ts"
import { type OutputFlags, outputFlags, parseCount, type StoreFlags, storeFlags } from "../common-flags.ts"
import { jsonLine } from "../json-line.ts"
import type { OpenStore } from "../open-store.ts"
import { printQuestion } from "../question-text.ts"
import { useStore } from "../use-store.ts"

interface InboxFlags extends OutputFlags, StoreFlags {
  readonly to?: string | undefined
  readonly workflow?: string | undefined
  readonly limit: number
}

export function command(cli: Cli): Command {
  const made = new Command()
    .description("Questions of all runs that wait for an answer, the oldest first.")
    .option("--to <who>", "those for this person or role")
    .option("--workflow <name>", "those of one workflow")
    .option("--limit <n>", "how many", parseCount, 50)
    .addHelpText("after", "\nFor example:\n  superstep inbox --to accounting")
    .action((flags: InboxFlags) => useStore(cli, flags, (store) => show(cli, store, flags)))
  return outputFlags(storeFlags(made))
}

async function show({ out, err }: Cli, store: OpenStore, flags: InboxFlags): Promise<void> {
  const { to, workflow, limit, json, quiet } = flags
  const found = await store.requests({ to, workflow, limit: limit + 1 })
  const shown = found.slice(0, limit)
  if (json) {
    for (const request of shown) out.line(jsonLine(request))
    return
  }
  if (shown.length === 0 && !quiet)
    err.line(to === undefined && workflow === undefined ? "Nobody is asked anything." : "No question fits.")
  const now = Date.now()
  for (const [i, request] of shown.entries()) {
    if (i > 0) out.line()
    printQuestion(out, request, { now, storeFlag: storeFlagOf(flags) })
  }
  if (found.length > limit && !quiet) err.line(err.paint.dim(`There are more: --limit ${limit * 5}`))
}
