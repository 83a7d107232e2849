/** `runs show`: the status of a run, its nodes, its usage, open questions, outputs and its error. */
import type { Holder, Json, StoredRun, Usage } from "@superstep/engine"
import { openRequests, type RunView } from "@superstep/engine/protocol"
import { cutText } from "@superstep/engine/text"
import { typedId } from "../run/find-run.ts"
import { clipped, jsonText, printText, sanitize, sanitizeLine, type Terminal } from "../terminal/terminal.ts"
import { age, counted, duration, shortCost, shortTokens, spent } from "./figures.ts"
import { printQuestion } from "./question.ts"
import { machineOf, nodesOf, paintStatus, stepsOf } from "./run-overview.ts"
import { printTable } from "./table.ts"

export interface RunReport {
  readonly run: StoredRun
  readonly view: RunView
  /** The living process that executes it. */
  readonly holder?: Holder | undefined
  readonly now: number
  /** ` --store …`, unless the store is the default one. */
  readonly storeFlag: string
}

const MAX_NODES = 50
const MAX_INPUT = 200
const MAX_TEXT = 4_000

export function printRun(out: Terminal, report: RunReport): void {
  const { view, now } = report
  printHead(out, report)
  const nodes = nodesOf(view, now)
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

function printHead(out: Terminal, { run, view, holder, now }: RunReport): void {
  const { startedAt = run.createdAt, finishedAt, superstep } = view
  const { forkOf, labels, thread, pinned } = run
  const isStopped = run.status === "running" && holder === undefined
  const began = new Date(startedAt).toISOString().replace("T", " ").slice(0, 19)
  const took = finishedAt === undefined ? "" : `; took ${duration(finishedAt - startedAt)}`
  const steps = [counted(stepsOf(view), "step"), counted(superstep, "superstep")]
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
    ["kept", pinned ? "pinned: never pruned" : undefined],
  ])
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

function printEnd(out: Terminal, { run, view, holder, now, storeFlag }: RunReport): void {
  const { dim, red } = out.paint
  const requests = openRequests(view)
  if (requests.length > 0) heading(out, "Questions")
  for (const request of requests) printQuestion(out, { ...request, runId: run.runId }, { now, storeFlag })
  if (view.outputs.length > 0) heading(out, "Outputs")
  for (const output of view.outputs) printValue(out, output)
  const { error } = view
  const isIdle = holder === undefined && requests.length === 0
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
  const where = error.node === undefined ? "" : ` (at node "${error.node}")`
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
