/** `superstep storage`: reports what the store holds, and prunes finished runs. */
import { type Amount, hasEnded, type PrunePolicy, type Store, type StoredRun } from "@superstep/engine"
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import {
  complete,
  helpText,
  type OutputFlags,
  outputFlags,
  parseDuration,
  parseWhole,
  type StoreFlags,
  storeFlags,
} from "../flags.ts"
import { type OpenStore, onStore, storeAddress } from "../open/store.ts"
import { usageError } from "../print/errors.ts"
import { counted, printTable, size } from "../print/figures.ts"
import { printFacts, STATUSES } from "../print/run-report.ts"
import { confirmed } from "../terminal/ask-person.ts"
import { jsonText, progressBar } from "../terminal/terminal.ts"

function storageCommand(cli: Cli): Command {
  return new Command()
    .description("Report what the store holds, and prune old runs.")
    .addHelpText(
      "after",
      helpText(["superstep storage report", "superstep storage prune --older 30d --dry-run"]),
    )
    .addCommand(reportCommand(cli), { isDefault: true })
    .addCommand(pruneCommand(cli))
    .addCommand(encryptCommand(cli))
}

type ReportFlags = OutputFlags & StoreFlags

const MAX_WORKFLOWS = 15

function reportCommand(cli: Cli): Command {
  const command = new Command("report")
    .description("report how many runs the store holds, and their size")
    .action(onStore(cli, report))
  return complete(command, [storeFlags, outputFlags], "superstep storage report --store sqlite:data/runs.db")
}

async function report({ out, io }: Cli, store: OpenStore, flags: ReportFlags): Promise<void> {
  const found = await store.report()
  if (flags.json) return out.line(jsonText(found))
  const { journal, snapshots, blobs, threads, workflows, disk } = found
  const runs: Readonly<Record<string, number | undefined>> = found.runs
  const { url, path } = storeAddress(flags.store, io.cwd)
  const all = Object.values(runs).reduce((sum: number, count) => sum + (count ?? 0), 0)
  const byStatus = STATUSES.flatMap((status) => (runs[status] ? [`${runs[status]} ${status}`] : []))
  const amount = ({ count, bytes }: Amount, one: string) => `${counted(count, one)}, ${size(bytes)}`
  out.line(out.paint.bold(path ?? url))
  printFacts(out, [
    ["runs", [counted(all, "run"), ...byStatus].join(", ")],
    ["journals", amount(journal, "record")],
    ["snapshots", amount(snapshots, "snapshot")],
    ["values", amount(blobs, "large value")],
    ["threads", amount(threads, "thread")],
    ["on disk", disk && `${size(disk.bytes)}, of which ${size(disk.free)} are free`],
  ])
  if (workflows.length === 0) return
  out.line()
  printTable(
    out,
    [
      { title: "WORKFLOW", canShrink: true },
      { title: "RUNS", align: "right" },
      { title: "SIZE", align: "right" },
    ],
    workflows
      .slice(0, MAX_WORKFLOWS)
      .map(({ workflow, runs: count, bytes }) => [workflow, String(count), size(bytes)]),
    "  ",
  )
  if (workflows.length > MAX_WORKFLOWS) out.line(`  … and ${workflows.length - MAX_WORKFLOWS} more`)
}

interface PruneFlags extends ReportFlags {
  /** Milliseconds. */
  readonly older?: number | undefined
  readonly keep?: number | undefined
  readonly workflow?: string | undefined
  readonly dryRun?: true | undefined
  readonly yes?: true | undefined
}

function pruneCommand(cli: Cli): Command {
  const command = new Command("prune")
    .description("remove finished runs: the old ones, or all but the newest")
    .option("--older <time>", "remove runs that ended longer ago than this: 30d, 12h", parseDuration)
    .option("--keep <n>", "remove all but the newest n runs of each workflow", parseWhole)
    .option("--workflow <name>", "remove only runs of this workflow")
    .option("--dry-run", "only report what would be removed")
    .option("--yes", "do not ask for confirmation")
    .action(onStore(cli, prune))
  return complete(
    command,
    [storeFlags, outputFlags],
    "superstep storage prune --older 30d --keep 1000 --yes",
    "With both --older and --keep, a run is removed if either applies. Unfinished runs, pinned runs and runs that forks depend on are never removed.",
  )
}

async function prune(cli: Cli, store: OpenStore, flags: PruneFlags): Promise<void> {
  const { older, keep, workflow, dryRun, json, quiet, yes } = flags
  if (older === undefined && keep === undefined) {
    throw usageError("Choose what to remove: --older 30d, --keep 1000, or both.")
  }
  const endedBefore = older === undefined ? undefined : Date.now() - older
  const policy: PrunePolicy = { workflow, keep, endedBefore }
  const { count, bytes } = await prunable(store, policy)
  const what = `${counted(count, "run")}, ${size(bytes)}`
  if (dryRun) {
    return cli.out.line(json ? jsonText({ count, bytes, dryRun: true }) : `Would remove ${what}.`)
  }
  if (count > 0 && !(await confirmed(cli, `Remove ${what}, permanently?`, yes))) return
  const gone = count > 0 ? await store.prune(policy) : { count: 0, bytes: 0 }
  if (json) cli.out.line(jsonText(gone))
  else if (!quiet) cli.out.line(`Removed ${counted(gone.count, "run")}, ${size(gone.bytes)}.`)
}

function encryptCommand(cli: Cli): Command {
  const command = new Command("encrypt")
    .description("encrypt what is not encrypted with the newest key yet")
    .action(onStore(cli, encrypt))
  return complete(
    command,
    [storeFlags, outputFlags],
    "SUPERSTEP_KEYS=new:…,old:… superstep storage encrypt",
    "Keys are id:base64 in SUPERSTEP_KEYS, or in the file that SUPERSTEP_KEYS_FILE names: the first one writes, all of them read. May be interrupted and repeated, while other processes use the store. Afterwards the old keys are no longer needed.",
  )
}

async function encrypt(cli: Cli, store: OpenStore, flags: ReportFlags): Promise<void> {
  if (store.encryptAgain === undefined) throw usageError("A store in memory is not encrypted.")
  const bar = progressBar(cli.err)
  const isShown = !flags.quiet && !flags.json
  const count = await store
    .encryptAgain((done) => isShown && bar.show(0, counted(done, "value")))
    .finally(bar.clear)
  if (flags.json) cli.out.line(jsonText({ count }))
  else if (!flags.quiet) cli.out.line(`Encrypted ${counted(count, "value")}.`)
}

const PAGE = 500

/** What `store.prune` would remove; the size of snapshots is not counted. */
export async function prunable(store: Pick<Store, "runs">, policy: PrunePolicy): Promise<Amount> {
  const { keep, endedBefore } = policy
  const newer = new Map<string, number>()
  /** Runs whose records a kept run still needs. */
  const needed = new Set<string>()
  let [count, bytes] = [0, 0]
  // Newest first, so a fork is visited before the run that it was forked from.
  for await (const run of allRuns(store)) {
    const isEnded = hasEnded(run)
    const place = newer.get(run.workflow) ?? 0
    if (isEnded && !run.pinned) newer.set(run.workflow, place + 1)
    const mayGo =
      (keep !== undefined && place >= keep) || (endedBefore !== undefined && run.updatedAt < endedBefore)
    const matches = policy.workflow === undefined || run.workflow === policy.workflow
    if (isEnded && !run.pinned && mayGo && matches && !needed.has(run.runId)) {
      count++
      bytes += run.bytes
    } else if (run.forkOf !== undefined) needed.add(run.forkOf.runId)
  }
  return { count, bytes }
}

async function* allRuns(store: Pick<Store, "runs">): AsyncGenerator<StoredRun> {
  for (let before: string | undefined; ; ) {
    const page: readonly StoredRun[] = await store.runs({ before, limit: PAGE })
    yield* page
    if (page.length < PAGE) return
    before = page.at(-1)?.runId
  }
}

export const commands = { storage: storageCommand }
