/** `superstep runs replay`: a recorded run against its definition as it is now, offline. */
import { printReplay, Runtime } from "@superstep/engine"
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { type OutputFlags, outputFlags, type StoreFlags, storeFlags } from "../common-flags.ts"
import { EXIT } from "../exit-codes.ts"
import { findRun } from "../find-run.ts"
import { jsonLine } from "../json-line.ts"
import type { OpenStore } from "../open-store.ts"
import { openStoredWorkflow, type StoredWorkflowFlags, storedWorkflowFlags } from "../stored-workflow.ts"
import { foreign } from "../terminal.ts"
import { useStore } from "../use-store.ts"

type ReplayFlags = OutputFlags & StoreFlags & StoredWorkflowFlags

export function replayCommand(cli: Cli): Command {
  const command = new Command("replay")
    .description("does its definition, as it is now, do what the run did? Exit code 1 if not")
    .argument("<run>", "its id; the beginning or the end of it is enough")
    .addHelpText(
      "after",
      "\nModels and people are not asked: what they said is on record.\n\nFor example:\n  superstep runs replay 4f2a91c0 --file new-version.yaml",
    )
    .action((id: string, flags: ReplayFlags) =>
      useStore(cli, flags, (store) => replay(cli, store, id, flags)),
    )
  for (const add of [storedWorkflowFlags, storeFlags, outputFlags]) add(command)
  return command
}

async function replay(cli: Cli, store: OpenStore, id: string, flags: ReplayFlags): Promise<void> {
  const run = await findRun(store, id)
  const opened = await openStoredWorkflow(cli, store, run, flags, { isRun: false })
  const runtime = new Runtime({ store, workflows: [] })
  try {
    const report = await runtime.replay(run.runId, opened.workflow)
    if (flags.json) cli.out.line(jsonLine(report))
    else cli.out.line(foreign(printReplay(report)))
    if (!report.same) cli.exit(EXIT.failed)
  } finally {
    await runtime.close()
    await opened.close()
  }
}
