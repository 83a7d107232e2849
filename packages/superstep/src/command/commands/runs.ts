/** `superstep runs`: lists, inspects, resumes and removes runs. */
import { resolve } from "node:path"
import { isSuperstepError, ownRuns, type StoredRun, type Usage } from "@superstep/engine"
import { Command, InvalidArgumentError } from "commander"
import { type Cli, EXIT } from "../cli.ts"
import {
  addFlags,
  complete,
  helpText,
  type OutputFlags,
  outputFlags,
  parseCount,
  parseTime,
  type StoreFlags,
  storeFlags,
} from "../flags.ts"
import { type OpenStore, onStore, storeAddress, storeKeys } from "../open/store.ts"
import { usageError } from "../print/errors.ts"
import { age, counted, printTable, shortCost, shortTokens } from "../print/figures.ts"
import { type NodeNames, storedNames } from "../print/node-names.ts"
import { paintStatus, type ShownStatus, STATUSES, shownStatus, stepsOf, viewOf } from "../print/run-report.ts"
import { findRun, findRuns, forEachRun, shortId, typedId } from "../run/find-run.ts"
import { confirmed } from "../terminal/ask-person.ts"
import { jsonText, progressBar, sanitizeLine } from "../terminal/terminal.ts"
import { diffCommand, forkCommand, replayCommand } from "./runs-fork.ts"
import { resumeCommand, retryCommand, signalCommand } from "./runs-resume.ts"
import { eventsCommand, showCommand, stateCommand, whyCommand } from "./runs-show.ts"

function runsCommand(cli: Cli): Command {
  const command = new Command()
    .description("List, inspect, pause, resume and remove the runs of a store.")
    .addHelpText("after", helpText("superstep runs"))
    .addCommand(listCommand(cli), { isDefault: true })
  const inspect = [showCommand, eventsCommand, stateCommand, whyCommand]
  const change = [
    pauseCommand,
    resumeCommand,
    signalCommand,
    cancelCommand,
    releaseCommand,
    retryCommand,
    forkCommand,
  ]
  const others = [replayCommand, diffCommand, rmCommand, salvageCommand]
  for (const below of [...inspect, ...change, ...others]) command.addCommand(below(cli))
  return command
}

export const commands = { runs: runsCommand }

// `superstep runs list`: the newest runs, one per line.

interface ListFlags extends OutputFlags, StoreFlags {
  readonly status?: readonly ShownStatus[] | undefined
  readonly workflow?: string | undefined
  readonly before?: string | undefined
  readonly since?: number | undefined
  readonly until?: number | undefined
  readonly limit: number
}

function listCommand(cli: Cli): Command {
  const command = new Command("list")
    .description("list the newest runs")
    .option(
      "--status <status>",
      `list only runs with this status: ${STATUSES.join(", ")}; repeatable`,
      parseStatus,
    )
    .option("--workflow <name>", "list only runs of this workflow")
    .option("--since <time>", "list only runs created at this time or later: 2h (ago), 2026-05-01", parseTime)
    .option("--until <time>", "list only runs created before this time", parseTime)
    .option("--before <run>", "list only runs older than this one, such as the last of a page")
    .option("--limit <n>", "list at most n runs", parseCount, 20)
    .action(onStore(cli, list))
  return complete(
    command,
    [storeFlags, outputFlags],
    "superstep runs list --status waiting,failed --limit 50",
  )
}

function parseStatus(text: string, before: readonly ShownStatus[] = []): readonly ShownStatus[] {
  const words = text.split(",").map((word) => word.trim())
  const wrong = words.find((word) => !STATUSES.includes(word as ShownStatus))
  if (wrong !== undefined) throw new InvalidArgumentError(`Write one of ${STATUSES.join(", ")}.`)
  return [...before, ...(words as ShownStatus[])]
}

async function list({ out, err }: Cli, store: OpenStore, flags: ListFlags): Promise<void> {
  const { status, workflow, since, until, limit, json, quiet } = flags
  const before = flags.before === undefined ? undefined : (await findRun(store, flags.before)).runId
  const created = since === undefined && until === undefined ? undefined : { from: since, until }
  const found = await runsOf(store, { status, workflow, created, before, limit: limit + 1 })
  const shown = found.slice(0, limit)
  if (json) {
    for await (const one of withFigures(store, shown)) out.line(jsonText(runData(one)))
    return
  }
  if (shown.length === 0) {
    const isAll = [status, workflow, created, before].every((filter) => filter === undefined)
    if (!quiet) err.line(isAll ? "There are no runs." : "No run matches.")
    return
  }
  const rows: string[][] = []
  const now = Date.now()
  for await (const one of withFigures(store, shown)) rows.push(cellsOf(one, now))
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
  const last = shown.at(-1)
  if (found.length <= limit || last === undefined || quiet) return
  err.line(err.paint.dim(`More results: --before ${typedId(last.runId)}, or --limit ${limit * 5}`))
}

type Query = Omit<NonNullable<Parameters<OpenStore["runs"]>[0]>, "status"> &
  Pick<ListFlags, "status"> & { readonly limit: number }

/** Stores do not know `stopped`: pages are read until enough runs have the status. */
async function runsOf(store: OpenStore, { status, ...query }: Query): Promise<StoredRun[]> {
  const stored = status && [...new Set(status.map((one) => (one === "stopped" ? "running" : one)))]
  const found: StoredRun[] = []
  let { before } = query
  for (;;) {
    const page = await ownRuns(store, { ...query, before, status: stored })
    for (const run of page) {
      if (status === undefined || status.includes(await shownStatus(store, run))) found.push(run)
    }
    before = page.at(-1)?.runId
    if (page.length < query.limit || found.length >= query.limit) return found.slice(0, query.limit)
  }
}

interface RunFigures {
  readonly status: ShownStatus
  readonly run: StoredRun
  readonly steps: number
  readonly usage: Usage
}

/** One at a time: the journals of many runs may be large. */
async function* withFigures(store: OpenStore, runs: readonly StoredRun[]): AsyncGenerator<RunFigures> {
  const known = new Map<string, NodeNames>()
  for (const run of runs) {
    const names = known.get(run.graph) ?? (await storedNames(store, run))
    known.set(run.graph, names)
    const view = await viewOf(store, run.runId).catch((error) => {
      // The run was removed in the meantime.
      if (isSuperstepError(error, "RUN_UNKNOWN")) return undefined
      throw error
    })
    if (view !== undefined)
      yield { run, status: await shownStatus(store, run), steps: stepsOf(view, names), usage: view.usage }
  }
}

function cellsOf({ run, status, steps, usage }: RunFigures, now: number): string[] {
  const { runId, workflow, createdAt } = run
  const figures = [age(now - createdAt), String(steps), shortTokens(usage), shortCost(usage)]
  return [shortId(runId), workflow, status, ...figures]
}

function runData({ run, status, ...figures }: RunFigures) {
  const { runId, workflow, createdAt, updatedAt, thread, key, labels, forkOf, pinned } = run
  const more = { thread, key, labels, forkOf, pinned }
  return { runId, workflow, status, createdAt, updatedAt, ...figures, ...more }
}

// `superstep runs salvage`: recovers what is readable of a damaged store into a new file.

interface SalvageFlags extends OutputFlags, StoreFlags {
  readonly to: string
}

function salvageCommand(cli: Cli): Command {
  const command = new Command("salvage")
    .description("recover what is readable of a damaged store into a new file")
    .requiredOption("--to <file>", "write the new store to this file, which must not exist")
    .action((flags: SalvageFlags) => salvage(cli, flags))
  return complete(
    command,
    [storeFlags, outputFlags],
    "superstep runs salvage --store sqlite:damaged.db --to recovered.db",
    "Intact runs are copied whole. A run with a damaged record is cut before that record and quarantined: releasing it repeats the work after the cut. The damaged file is not changed.",
  )
}

async function salvage(cli: Cli, flags: SalvageFlags): Promise<void> {
  const { out, io } = cli
  const { kind, path } = storeAddress(flags.store, io.cwd)
  if (kind === "postgres")
    throw usageError("Only a SQLite file can be salvaged. Restore the database from a backup.")
  if (path === undefined) throw usageError("There is nothing to recover in memory. Add --store sqlite:PATH.")
  const to = resolve(io.cwd, flags.to.replace(/^sqlite:/, ""))
  const { salvageStore } = await import("@superstep/store-sqlite/internal")
  const bar = progressBar(cli.err)
  const { whole, cut, lost, problems } = await salvageStore({
    from: path,
    to,
    keys: await storeKeys(io.env),
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

/** `superstep runs cancel`, `pause`, `release` and `rm` act on several runs at once, without their definitions. */

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

export function pauseCommand(cli: Cli): Command {
  return endCommand(cli, "pause", "pause runs, in whichever process they execute", pause)
    .option("--reason <text>", "record this reason")
    .addHelpText("after", helpText("superstep runs pause 4f2a91c0"))
}

const pause: Work = async (cli, store, ids, flags) => {
  await forEachRun(cli, store, await findRuns(store, ids), async (runtime, runId) => {
    await runtime.pause(runId, { reason: flags.reason })
    report(cli, flags, { runId, status: "paused" }, `Paused ${sanitizeLine(runId)}.`)
  })
}

export function releaseCommand(cli: Cli): Command {
  const description = "release quarantined runs: runs whose process died on every attempt"
  return endCommand(cli, "release", description, release).addHelpText(
    "after",
    helpText("superstep runs list --status quarantined"),
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
