/** A run as people read it: how it stands, its nodes, who used what, open questions, outputs, its error. */
import type { Holder, Json, StoredRun, Usage } from "@superstep/engine"
import { openRequests, type RunView } from "@superstep/engine/protocol"
import { age, shortCost, shortTokens } from "./amounts.ts"
import { counted, duration, spent } from "./figures.ts"
import { typedId } from "./find-run.ts"
import { jsonText } from "./json-line.ts"
import { machineOf } from "./living-holder.ts"
import { printQuestion } from "./question-text.ts"
import { nodesOf, stepsOf } from "./run-overview.ts"
import { paintStatus } from "./status-paint.ts"
import { printTable } from "./table.ts"
import { clipped, foreign, foreignLine, type Terminal, wrapped } from "./terminal.ts"

export interface RunReport {
  readonly run: StoredRun
  readonly view: RunView
  /** The process that has it, and is alive. */
  readonly holder?: Holder | undefined
  readonly now: number
  /** ` --store …`, where the store is not the usual one. */
  readonly storeFlag: string
}

const MOST_NODES = 50
const MOST_INPUT = 200
const MOST_TEXT = 4_000

export function printRun(out: Terminal, report: RunReport): void {
  const { view, now } = report
  printStanding(out, report)
  const nodes = nodesOf(view, now)
  if (nodes.length > 0) {
    heading(out, "Nodes")
    const rows = nodes.slice(0, MOST_NODES).map(({ name, times, status, took, usage }) => {
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
    if (nodes.length > MOST_NODES) out.line(`  … and ${counted(nodes.length - MOST_NODES, "more node")}`)
  }
  printUsage(out, "Agents", "AGENT", view.usageByAgent)
  printUsage(out, "Models", "MODEL", view.usageByModel)
  printEnd(out, report)
}

function printStanding(out: Terminal, { run, view, holder, now }: RunReport): void {
  const { startedAt = run.createdAt, finishedAt, superstep } = view
  const { forkOf, labels, thread, pinned } = run
  const standing = run.status === "running" && holder === undefined ? "stopped" : run.status
  const began = new Date(startedAt).toISOString().replace("T", " ").slice(0, 19)
  const took = finishedAt === undefined ? "" : `; it took ${duration(finishedAt - startedAt)}`
  const steps = [counted(stepsOf(view), "step"), counted(superstep, "superstep")]
  const facts: [string, string | undefined][] = [
    ["workflow", run.workflow],
    ["started", `${began} UTC, ${age(now - startedAt)} ago${took}`],
    ["steps", steps.join(" in ")],
    ["used", [...spent(view.usage), ...calls(view.usage)].join(", ") || undefined],
    ["input", view.input === undefined ? undefined : clipped(wordsOf(view.input), MOST_INPUT)],
    ["file", labels?.file],
    ["thread", thread],
    ["fork of", forkOf && `${forkOf.runId}, at record ${forkOf.seq}`],
    ["at work", holder ? `in process ${holder.pid} on ${machineOf(holder)}` : atWorkNowhere(run)],
    ["kept", pinned ? "pinned: it is never pruned" : undefined],
  ]
  out.line(`${out.paint.bold(`Run ${foreignLine(run.runId)}`)}: ${paintStatus(standing, out.paint)}`)
  for (const [name, text] of facts) {
    if (text === undefined) continue
    const [first = "", ...more] = wrapped(foreignLine(text), out.width - 12)
    out.line(`  ${out.paint.dim(name.padEnd(9))} ${first}`)
    for (const line of more) out.line(`            ${line}`)
  }
}

function atWorkNowhere({ status }: StoredRun): string | undefined {
  return status === "running" ? "nowhere: no process has it" : undefined
}

/** On a line. */
function wordsOf(value: Json): string {
  return foreignLine(typeof value === "string" ? value : jsonText(value))
}

function calls({ modelCalls = 0, toolCalls = 0 }: Usage): string[] {
  return [
    ...(modelCalls > 0 ? [counted(modelCalls, "model call")] : []),
    ...(toolCalls > 0 ? [counted(toolCalls, "tool call")] : []),
  ]
}

function printUsage(
  out: Terminal,
  title: string,
  column: string,
  usages: Readonly<Record<string, Usage>>,
): void {
  const entries = Object.entries(usages)
  if (entries.length === 0) return
  heading(out, title)
  printTable(
    out,
    [
      { title: column, canShrink: true },
      { title: "CALLS", align: "right" },
      { title: "TOKENS", align: "right" },
      { title: "COST", align: "right" },
    ],
    entries.map(([name, usage]) => [
      name,
      String(usage.modelCalls ?? 0),
      shortTokens(usage),
      shortCost(usage),
    ]),
    "  ",
  )
}

function printEnd(out: Terminal, { run, view, holder, now, storeFlag }: RunReport): void {
  const requests = openRequests(view)
  if (requests.length > 0) heading(out, "Questions")
  for (const request of requests) printQuestion(out, { ...request, runId: run.runId }, { now, storeFlag })
  if (view.outputs.length > 0) heading(out, "Outputs")
  for (const output of view.outputs) printValue(out, output)
  const { error } = view
  const isIdle = holder === undefined && requests.length === 0
  if (isIdle && (run.status === "running" || run.status === "waiting")) {
    out.line()
    out.line(out.paint.dim(`Go on with it: superstep runs resume ${typedId(run.runId)}${storeFlag}`))
  }
  if (run.status === "quarantined") {
    heading(out, "Quarantined")
    const why = `It was executing when its last ${run.takeovers} processes died, and made no progress in between.`
    for (const line of wrapped(why, out.width - 2)) out.line(`  ${out.paint.red(line)}`)
    out.line(out.paint.dim(`  Find out why, then: superstep runs release ${typedId(run.runId)}${storeFlag}`))
  }
  if (error === undefined) return
  heading(out, "Error")
  const where = error.node === undefined ? "" : ` (at node "${error.node}")`
  const lines = wrapped(foreign(`${error.code}: ${error.message}${where}`), out.width - 2)
  for (const line of lines) out.line(`  ${out.paint.red(line)}`)
  if (run.status === "failed") {
    out.line(out.paint.dim(`  From there again: superstep runs retry ${typedId(run.runId)}${storeFlag}`))
  }
}

function printValue(out: Terminal, value: Json): void {
  const whole = typeof value === "string" ? foreign(value) : jsonText(value, 2)
  const text = whole.length > MOST_TEXT ? `${whole.slice(0, MOST_TEXT)}… (all of it: --json)` : whole
  for (const line of wrapped(text, out.width - 2)) out.line(line === "" ? "" : `  ${line}`)
}

function heading(out: Terminal, text: string): void {
  out.line()
  out.line(out.paint.bold(text))
}
