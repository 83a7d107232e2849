/** `superstep runs show`, `events`, `state` and `why`: inspect one run. */
import {
  type ExplainedEdge,
  history,
  pastEvents,
  type RunEvent,
  Runtime,
  type StoredRun,
  why,
} from "@superstep/engine"
import { openRequests, openWaits, type RunView } from "@superstep/engine/protocol"
import { cutText } from "@superstep/engine/text"
import { Command } from "commander"
import { type Cli, EXIT } from "../cli.ts"
import {
  complete,
  type OutputFlags,
  outputFlags,
  parseCount,
  parseWhole,
  type StoreFlags,
  storeFlags,
} from "../flags.ts"
import { type OpenStore, onStore, storeFlagOf } from "../open/store.ts"
import { counted, duration } from "../print/figures.ts"
import { NO_NAMES, type NodeNames, shownTask, storedNames, taskPlace } from "../print/node-names.ts"
import { liveHolder, nodesOf, printRun, shownStatus, stepsOf, viewOf } from "../print/run-report.ts"
import { findRun } from "../run/find-run.ts"
import { clipped, jsonText, padded, sanitizeLine, type Terminal } from "../terminal/terminal.ts"

export const RUN_ID = "run id; a prefix or suffix is enough"

type ShowFlags = OutputFlags & StoreFlags

export function showCommand(cli: Cli): Command {
  const command = new Command("show")
    .description("show the status, the nodes, the usage and the outputs of a run")
    .argument("<run>", RUN_ID)
    .action(onStore(cli, show))
  return complete(command, [storeFlags, outputFlags], "superstep runs show 4f2a91c0")
}

async function show({ out }: Cli, store: OpenStore, id: string, flags: ShowFlags): Promise<void> {
  const run = await findRun(store, id)
  const view = await viewOf(store, run.runId)
  const slots = await store.slots.ofRun(run.runId)
  if (flags.json) {
    const steps = stepsOf(view, await storedNames(store, run))
    const status = await shownStatus(store, run)
    return out.line(jsonText({ ...runData(run, view), steps, slots, status }))
  }
  const holder = await liveHolder(store, run)
  const names = flags.verbose ? NO_NAMES : await storedNames(store, run)
  printRun(out, { run, view, holder, slots, now: Date.now(), storeFlag: storeFlagOf(flags), names })
}

function runData(run: StoredRun, view: RunView) {
  const { runId, workflow, status, createdAt, updatedAt, thread, key, labels, forkOf, pinned } = run
  const { startedAt, finishedAt, superstep: supersteps } = view
  const { input, error, outputs, state, usage, usageByAgent, usageByModel } = view
  return {
    ...{ runId, workflow, status, createdAt, updatedAt, thread, key, labels, forkOf, pinned },
    ...{ startedAt, finishedAt, supersteps },
    ...{ input, outputs, state, error, usage, usageByAgent, usageByModel },
    nodes: nodesOf(view, updatedAt),
    requests: openRequests(view),
    waits: openWaits(view),
  }
}

interface EventsFlags extends ShowFlags {
  readonly follow?: true | undefined
  readonly after: number
}

export function eventsCommand(cli: Cli): Command {
  const command = new Command("events")
    .description("print the events of a run; --follow attaches to a run in any process")
    .argument("<run>", RUN_ID)
    .option("--follow", "continue until the run ends")
    .option("--after <seq>", "print only events after this number", parseWhole, 0)
    .action(onStore(cli, events))
  return complete(
    command,
    [storeFlags, outputFlags],
    "superstep runs events 4f2a91c0 --follow --json | jq .type",
  )
}

async function events(cli: Cli, store: OpenStore, id: string, flags: EventsFlags): Promise<void> {
  const run = await findRun(store, id)
  const { runId } = run
  const { out } = cli
  const names = flags.json || flags.verbose ? NO_NAMES : await storedNames(store, run)
  const print = (event: RunEvent) => {
    if (flags.json) return out.line(jsonText(event))
    // A node that the author did not write matters if it failed.
    const isInternal = "node" in event && names.isInternal(event.node) && event.type !== "task.failed"
    if (!isInternal) out.line(eventLine(event, out, names))
  }
  if (flags.follow) return await follow(cli, store, runId, flags.after, print)
  for (const event of await pastEvents(store, runId, flags.after)) print(event)
}

/** Follows the run until it ends, or until Ctrl-C. Does not affect the run. */
async function follow(
  cli: Cli,
  store: OpenStore,
  runId: string,
  after: number,
  print: (event: RunEvent) => void,
): Promise<void> {
  const runtime = new Runtime({ store, workflows: [], recover: false })
  const stream = runtime.get(runId).events({ after })
  let stopListening: (() => void) | undefined
  const interrupted = new Promise<undefined>((resolve) => {
    stopListening = cli.io.onInterrupt(() => resolve(undefined))
  })
  try {
    for (;;) {
      const next = await Promise.race([stream.next(), interrupted])
      if (next === undefined) return cli.exit(EXIT.cancelled)
      if (next.done) return
      print(next.value)
    }
  } finally {
    stopListening?.()
    await runtime.close()
  }
}

interface StateFlags extends ShowFlags {
  readonly at?: number | undefined
}

export function stateCommand(cli: Cli): Command {
  const command = new Command("state")
    .description("print the shared state as JSON, now or after a superstep")
    .argument("<run>", RUN_ID)
    .option("--at <n>", "print the state after superstep n; 0 is the start", parseWhole)
    .action(onStore(cli, state))
  return complete(command, [storeFlags, outputFlags], "superstep runs state 4f2a91c0 --at 3")
}

async function state({ out, err }: Cli, store: OpenStore, id: string, flags: StateFlags): Promise<void> {
  const { runId, seq } = await findRun(store, id)
  const { stateAt } = await history(store, runId)
  const found = await stateAt(flags.at === undefined ? { seq } : { superstep: flags.at })
  if (flags.json) return out.line(jsonText(found))
  const { superstep, status, tasks, requests } = found
  if (!flags.quiet) {
    const more = [
      ...(tasks.length > 0 ? [counted(tasks.length, "active task")] : []),
      ...(requests.length > 0 ? [counted(requests.length, "open question")] : []),
    ]
    const when = flags.at === undefined ? `superstep ${superstep}` : `after superstep ${flags.at}`
    err.line(err.paint.dim([when, status, ...more].join(", ")))
  }
  out.line(jsonText(found.state, 2))
}

// An event of a run on one line: its time, its number, its type, where it happened, and its content.

/** `03:04:05.123    12  task.started  gen#1  …`, at most as wide as the terminal. */
export function eventLine(
  event: RunEvent,
  { width, paint }: Pick<Terminal, "width" | "paint">,
  names: NodeNames = NO_NAMES,
): string {
  const { at, seq, path, type } = event
  const time = new Date(at).toISOString().slice(11, 23)
  const head = `${time} ${String(seq).padStart(5)}  `
  const where = [
    ...path.map((place) => shownTask(place, names)),
    ...("node" in event && "task" in event ? [`${names.title(event.node)}#${event.task}`] : []),
  ].join(" > ")
  const rest = [where, contentOf(event, names)].filter((text) => text !== "").join("  ")
  const name = padded(type, 16)
  const room = width - head.length - name.length - 2
  return `${paint.dim(head)}${paint.bold(name)}  ${clipped(sanitizeLine(rest), room)}`.trimEnd()
}

function contentOf(event: RunEvent, { title }: NodeNames): string {
  switch (event.type) {
    case "run.started":
      // The workflow of steps that a definition has inside of a step has the id of that step.
      return `${event.path.length === 0 ? event.workflow : title(event.workflow)} with ${json(event.input)}`
    case "run.forked":
      return `from ${event.from.runId} at record ${event.from.seq}`
    case "run.finished":
      return event.error === undefined ? event.status : `${event.status}: ${event.error.message}`
    case "limit.reached":
      return event.goesTo === undefined
        ? event.error.message
        : `${event.error.message} → ${title(event.goesTo)}`
    case "superstep.started":
      return `${event.superstep}, ${event.tasks} to run`
    case "superstep.committed":
      return String(event.superstep)
    case "task.started":
      return `${event.attempt > 1 ? `attempt ${event.attempt} ` : ""}${json(event.input)}`
    case "task.finished":
      return event.sends.map(({ value }) => json(value)).join(", ")
    case "task.failed":
      return event.retryAt === undefined
        ? event.error.message
        : `${event.error.message} (retry in ${duration(event.retryAt - event.at)})`
    case "task.parked":
      return `waits for ${event.wait.kind === "request" ? `answer ${event.wait.request}` : `a ${event.wait.kind}`}`
    case "task.rejected":
      return event.reason
    case "step.recorded":
      return `${event.key} = ${json(event.value)}`
    case "usage.recorded":
      return json(event.usage)
    case "message.undelivered":
      return `${event.from === undefined ? "the start" : title(event.from)} → ${event.to === undefined ? "nobody" : title(event.to)}: ${event.reason}`
    case "join.waiting":
      return `${title(event.node)} waits for ${event.missing.map(title).join(", ")}`
    case "state.written":
      return `${event.key} ${event.reducer} ${json(event.value)}`
    case "output":
      return json(event.value)
    case "request.opened":
    case "request.escalated":
      return `${event.request.id}${event.request.to === undefined ? "" : ` to ${event.request.to}`}: ${event.request.prompt}`
    case "request.answered":
      return `${event.request}${event.by === undefined ? "" : ` by ${event.by}`}: ${json(event.value)}`
    case "request.closed":
      return `${event.request} ${event.reason}`
    case "custom":
      return `${event.name} ${event.data === undefined ? "" : json(event.data)}`
    case "log":
      return `${event.level}: ${event.message}`
    case "live.gap":
      return event.lost === undefined ? "live events are missing" : `${event.lost} live events are missing`
    default:
      return ""
  }
}

/** A line shows only the beginning. */
function json(value: unknown): string {
  return cutText(typeof value === "string" ? value : (JSON.stringify(value) ?? ""), 200)
}

// `superstep runs why`: where the messages of a task went, edge by edge, and why.

interface WhyFlags extends OutputFlags, StoreFlags {
  readonly path?: readonly string[] | undefined
}

export function whyCommand(cli: Cli): Command {
  const command = new Command("why")
    .description("show where the messages of a task went, and why")
    .argument("<run>", RUN_ID)
    .argument("<task>", "the number of the task, as `superstep runs events` shows it: node#task", parseCount)
    .option(
      "--path <node#task>",
      "look in this sub-workflow; repeat it for deeper ones",
      (part: string, before: readonly string[] = []) => [...before, part],
    )
    .action(onStore(cli, explain))
  return complete(command, [storeFlags, outputFlags], "superstep runs why 4f2a91c0 3")
}

async function explain(
  { out, err }: Cli,
  store: OpenStore,
  id: string,
  task: number,
  flags: WhyFlags,
): Promise<void> {
  const run = await findRun(store, id)
  const names = await storedNames(store, run)
  const path = flags.path?.map((shown) => taskPlace(shown, names))
  const found = await why(store, run.runId, task, { path })
  if (flags.json) return out.line(jsonText(found))
  const { title } = flags.verbose ? NO_NAMES : names
  const name = sanitizeLine(`${title(found.node)}#${task}`)
  if (found.error !== undefined) err.line(`${name} failed: ${sanitizeLine(found.error.message)}`)
  if (found.seq === undefined) return err.line(`${name} has not ended: it has sent no message yet.`)
  for (const { condition, holds, operands } of found.conditions ?? []) {
    out.line(sanitizeLine(`${condition}: ${holds}`))
    for (const { text, value } of operands) {
      out.line(
        out.paint.dim(
          `    ${sanitizeLine(`${text} = ${value === undefined ? "missing" : jsonText(value)}`)}`,
        ),
      )
    }
  }
  for (const { value, isOutput, undelivered, edges } of found.messages) {
    const text = sanitizeLine(jsonText(value))
    out.line(out.paint.bold(flags.verbose ? text : clipped(text, out.width)))
    for (const edge of edges) out.line(`  ${edge.taken ? "→" : " "} ${sanitizeLine(edgeText(edge, title))}`)
    if (isOutput) out.line("  → output")
    if (undelivered !== undefined) out.line(`    not delivered: ${sanitizeLine(undelivered)}`)
  }
}

function edgeText({ to, label, reason }: ExplainedEdge, title: NodeNames["title"]): string {
  return `${to === undefined ? "output" : title(to)}${label === undefined ? "" : ` [${label}]`}: ${reason}`
}
