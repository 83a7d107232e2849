/** `superstep runs diff` and `superstep runs replay`: compare a run with another one, or with its changed definition. */
import { compareRuns, type Json, printReplay, type RunDifference, Runtime } from "@superstep/engine"
import { Command } from "commander"
import { type Cli, EXIT } from "../cli.ts"
import { complete, type OutputFlags, outputFlags, type StoreFlags, storeFlags } from "../flags.ts"
import { type OpenStore, onStore } from "../open/store.ts"
import { openStoredWorkflow, type StoredWorkflowFlags, storedWorkflowFlags } from "../open/workflow.ts"
import { findRun, shortId } from "../run/find-run.ts"
import { clipped, jsonText, sanitize, sanitizeLine, type Terminal } from "../terminal/terminal.ts"
import { RUN_ID } from "./runs-show.ts"

type DiffFlags = OutputFlags & StoreFlags

export function diffCommand(cli: Cli): Command {
  const command = new Command("diff")
    .description("show what two runs did differently; exit with 1 if they differ")
    .argument("<a>", RUN_ID)
    .argument("<b>", "the other run")
    .action(onStore(cli, diff))
  return complete(
    command,
    [storeFlags, outputFlags],
    "superstep runs diff 4f2a91c0 77be01aa",
    "Compares inputs, messages of nodes, answers, state, outputs and errors, but not times or costs. --verbose prints values in full.",
  )
}

async function diff(cli: Cli, store: OpenStore, a: string, b: string, flags: DiffFlags): Promise<void> {
  const runs = [await findRun(store, a), await findRun(store, b)] as const
  const [{ runId: one }, { runId: other }] = runs
  const found = await compareRuns(store, one, other)
  const isSame = found.length === 0
  if (!isSame) cli.exit(EXIT.failed)
  if (flags.json) return cli.out.line(jsonText({ a: one, b: other, same: isSame, differences: found }))
  if (flags.quiet) return
  for (const difference of found) printDifference(cli.out, difference, flags.verbose === true)
  if (isSame) cli.err.line(`Runs ${shortId(one)} and ${shortId(other)} show no differences.`)
}

function printDifference(out: Terminal, { what, a, b }: RunDifference, isFull: boolean): void {
  const { bold, red, green } = out.paint
  out.line(bold(sanitizeLine(what)))
  const shown = (value: Json | undefined) => {
    const text = sanitizeLine(value === undefined ? "(nothing)" : jsonText(value))
    return isFull ? text : clipped(text, out.width - 4)
  }
  out.line(`  ${red("-")} ${shown(a)}`)
  out.line(`  ${green("+")} ${shown(b)}`)
}

type ReplayFlags = OutputFlags & StoreFlags & StoredWorkflowFlags

export function replayCommand(cli: Cli): Command {
  const command = new Command("replay")
    .description("replay a run against its current definition; exit with 1 if it differs")
    .argument("<run>", RUN_ID)
    .action(onStore(cli, replay))
  return complete(
    command,
    [storedWorkflowFlags, storeFlags, outputFlags],
    "superstep runs replay 4f2a91c0 --file new-version.yaml",
    "No model is called and nobody is asked: their recorded answers are used.",
  )
}

async function replay(cli: Cli, store: OpenStore, id: string, flags: ReplayFlags): Promise<void> {
  const run = await findRun(store, id)
  const opened = await openStoredWorkflow(cli, store, run, flags, { isRun: false })
  const runtime = new Runtime({ store, workflows: [], recover: false })
  try {
    const report = await runtime.replay(run.runId, opened.workflow)
    cli.out.line(flags.json ? jsonText(report) : sanitize(printReplay(report)))
    if (!report.same) cli.exit(EXIT.failed)
  } finally {
    await runtime.close()
    await opened.close()
  }
}
