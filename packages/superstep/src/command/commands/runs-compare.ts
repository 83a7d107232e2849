/** `superstep runs diff` and `superstep runs replay`: compare a run with another one, or with its changed definition. */
import { isDeepStrictEqual } from "node:util"
import {
  history,
  type Json,
  printReplay,
  type RunHistory,
  Runtime,
  type Store,
  type StoredRun,
} from "@superstep/engine"
import type { RunView } from "@superstep/engine/protocol"
import { Command } from "commander"
import { type Cli, EXIT } from "../cli.ts"
import { complete, type OutputFlags, outputFlags, type StoreFlags, storeFlags } from "../flags.ts"
import { type OpenStore, onStore } from "../open/store.ts"
import { openStoredWorkflow, type StoredWorkflowFlags, storedWorkflowFlags } from "../open/workflow.ts"
import { nodesOf, viewOf } from "../print/run-report.ts"
import { findRun, shortId } from "../run/find-run.ts"
import { clipped, jsonText, sanitize, sanitizeLine, type Terminal } from "../terminal/terminal.ts"
import { RUN_ID } from "./runs-show.ts"

type DiffFlags = OutputFlags & StoreFlags

export function diffCommand(cli: Cli): Command {
  const command = new Command("diff")
    .description("show what two runs did differently; exit with 1 if they differ")
    .argument("<a>", RUN_ID)
    .argument("<b>", "the other run")
    .action(onStore(cli, diff))
  return complete(
    command,
    [storeFlags, outputFlags],
    "superstep runs diff 4f2a91c0 77be01aa",
    "Compares inputs, messages of nodes, answers, state, outputs and errors, but not times or costs. --verbose prints values in full.",
  )
}

async function diff(cli: Cli, store: OpenStore, a: string, b: string, flags: DiffFlags): Promise<void> {
  const runs = [await findRun(store, a), await findRun(store, b)] as const
  const found = await runDifferences(store, runs)
  const isSame = found.length === 0
  if (!isSame) cli.exit(EXIT.failed)
  const [{ runId: one }, { runId: other }] = runs
  if (flags.json) return cli.out.line(jsonText({ a: one, b: other, same: isSame, differences: found }))
  if (flags.quiet) return
  for (const difference of found) printDifference(cli.out, difference, flags.verbose === true)
  if (isSame) cli.err.line(`Runs ${shortId(one)} and ${shortId(other)} show no differences.`)
}

function printDifference(out: Terminal, { what, a, b }: RunDifference, isFull: boolean): void {
  const { bold, red, green } = out.paint
  out.line(bold(sanitizeLine(what)))
  const shown = (value: Json | undefined) => {
    const text = sanitizeLine(value === undefined ? "(nothing)" : jsonText(value))
    return isFull ? text : clipped(text, out.width - 4)
  }
  out.line(`  ${red("-")} ${shown(a)}`)
  out.line(`  ${green("+")} ${shown(b)}`)
}

interface RunDifference {
  /** `input`, `status`, `node draft`, `node draft, visit 2`, `answer r1`, `state.log`, `output 1` … */
  readonly what: string
  /** Absent if the run has no such part. */
  readonly a?: Json | undefined
  readonly b?: Json | undefined
}

interface RunRecord {
  readonly run: StoredRun
  readonly view: RunView
  readonly past: RunHistory
}

type Parts = ReadonlyMap<string, Json | undefined>

/** In execution order: the input, the visits of nodes, the outputs. Reads only the store. */
async function runDifferences(
  store: Store,
  [a, b]: readonly [StoredRun, StoredRun],
): Promise<readonly RunDifference[]> {
  const [one, other] = [await recordOf(store, a), await recordOf(store, b)]
  const parts: readonly ((record: RunRecord) => Parts)[] = [
    head,
    visits,
    nested,
    answers,
    ({ view }) => new Map(Object.entries(view.state).map(([key, value]) => [`state.${key}`, value])),
    ({ view }) => new Map(view.outputs.map((value, i) => [`output ${i + 1}`, value])),
    ({ view }) => new Map([["error", view.error && { code: view.error.code, message: view.error.message }]]),
  ]
  return parts.flatMap((part) => differences(part(one), part(other)))
}

async function recordOf(store: Store, run: StoredRun): Promise<RunRecord> {
  return { run, view: await viewOf(store, run.runId), past: await history(store, run.runId) }
}

function differences(a: Parts, b: Parts): RunDifference[] {
  const names = new Set([...a.keys(), ...b.keys()])
  return [...names].flatMap((what): RunDifference[] =>
    isDeepStrictEqual(a.get(what), b.get(what)) ? [] : [{ what, a: a.get(what), b: b.get(what) }],
  )
}

function head({ run, view }: RunRecord): Parts {
  return new Map<string, Json | undefined>([
    ["workflow", run.workflow],
    ["graph", run.graph],
    ["input", view.input],
    ["status", view.status],
  ])
}

/** What each node sent, or how it failed, by visit. */
function visits({ past }: RunRecord): Parts {
  const times = new Map<string, number>()
  const found = new Map<string, Json>()
  for (const { node, sends, error } of past.checkpoints.flatMap(({ finished }) => finished)) {
    const nth = (times.get(node) ?? 0) + 1
    times.set(node, nth)
    const sent = sends.map(({ value }) => value)
    const outcome = error === undefined ? { sent } : { error: error.message, sent }
    found.set(nth === 1 ? `node ${node}` : `node ${node}, visit ${nth}`, outcome)
  }
  return found
}

/** Nodes of nested workflows: how often they ran, and how they ended. */
function nested({ run, view }: RunRecord): Parts {
  const below = nodesOf(view, run.updatedAt).filter(({ name }) => name.includes(" > "))
  return new Map(below.map(({ name, times, status }) => [`node ${name}`, { times, status }]))
}

function answers({ past }: RunRecord): Parts {
  return new Map(
    past.requests.map(({ id, outcome, answer }) => [
      `answer ${id}`,
      outcome === "answered" ? (answer ?? null) : { outcome },
    ]),
  )
}

type ReplayFlags = OutputFlags & StoreFlags & StoredWorkflowFlags

export function replayCommand(cli: Cli): Command {
  const command = new Command("replay")
    .description("replay a run against its current definition; exit with 1 if it differs")
    .argument("<run>", RUN_ID)
    .action(onStore(cli, replay))
  return complete(
    command,
    [storedWorkflowFlags, storeFlags, outputFlags],
    "superstep runs replay 4f2a91c0 --file new-version.yaml",
    "No model is called and nobody is asked: their recorded answers are used.",
  )
}

async function replay(cli: Cli, store: OpenStore, id: string, flags: ReplayFlags): Promise<void> {
  const run = await findRun(store, id)
  const opened = await openStoredWorkflow(cli, store, run, flags, { isRun: false })
  const runtime = new Runtime({ store, workflows: [], recover: false })
  try {
    const report = await runtime.replay(run.runId, opened.workflow)
    cli.out.line(flags.json ? jsonText(report) : sanitize(printReplay(report)))
    if (!report.same) cli.exit(EXIT.failed)
  } finally {
    await runtime.close()
    await opened.close()
  }
}
