/** `superstep runs show`: how a run stands, what it did and used, what it waits for and what came of it. */
import type { StoredRun } from "@superstep/engine"
import { openRequests, type RunView } from "@superstep/engine/protocol"
import { Command } from "commander"
import { storeFlagOf } from "../attend.ts"
import type { Cli } from "../cli.ts"
import { type OutputFlags, outputFlags, type StoreFlags, storeFlags } from "../common-flags.ts"
import { findRun } from "../find-run.ts"
import { jsonLine } from "../json-line.ts"
import { livingHolder, shownStatus } from "../living-holder.ts"
import type { OpenStore } from "../open-store.ts"
import { nodesOf, stepsOf, viewOf } from "../run-overview.ts"
import { printRun } from "../run-report.ts"
import { useStore } from "../use-store.ts"

type ShowFlags = OutputFlags & StoreFlags

export function showCommand(cli: Cli): Command {
  const command = new Command("show")
    .description("how a run stands, what it did, what it used")
    .argument("<run>", "its id; the beginning or the end of it is enough")
    .addHelpText("after", "\nFor example:\n  superstep runs show 4f2a91c0")
    .action((id: string, flags: ShowFlags) => useStore(cli, flags, (store) => show(cli, store, id, flags)))
  return outputFlags(storeFlags(command))
}

async function show({ out }: Cli, store: OpenStore, id: string, flags: ShowFlags): Promise<void> {
  const run = await findRun(store, id)
  const view = await viewOf(store, run.runId)
  if (flags.json) return out.line(jsonLine({ ...runData(run, view), status: await shownStatus(store, run) }))
  const now = Date.now()
  const holder = await livingHolder(store, run)
  printRun(out, { run, view, holder, now, storeFlag: storeFlagOf(flags) })
}

function runData(run: StoredRun, view: RunView) {
  const { runId, workflow, status, createdAt, updatedAt, thread, key, labels, forkOf, pinned } = run
  const { input, error, outputs, state, usage, usageByAgent, usageByModel, superstep } = view
  return {
    ...{ runId, workflow, status, createdAt, updatedAt, thread, key, labels, forkOf, pinned },
    ...{
      startedAt: view.startedAt,
      finishedAt: view.finishedAt,
      steps: stepsOf(view),
      supersteps: superstep,
    },
    ...{ input, outputs, state, error, usage, usageByAgent, usageByModel },
    nodes: nodesOf(view, updatedAt),
    requests: openRequests(view),
  }
}
