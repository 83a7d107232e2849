/** `superstep runs salvage`: recovers what is readable of a damaged store into a new file. */
import { resolve } from "node:path"
import { Command } from "commander"
import { type Cli, EXIT } from "../cli.ts"
import { complete, type OutputFlags, outputFlags, type StoreFlags, storeFlags } from "../flags.ts"
import { storeAddress } from "../open/store.ts"
import { usageError } from "../print/errors.ts"
import { counted } from "../print/figures.ts"
import { progressBar } from "../print/progress-bar.ts"
import { jsonText, sanitizeLine } from "../terminal/terminal.ts"

interface SalvageFlags extends OutputFlags, StoreFlags {
  readonly to: string
}

export function salvageCommand(cli: Cli): Command {
  const command = new Command("salvage")
    .description("recover what is readable of a damaged store into a new file")
    .requiredOption("--to <file>", "write the new store to this file, which must not exist")
    .action((flags: SalvageFlags) => salvage(cli, flags))
  return complete(
    command,
    [storeFlags, outputFlags],
    "superstep runs salvage --store sqlite:damaged.db --to recovered.db",
    "Intact runs are copied whole. A run with a damaged record is cut before it and quarantined: releasing it repeats what came after the cut. The damaged file is not changed.",
  )
}

async function salvage(cli: Cli, flags: SalvageFlags): Promise<void> {
  const { out, io } = cli
  const { path } = storeAddress(flags.store, io.cwd)
  if (path === undefined) throw usageError("There is nothing to recover in memory. Add --store sqlite:PATH.")
  const to = resolve(io.cwd, flags.to.replace(/^sqlite:/, ""))
  const { salvageStore } = await import("@superstep/store-sqlite/internal")
  const bar = progressBar(cli.err)
  const { whole, cut, lost, problems } = await salvageStore({
    from: path,
    to,
    onRun(run, share) {
      if (flags.json) return out.line(jsonText(run))
      if (run.outcome === "whole" && run.reason === undefined) {
        if (!flags.quiet) bar.show(share, run.runId ?? "")
        return
      }
      bar.clear()
      const name = run.runId === undefined ? "A run" : sanitizeLine(run.runId)
      const outcome = run.outcome === "cut" ? `cut after record ${run.seq} of ${run.of}` : run.outcome
      out.line(`${name}: ${outcome}. ${sanitizeLine(run.reason ?? "")}`)
    },
  }).finally(bar.clear)
  if (flags.json) out.line(jsonText({ whole, cut, lost, problems, to }))
  else {
    for (const problem of problems) out.line(sanitizeLine(problem))
    if (!flags.quiet) out.line(`${to}: ${counted(whole, "run")} whole, ${cut} cut, ${lost} lost.`)
  }
  if (cut + lost + problems.length > 0) cli.exit(EXIT.failed)
}
