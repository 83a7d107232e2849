/** `superstep runs list`: the newest runs, each in a line. */
import type { RunStatus, StoredRun } from "@superstep/engine"
import { Command, InvalidArgumentError } from "commander"
import { age, shortCost, shortTokens } from "../amounts.ts"
import type { Cli } from "../cli.ts"
import { type OutputFlags, outputFlags, parseCount, type StoreFlags, storeFlags } from "../common-flags.ts"
import { shortId } from "../find-run.ts"
import { jsonLine } from "../json-line.ts"
import type { OpenStore } from "../open-store.ts"
import { stepsOf, viewOf } from "../run-overview.ts"
import { paintStatus } from "../status-paint.ts"
import { printTable } from "../table.ts"
import { useStore } from "../use-store.ts"

interface ListFlags extends OutputFlags, StoreFlags {
  readonly status?: readonly RunStatus[] | undefined
  readonly workflow?: string | undefined
  readonly limit: number
}

export function listCommand(cli: Cli): Command {
  const command = new Command("list")
    .description("the newest runs, each in a line")
    .option("--status <status>", `${STATUSES.join(", ")}; several with commas`, parseStatus)
    .option("--workflow <name>", "those of one workflow")
    .option("--limit <n>", "how many", parseCount, 20)
    .addHelpText("after", "\nFor example:\n  superstep runs list --status waiting,failed --limit 50")
    .action((flags: ListFlags) => useStore(cli, flags, (store) => list(cli, store, flags)))
  return outputFlags(storeFlags(command))
}

const STATUSES: readonly RunStatus[] = ["running", "waiting", "completed", "failed", "cancelled", "limit"]

function parseStatus(text: string, before: readonly RunStatus[] = []): readonly RunStatus[] {
  const words = text.split(",").map((word) => word.trim())
  const wrong = words.find((word) => !STATUSES.includes(word as RunStatus))
  if (wrong !== undefined) throw new InvalidArgumentError(`A status is one of ${STATUSES.join(", ")}.`)
  return [...before, ...(words as RunStatus[])]
}

async function list({ out, err }: Cli, store: OpenStore, flags: ListFlags): Promise<void> {
  const { status, workflow, limit, json, quiet } = flags
  const found = await store.runs({ status, workflow, limit: limit + 1 })
  const shown = found.slice(0, limit)
  if (json) {
    for (const run of shown) out.line(jsonLine(await runData(store, run)))
    return
  }
  if (shown.length === 0) {
    if (!quiet)
      err.line(status === undefined && workflow === undefined ? "There are no runs." : "No run fits.")
    return
  }
  const now = Date.now()
  const rows = await Promise.all(
    shown.map(async (run) => {
      const { steps, usage } = await figures(store, run)
      return [
        shortId(run.runId),
        run.workflow,
        run.status,
        age(now - run.createdAt),
        String(steps),
        shortTokens(usage),
        shortCost(usage),
      ]
    }),
  )
  printTable(
    out,
    [
      { title: "ID", canShrink: true },
      { title: "WORKFLOW", canShrink: true },
      { title: "STATUS", paint: (text) => paintStatus(text, out.paint) },
      { title: "AGE", align: "right" },
      { title: "STEPS", align: "right" },
      { title: "TOKENS", align: "right" },
      { title: "COST", align: "right" },
    ],
    rows,
  )
  if (found.length > limit && !quiet) err.line(err.paint.dim(`There are more: --limit ${limit * 5}`))
}

async function figures(store: OpenStore, { runId }: StoredRun) {
  const view = await viewOf(store, runId)
  return { steps: stepsOf(view), usage: view.usage }
}

async function runData(store: OpenStore, run: StoredRun) {
  const { runId, workflow, status, createdAt, updatedAt, thread, key, labels, forkOf, pinned } = run
  const more = { thread, key, labels, forkOf, pinned }
  return { runId, workflow, status, createdAt, updatedAt, ...(await figures(store, run)), ...more }
}
