/** `superstep storage`: reports what the store holds, and prunes finished runs. */
import {
  type Amount,
  type PrunePolicy,
  prunable,
  type StoredRetention,
  storedRetention,
  storeRetention,
} from "@superstep/engine"
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
import { age, counted, printTable, size } from "../print/figures.ts"
import { printFacts, STATUSES } from "../print/run-report.ts"
import { confirmed } from "../terminal/ask-person.ts"
import { jsonText, progressBar } from "../terminal/terminal.ts"

function storageCommand(cli: Cli): Command {
  return new Command()
    .description("Report what the store holds, and prune old runs.")
    .addHelpText("after", helpText("superstep storage report"))
    .addCommand(reportCommand(cli), { isDefault: true })
    .addCommand(pruneCommand(cli))
    .addCommand(retentionCommand(cli))
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

interface RetentionFlags extends Pick<PruneFlags, "older" | "keep" | "json" | "quiet" | "yes" | "store"> {
  readonly none?: true | undefined
}

function retentionCommand(cli: Cli): Command {
  const command = new Command("retention")
    .description("show, store or remove the policy by which servers and workers delete finished runs")
    .option("--older <time>", "delete runs that ended longer ago than this: 30d, 12h", parseDuration)
    .option("--keep <n>", "delete all but the newest n runs of each workflow", parseWhole)
    .option("--none", "remove the stored policy")
    .option("--yes", "do not ask for confirmation")
    .action(onStore(cli, retention))
  return complete(
    command,
    [storeFlags, outputFlags],
    "superstep storage retention --older 30d --yes",
    "A stored policy takes the place of the one in each process's code. Servers and workers of the store read it once an hour, and delete in batches. Unfinished runs, pinned runs and runs that forks depend on are never deleted.",
  )
}

async function retention(cli: Cli, store: OpenStore, flags: RetentionFlags): Promise<void> {
  const { older: maxAge, keep, none, json, quiet, yes } = flags
  const isSet = maxAge !== undefined || keep !== undefined
  if (none && isSet) throw usageError("--none removes the policy: leave out --older and --keep.")
  const author = { by: "command line", at: Date.now() }
  if (none) await storeRetention(store, undefined, author)
  else if (isSet) {
    const endedBefore = maxAge === undefined ? undefined : Date.now() - maxAge
    const { count, bytes } = await prunable(store, { keep, endedBefore })
    const what = `${counted(count, "run")}, ${size(bytes)}`
    const question = `Store this policy? Within the hour, it deletes ${what}, permanently.`
    if (!(await confirmed(cli, question, yes))) return
    await storeRetention(store, { keep, maxAge }, author)
  }
  const now = await storedRetention(store)
  if (json) cli.out.line(jsonText(now ?? {}))
  else if (!quiet) cli.out.line(retentionText(now))
}

function retentionText(policy: StoredRetention | undefined): string {
  if (policy === undefined)
    return "No policy is stored. Servers and workers follow their own, if they have one."
  const { keep, maxAge } = policy
  const parts = [
    ...(maxAge === undefined ? [] : [`runs that ended more than ${age(maxAge)} ago`]),
    ...(keep === undefined ? [] : [`all but the newest ${keep} of each workflow`]),
  ]
  return `Servers and workers delete ${parts.length === 0 ? "nothing" : parts.join(", and ")}.`
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

export const commands = { storage: storageCommand }
