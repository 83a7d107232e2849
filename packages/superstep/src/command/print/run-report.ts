/** `runs show`: prints the status of a run, its nodes, its usage, open questions, outputs and its error. */
import {
  type Holder,
  type Json,
  pastEvents,
  processOf,
  type Store,
  type StoredRun,
  type StoredSlot,
  type StoredStatus,
  type Usage,
} from "@superstep/engine"
import { addUsage } from "@superstep/engine/core"
import {
  emptyView,
  foldEvents,
  openRequests,
  openWaits,
  type RunView,
  tasksOf,
  type WorkflowView,
} from "@superstep/engine/protocol"
import { cutText } from "@superstep/engine/text"
import { typedId } from "../run/find-run.ts"
import {
  clipped,
  jsonText,
  type Paint,
  printText,
  sanitize,
  sanitizeLine,
  shellWord,
  type Terminal,
} from "../terminal/terminal.ts"
import { age, counted, duration, printTable, shortCost, shortTokens, spent } from "./figures.ts"
import { NO_NAMES, type NodeNames } from "./node-names.ts"
import { askedAt, printQuestion } from "./question.ts"

export interface RunReport {
  readonly run: StoredRun
  readonly view: RunView
  /** The live process that executes the run. */
  readonly holder?: Holder | undefined
  /** What its nodes have or wait for, of limits across runs. */
  readonly slots: readonly StoredSlot[]
  readonly now: number
  /** ` --store …`, unless the store is the default one. */
  readonly storeFlag: string
  /** `NO_NAMES` shows ids, and all nodes. */
  readonly names: NodeNames
}

const MAX_NODES = 50
const MAX_INPUT = 200
const MAX_TEXT = 4_000

export function printRun(out: Terminal, report: RunReport): void {
  const { view, now } = report
  printHead(out, report)
  const nodes = nodesOf(view, now, report.names)
  if (nodes.length > 0) {
    heading(out, "Nodes")
    const rows = nodes.slice(0, MAX_NODES).map(({ name, times, status, took, usage }) => {
      return [name, String(times), status, duration(took), shortTokens(usage), shortCost(usage)]
    })
    printTable(
      out,
      [
        { title: "NODE", canShrink: true },
        { title: "TIMES", align: "right" },
        { title: "STATUS" },
        { title: "TIME", align: "right" },
        { title: "TOKENS", align: "right" },
        { title: "COST", align: "right" },
      ],
      rows,
      "  ",
    )
    if (nodes.length > MAX_NODES) out.line(`  … and ${counted(nodes.length - MAX_NODES, "more node")}`)
  }
  printUsage(out, "Agents", view.usageByAgent)
  printUsage(out, "Models", view.usageByModel)
  printEnd(out, report)
}

function printHead(out: Terminal, { run, view, holder, slots, now, names }: RunReport): void {
  const { startedAt = run.createdAt, finishedAt, superstep } = view
  const { forkOf, labels, thread, pinned } = run
  const isStopped = run.status === "running" && holder === undefined
  const began = new Date(startedAt).toISOString().replace("T", " ").slice(0, 19)
  const took = finishedAt === undefined ? "" : `; took ${duration(finishedAt - startedAt)}`
  const steps = [counted(stepsOf(view, names), "step"), counted(superstep, "superstep")]
  const { input } = view
  out.line(
    `${out.paint.bold(`Run ${sanitizeLine(run.runId)}`)}: ${paintStatus(isStopped ? "stopped" : run.status, out.paint)}`,
  )
  printFacts(out, [
    ["workflow", run.workflow],
    ["started", `${began} UTC, ${age(now - startedAt)} ago${took}`],
    ["steps", steps.join(" in ")],
    ["used", [...spent(view.usage), ...calls(view.usage)].join(", ") || undefined],
    ["input", input === undefined ? undefined : clipped(sanitizeLine(textOf(input)), MAX_INPUT)],
    ["file", labels?.file],
    ["thread", thread],
    ["fork of", forkOf && `${forkOf.runId}, at record ${forkOf.seq}`],
    ["process", holder ? `${holder.pid} on ${machineOf(holder)}` : isStopped ? "none" : undefined],
    ...slots.filter(({ taken }) => !taken).map((slot) => ["waits for", waitText(slot, names)] as const),
    ["kept", pinned ? "pinned: never pruned" : undefined],
  ])
}

/** `a slot of job/fetch (concurrency acme) for node fetch, after 3 others`. */
function waitText({ node, pool, lanes, ahead }: StoredSlot, { title }: NodeNames): string {
  const after = ahead === 0 ? "next in line" : `after ${counted(ahead, "other")}`
  return `a slot of ${pool} (${lanes.join(", ")}) for node ${title(node)}, ${after}`
}

/** Names and values in two columns. */
export function printFacts(out: Terminal, facts: readonly (readonly [string, string | undefined])[]): void {
  for (const [name, text] of facts) {
    const label = `  ${out.paint.dim(name.padEnd(9))} `
    if (text !== undefined) printText(out, sanitizeLine(text), { label })
  }
}

function textOf(value: Json, indent?: number): string {
  return typeof value === "string" ? value : jsonText(value, indent)
}

function calls({ modelCalls = 0, toolCalls = 0 }: Usage): string[] {
  return [
    ...(modelCalls > 0 ? [counted(modelCalls, "model call")] : []),
    ...(toolCalls > 0 ? [counted(toolCalls, "tool call")] : []),
  ]
}

function printUsage(out: Terminal, title: string, usages: Readonly<Record<string, Usage>>): void {
  const entries = Object.entries(usages)
  if (entries.length === 0) return
  heading(out, title)
  printTable(
    out,
    [
      { title: title.slice(0, -1).toUpperCase(), canShrink: true },
      { title: "CALLS", align: "right" },
      { title: "TOKENS", align: "right" },
      { title: "COST", align: "right" },
    ],
    entries.map(([name, usage]) => {
      return [name, String(usage.modelCalls ?? 0), shortTokens(usage), shortCost(usage)]
    }),
    "  ",
  )
}

function printEnd(out: Terminal, { run, view, holder, now, storeFlag, names }: RunReport): void {
  const { dim, red } = out.paint
  const requests = openRequests(view)
  if (requests.length > 0) heading(out, "Questions")
  for (const request of requests) {
    printQuestion(out, { ...request, node: askedAt(request, names), runId: run.runId }, { now, storeFlag })
  }
  const waits = openWaits(view)
  if (waits.length > 0) heading(out, "Waits for signals")
  for (const { name, deadline } of waits) {
    const until = deadline === undefined ? "" : ` until ${new Date(deadline).toISOString()}`
    printText(out, sanitize(`${name}${until}`), { indent: 2 })
    out.line(dim(`    superstep runs signal ${typedId(run.runId)} ${shellWord(name)} JSON${storeFlag}`))
  }
  if (view.outputs.length > 0) heading(out, "Outputs")
  for (const output of view.outputs) printValue(out, output)
  const { error } = view
  const isIdle = holder === undefined && requests.length + waits.length === 0
  if (isIdle && (run.status === "running" || run.status === "waiting")) {
    out.line()
    out.line(dim(`Resume it: superstep runs resume ${typedId(run.runId)}${storeFlag}`))
  }
  if (run.status === "queued") {
    const { queue = "default", tenant, expiresAt } = run.flow ?? {}
    const by = [`queue ${queue}`, ...(tenant === undefined ? [] : [`tenant ${tenant}`])].join(", ")
    const until = run.wakeAt === undefined ? "" : ` Starts after ${new Date(run.wakeAt).toISOString()}.`
    const end = expiresAt === undefined ? "" : ` Expires at ${new Date(expiresAt).toISOString()}.`
    out.line()
    printText(out, sanitize(`Queued (${by}): a worker executes it.${until}${end}`), { indent: 0, paint: dim })
  }
  if (run.status === "paused") {
    const { reason, by } = view.pause ?? {}
    const who = by === undefined ? "" : ` by ${by}`
    out.line()
    printText(out, sanitize(`Paused${who}${reason === undefined ? "." : `: ${reason}`}`), { indent: 0 })
    out.line(dim(`Resume it: superstep runs resume ${typedId(run.runId)}${storeFlag}`))
  }
  if (run.status === "quarantined") {
    heading(out, "Quarantined")
    const why = `The last ${run.takeovers} processes died while they executed this run, and it made no progress in between.`
    printText(out, why, { indent: 2, paint: red })
    out.line(
      dim(`  Find the cause, then release it: superstep runs release ${typedId(run.runId)}${storeFlag}`),
    )
  }
  if (error === undefined) return
  heading(out, "Error")
  const isNamed = error.node !== undefined && !names.isInternal(error.node)
  const where = isNamed ? ` (at node "${names.title(error.node)}")` : ""
  printText(out, sanitize(`${error.code}: ${error.message}${where}`), { indent: 2, paint: red })
  if (run.status === "failed") {
    out.line(dim(`  Retry from there: superstep runs retry ${typedId(run.runId)}${storeFlag}`))
  }
}

function printValue(out: Terminal, value: Json): void {
  const whole = typeof value === "string" ? sanitize(value) : textOf(value, 2)
  const text = whole.length > MAX_TEXT ? `${cutText(whole, MAX_TEXT)}… (in full: --json)` : whole
  printText(out, text, { indent: 2 })
}

function heading(out: Terminal, text: string): void {
  out.line()
  out.line(out.paint.bold(text))
}

/** The status of a stored run and of its nodes, read from the store only. */

/** `stopped`: the run is stored as running, and no live process executes it. */
export type ShownStatus = StoredStatus | "stopped"

/** In the order of the list. */
const COLORS: Readonly<Record<ShownStatus, keyof Paint>> = {
  queued: "dim",
  running: "bold",
  waiting: "magenta",
  paused: "magenta",
  quarantined: "red",
  completed: "green",
  failed: "red",
  cancelled: "dim",
  limit: "red",
  stopped: "red",
}

export const STATUSES = Object.keys(COLORS) as readonly ShownStatus[]

export function paintStatus(status: string, paint: Paint): string {
  const color = COLORS[status as ShownStatus]
  return color === undefined ? status : paint[color](status)
}

/**
 * The process that executes a run, as far as it is visible from here. A process that claims the run checks more closely.
 */
export async function liveHolder(
  store: Pick<Store, "holders">,
  { holder: id }: StoredRun,
): Promise<Holder | undefined> {
  if (id === undefined) return undefined
  const holder = (await store.holders()).find((one) => one.id === id)
  return holder === undefined || processOf(holder) === "gone" ? undefined : holder
}

export async function shownStatus(store: Pick<Store, "holders">, run: StoredRun): Promise<ShownStatus> {
  if (run.status !== "running") return run.status
  return (await liveHolder(store, run)) === undefined ? "stopped" : "running"
}

/** The machine's name, without the suffix for processes that cannot see each other. */
export function machineOf({ machine }: Holder): string {
  return machine.split(" ", 1)[0] as string
}

export async function viewOf(store: Store, runId: string): Promise<RunView> {
  return foldEvents(emptyView(), await pastEvents(store, runId))
}

/** Visits of the author's nodes, including those of nested workflows. */
export function stepsOf(view: WorkflowView, names: NodeNames): number {
  return tasksOf(view).reduce(
    (sum, { node, calls }) =>
      calls.reduce((below, call) => below + stepsOf(call, names), sum + (names.isInternal(node) ? 0 : 1)),
    0,
  )
}

export interface NodeOverview {
  /** Includes the nodes that called its workflow: `outer > inner`. */
  readonly name: string
  readonly times: number
  /** The status of the last visit. */
  readonly status: string
  /** Milliseconds of execution and waiting, over all visits. Open visits count until now. */
  readonly took: number
  readonly usage: Usage
}

/** In the order of the first visit. */
export function nodesOf(
  view: WorkflowView,
  now: number,
  names: NodeNames = NO_NAMES,
  above = "",
): readonly NodeOverview[] {
  const nodes = new Map<string, NodeOverview>()
  const below = new Map<string, NodeOverview>()
  for (const { node, status, startedAt, finishedAt, calls } of tasksOf(view)) {
    const known = nodes.get(node)
    // A node that only connects others matters if it failed.
    const isShown = !names.isHidden(node) || status === "failed"
    if (isShown)
      nodes.set(node, {
        name: above + names.title(node),
        times: (known?.times ?? 0) + 1,
        status,
        took: (known?.took ?? 0) + (finishedAt ?? now) - startedAt,
        usage: view.usageByNode[node] ?? {},
      })
    // A workflow that was called several times lists each of its nodes once.
    for (const one of calls.flatMap((call) => nodesOf(call, now, names, `${above}${names.title(node)} > `))) {
      const { times = 0, took = 0, usage = {} } = below.get(one.name) ?? {}
      const sum = { times: times + one.times, took: took + one.took, usage: addUsage(usage, one.usage) }
      below.set(one.name, { ...one, ...sum })
    }
  }
  return [...nodes.values(), ...below.values()]
}
