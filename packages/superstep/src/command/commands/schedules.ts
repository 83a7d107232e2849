/** `superstep schedules`: lists, inspects and changes the schedules of a store, without their workflows. */
import { Runtime, type ScheduleInfo, type Schedules } from "@superstep/engine"
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import {
  complete,
  helpText,
  type OutputFlags,
  outputFlags,
  parseCount,
  parseTime,
  type StoreFlags,
  storeFlags,
} from "../flags.ts"
import { type OpenStore, onStore } from "../open/store.ts"
import { age, counted, printTable } from "../print/figures.ts"
import { shortId } from "../run/find-run.ts"
import { confirmed } from "../terminal/ask-person.ts"
import { jsonText, sanitizeLine } from "../terminal/terminal.ts"

type Flags = OutputFlags & StoreFlags

function schedulesCommand(cli: Cli): Command {
  const command = new Command()
    .description("List, inspect and change the schedules of a store.")
    .addHelpText("after", helpText("superstep schedules"))
    .addCommand(listCommand(cli), { isDefault: true })
  const others = [showCommand, previewCommand, pauseCommand, resumeCommand, triggerCommand, backfillCommand]
  for (const below of [...others, deleteCommand]) command.addCommand(below(cli))
  return command
}

export const commands = { schedules: schedulesCommand }

/** The action of a command on the store's schedules. */
function onSchedules<Args extends unknown[]>(
  cli: Cli,
  work: (schedules: Schedules, ...args: Args) => Promise<void>,
): (...args: unknown[]) => Promise<void> {
  return onStore(cli, async (_: Cli, store: OpenStore, ...args: Args) => {
    const runtime = new Runtime({ store, workflows: [], recover: false })
    try {
      await work(runtime.schedules, ...args)
    } finally {
      await runtime.close()
    }
  })
}

const ID = "the id of a schedule, as superstep schedules lists it"

interface ListFlags extends Flags {
  readonly workflow?: string | undefined
  readonly limit: number
}

function listCommand(cli: Cli): Command {
  const command = new Command("list")
    .description("list schedules, with their next time")
    .option("--workflow <name>", "list only schedules of this workflow")
    .option("--limit <n>", "list at most n schedules", parseCount, 100)
    .action(onSchedules(cli, (schedules, flags: ListFlags) => list(cli, schedules, flags)))
  return complete(command, [storeFlags, outputFlags], "superstep schedules list --workflow report")
}

async function list({ out, err }: Cli, schedules: Schedules, flags: ListFlags): Promise<void> {
  const { workflow, limit, json, quiet } = flags
  const found = await schedules.list({ workflow, limit })
  if (json) {
    for (const one of found) out.line(jsonText(one))
    return
  }
  if (found.length === 0) {
    if (!quiet) err.line(workflow === undefined ? "There are no schedules." : "No schedule matches.")
    return
  }
  const now = Date.now()
  printTable(
    out,
    [
      { title: "ID", canShrink: true },
      { title: "WHEN", canShrink: true },
      { title: "STATUS" },
      { title: "NEXT" },
      { title: "LAST" },
    ],
    found.map((one) => [one.id, whenOf(one), statusOf(one), nextOf(one, now), lastOf(one, now)]),
  )
}

/** `0 9 * * 1-5 Europe/Berlin`, `every 90s`, `2026-12-24 17:00:00`. */
function whenOf({ cron, timeZone, every, at }: ScheduleInfo): string {
  if (cron !== undefined) return `${cron} ${timeZone}`
  return every === undefined ? shownTime(at as number) : `every ${shownSpan(every)}`
}

function shownSpan(milliseconds: number): string {
  const units = [
    [3_600_000, "h"],
    [60_000, "m"],
    [1_000, "s"],
  ] as const
  const [size, unit] = units.find(([one]) => milliseconds % one === 0) ?? [1, "ms"]
  return `${milliseconds / size}${unit}`
}

function statusOf({ isPaused, nextAt }: ScheduleInfo): string {
  if (isPaused) return "paused"
  return nextAt === undefined ? "finished" : "active"
}

function nextOf({ nextAt }: ScheduleInfo, now: number): string {
  if (nextAt === undefined) return "-"
  return nextAt <= now ? "due" : `in ${age(nextAt - now)}`
}

function lastOf({ last }: ScheduleInfo, now: number): string {
  return last === undefined ? "-" : `${last.outcome} ${age(now - last.at)} ago`
}

/** In UTC. */
function shownTime(time: number): string {
  return `${new Date(time).toISOString().replace("T", " ").slice(0, 19)}Z`
}

function showCommand(cli: Cli): Command {
  const command = new Command("show")
    .description("show a schedule: when it runs, with what, and what happened last")
    .argument("<id>", ID)
    .action(onSchedules(cli, (schedules, id: string, flags: Flags) => show(cli, schedules, id, flags)))
  return complete(command, [storeFlags, outputFlags], "superstep schedules show report/daily")
}

async function show({ out }: Cli, schedules: Schedules, id: string, flags: Flags): Promise<void> {
  // Rejects if there is none.
  const times = await schedules.preview(id, 1)
  const info = (await schedules.get(id)) as ScheduleInfo
  if (flags.json) return out.line(jsonText(info))
  const { workflow, overlap, catchUp, maxCatchUp, jitter, input, labels, last, missed, pending } = info
  const { queue, tenant, priority } = info
  const lines: [string, string | undefined][] = [
    ["workflow", workflow],
    ["when", whenOf(info)],
    ["status", statusOf(info)],
    ["next", info.nextAt === undefined ? undefined : shownTime(times[0]?.plannedAt ?? info.nextAt)],
    ["overlap", overlap],
    ["catch-up", catchUp === "all" ? `all, at most ${maxCatchUp}` : catchUp],
    ["jitter", jitter === 0 ? undefined : `up to ${shownSpan(jitter)}`],
    ["queue", queue],
    ["tenant", tenant],
    ["priority", priority === undefined ? undefined : String(priority)],
    [
      "labels",
      labels &&
        Object.entries(labels)
          .map(([name, value]) => `${name}=${value}`)
          .join(" "),
    ],
    ["input", jsonText(input)],
    ["pending", pending === 0 ? undefined : `${counted(pending, "run")} for a worker to create`],
    ["last", last && lastLine(last)],
    ["missed", missed && `${shownTime(missed.from)} to ${shownTime(missed.to)}`],
  ]
  out.line(sanitizeLine(id))
  for (const [name, text] of lines) {
    if (text !== undefined) out.line(`  ${name.padEnd(10)}${sanitizeLine(text)}`)
  }
}

function lastLine({ plannedAt, at, outcome, runId, error }: NonNullable<ScheduleInfo["last"]>): string {
  const run = runId === undefined ? "" : ` run ${shortId(runId)}`
  const why = error === undefined ? "" : `: ${error.message}`
  return `${outcome}${run} at ${shownTime(at)}${plannedAt === undefined ? ", triggered" : ""}${why}`
}

interface PreviewFlags extends Flags {
  readonly count: number
}

function previewCommand(cli: Cli): Command {
  const command = new Command("preview")
    .description("print the next times of a schedule, in UTC")
    .argument("<id>", ID)
    .option("--count <n>", "print n times", parseCount, 10)
    .action(
      onSchedules(cli, (schedules, id: string, flags: PreviewFlags) => preview(cli, schedules, id, flags)),
    )
  return complete(command, [storeFlags, outputFlags], "superstep schedules preview report/daily --count 5")
}

async function preview({ out }: Cli, schedules: Schedules, id: string, flags: PreviewFlags): Promise<void> {
  for (const time of await schedules.preview(id, flags.count)) {
    const { plannedAt, startsAt } = time
    const delay = startsAt === plannedAt ? "" : ` + ${age(startsAt - plannedAt)}`
    out.line(flags.json ? jsonText(time) : `${shownTime(plannedAt)}${delay}`)
  }
}

function pauseCommand(cli: Cli): Command {
  const command = new Command("pause")
    .description("pause a schedule: it starts nothing until it is resumed")
    .argument("<id>", ID)
    .action(
      onSchedules(cli, async (schedules, id: string, flags: Flags) => {
        const info = await schedules.pause(id)
        report(cli, flags, info, `Paused ${sanitizeLine(id)}.`)
      }),
    )
  return complete(command, [storeFlags, outputFlags], "superstep schedules pause report/daily")
}

function resumeCommand(cli: Cli): Command {
  const command = new Command("resume")
    .description("resume a paused schedule, from now on")
    .argument("<id>", ID)
    .action(
      onSchedules(cli, async (schedules, id: string, flags: Flags) => {
        const info = await schedules.resume(id)
        const next =
          info.nextAt === undefined ? "It has no further time." : `Next: ${shownTime(info.nextAt)}.`
        report(cli, flags, info, `Resumed ${sanitizeLine(id)}. ${next}`)
      }),
    )
  return complete(command, [storeFlags, outputFlags], "superstep schedules resume report/daily")
}

function triggerCommand(cli: Cli): Command {
  const command = new Command("trigger")
    .description("ask for a run now, and print its id: a worker creates it")
    .argument("<id>", ID)
    .action(
      onSchedules(cli, async (schedules, id: string, flags: Flags) => {
        const runId = await schedules.trigger(id)
        cli.out.line(flags.json ? jsonText({ id, runId }) : runId)
      }),
    )
  return complete(command, [storeFlags, outputFlags], "superstep schedules trigger report/daily")
}

interface BackfillFlags extends Flags {
  readonly from: number
  readonly to: number
}

function backfillCommand(cli: Cli): Command {
  const command = new Command("backfill")
    .description("ask for a run of every past time in a range that has none")
    .argument("<id>", ID)
    .requiredOption("--from <time>", "begin at this time: 2026-01-31T08:00:00Z", parseTime)
    .requiredOption("--to <time>", "end before this time", parseTime)
    .action(
      onSchedules(cli, async (schedules, id: string, flags: BackfillFlags) => {
        const times = await schedules.backfill(id, flags)
        const text = `${counted(times.length, "time")} of ${sanitizeLine(id)}: a worker creates the runs.`
        report(cli, flags, { id, times }, text)
      }),
    )
  return complete(
    command,
    [storeFlags, outputFlags],
    "superstep schedules backfill report/daily --from 2026-01-01 --to 2026-01-08",
  )
}

interface DeleteFlags extends Flags {
  readonly yes?: true | undefined
}

function deleteCommand(cli: Cli): Command {
  const command = new Command("delete")
    .description("delete a schedule; its runs stay")
    .argument("<id>", ID)
    .option("--yes", "do not ask for confirmation")
    .action(
      onSchedules(cli, async (schedules, id: string, flags: DeleteFlags) => {
        await schedules.preview(id, 1)
        if (!(await confirmed(cli, `Delete schedule ${sanitizeLine(id)}?`, flags.yes))) return
        await schedules.delete(id)
        report(cli, flags, { id, deleted: true }, `Deleted ${sanitizeLine(id)}.`)
      }),
    )
  return complete(
    command,
    [storeFlags, outputFlags],
    "superstep schedules delete report/daily --yes",
    "A schedule that a file declares is stored again when a worker opens the file. Remove it from the file, or pause it.",
  )
}

function report({ out, err }: Cli, { json, quiet }: Flags, data: object, text: string): void {
  if (json) out.line(jsonText(data))
  else if (!quiet) err.line(text)
}
