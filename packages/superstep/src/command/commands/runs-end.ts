/** `superstep runs cancel`, `release` and `rm`: several runs at once, without their definitions. */
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { addFlags, helpText, type OutputFlags, outputFlags, type StoreFlags, storeFlags } from "../flags.ts"
import { type OpenStore, onStore } from "../open/store.ts"
import { counted } from "../print/figures.ts"
import { findRuns, forEachRun } from "../run/find-run.ts"
import { confirmed } from "../terminal/ask-person.ts"
import { jsonText, sanitizeLine } from "../terminal/terminal.ts"

interface EndFlags extends OutputFlags, StoreFlags {
  readonly reason?: string | undefined
  readonly yes?: true | undefined
}

type Work = (cli: Cli, store: OpenStore, ids: readonly string[], flags: EndFlags) => Promise<void>

function endCommand(cli: Cli, name: string, description: string, work: Work): Command {
  const command = new Command(name)
    .description(description)
    .argument("<run...>", "run ids; a prefix or suffix is enough")
    .action(onStore(cli, work))
  return addFlags(command, storeFlags, outputFlags)
}

export function cancelCommand(cli: Cli): Command {
  return endCommand(cli, "cancel", "cancel runs, in whichever process they execute", cancel)
    .option("--reason <text>", "record this reason")
    .addHelpText("after", helpText('superstep runs cancel 4f2a91c0 --reason "no longer needed"'))
}

const cancel: Work = async (cli, store, ids, flags) => {
  await forEachRun(cli, store, await findRuns(store, ids), async (runtime, runId) => {
    await runtime.cancel(runId, flags.reason ?? "superstep runs cancel")
    report(cli, flags, { runId, status: "cancelled" }, `Cancelled ${sanitizeLine(runId)}.`)
  })
}

export function releaseCommand(cli: Cli): Command {
  const description = "release quarantined runs: runs whose process died on every attempt"
  return endCommand(cli, "release", description, release).addHelpText(
    "after",
    helpText(["superstep runs list --status quarantined", "superstep runs release 4f2a91c0"]),
  )
}

const release: Work = async (cli, store, ids, flags) => {
  await forEachRun(cli, store, await findRuns(store, ids), async (runtime, runId) => {
    await runtime.release(runId)
    const status = (await store.run(runId))?.status
    report(cli, flags, { runId, status }, `Released ${sanitizeLine(runId)}. It is ${status} again.`)
  })
}

export function rmCommand(cli: Cli): Command {
  return endCommand(cli, "rm", "remove finished runs, with their journals", remove)
    .option("--yes", "do not ask for confirmation")
    .addHelpText("after", helpText("superstep runs rm 4f2a91c0 --yes"))
}

const remove: Work = async (cli, store, ids, flags) => {
  const runs = await findRuns(store, ids)
  const what = runs.length === 1 ? `run ${sanitizeLine(runs[0]?.runId ?? "")}` : counted(runs.length, "run")
  if (!(await confirmed(cli, `Remove ${what} permanently?`, flags.yes))) return
  await forEachRun(cli, store, runs, async (runtime, runId) => {
    await runtime.remove(runId)
    report(cli, flags, { runId, removed: true }, `Removed ${sanitizeLine(runId)}.`)
  })
}

function report({ out, err }: Cli, { json, quiet }: EndFlags, data: object, text: string): void {
  if (json) out.line(jsonText(data))
  else if (!quiet) err.line(text)
}
