/** `superstep runs salvage`: recovers what is readable of a damaged store into a new file. */
import { resolve } from "node:path"
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { type OutputFlags, outputFlags, type StoreFlags, storeFlags } from "../common-flags.ts"
import { EXIT } from "../exit-codes.ts"
import { counted } from "../figures.ts"
import { jsonLine } from "../json-line.ts"
import { storeAddress } from "../open-store.ts"
import { progressBar } from "../progress-bar.ts"
import { foreignLine } from "../terminal.ts"
import { usageError } from "../usage-error.ts"

interface SalvageFlags extends OutputFlags, StoreFlags {
  readonly to: string
}

export function salvageCommand(cli: Cli): Command {
  const command = new Command("salvage")
    .description("recover what is readable of a damaged store into a new file")
    .requiredOption("--to <file>", "the new store; it must not exist")
    .addHelpText(
      "after",
      "\nSound runs come over whole. A run with a damaged record is cut before it and\nquarantined: releasing it repeats what came after the cut. The damaged file is\nnot changed.\n\nFor example:\n  superstep runs salvage --store sqlite:damaged.db --to recovered.db",
    )
    .action((flags: SalvageFlags) => salvage(cli, flags))
  return outputFlags(storeFlags(command))
}

async function salvage(cli: Cli, flags: SalvageFlags): Promise<void> {
  const { path } = storeAddress(flags.store, cli.io.cwd)
  if (path === undefined) throw usageError("There is nothing to recover in memory: give --store sqlite:PATH.")
  const to = resolve(cli.io.cwd, flags.to.replace(/^sqlite:/, ""))
  const { salvageStore } = await import("@superstep/store-sqlite/shared")
  const bar = progressBar(cli.err)
  const { whole, cut, lost, problems } = await salvageStore({
    from: path,
    to,
    onRun(run, share) {
      if (flags.json) return cli.out.line(jsonLine(run))
      if (run.outcome === "whole" && run.reason === undefined) {
        if (!flags.quiet) bar.show(share, run.runId ?? "")
        return
      }
      bar.clear()
      cli.out.line(lineOf(run))
    },
  }).finally(bar.clear)
  if (flags.json)
    return finish(cli, cut + lost + problems.length, jsonLine({ whole, cut, lost, problems, to }))
  for (const problem of problems) cli.out.line(foreignLine(problem))
  const counts = `${counted(whole, "run")} whole, ${cut} cut, ${lost} lost`
  finish(cli, cut + lost + problems.length, flags.quiet ? undefined : `${to}: ${counts}.`)
}

/** Exit 1 says that not everything came over. */
function finish(cli: Cli, problems: number, line: string | undefined): void {
  if (line !== undefined) cli.out.line(line)
  if (problems > 0) cli.exit(EXIT.failed)
}

function lineOf(run: {
  runId?: string | undefined
  outcome: string
  seq: number
  of?: number | undefined
  reason?: string | undefined
}): string {
  const name = run.runId === undefined ? "A run" : foreignLine(run.runId)
  const how = run.outcome === "cut" ? `cut after record ${run.seq} of ${run.of}` : run.outcome
  return `${name}: ${how}. ${foreignLine(run.reason ?? "")}`
}
