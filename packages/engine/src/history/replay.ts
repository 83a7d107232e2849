/**
 * Replays a recorded run against the current workflow, offline. Handlers and conditions run for real. Steps and questions
 * return their recorded results; timers fire when they did. Anything a handler does outside steps happens again: put
 * model calls, requests and other non-deterministic work into `ctx.step`.
 *
 * The input of a step is not recorded: a replay does not notice changed instructions, messages or tools of an agent, as
 * its model calls are answered from the record. The report says how many.
 *
 * The time at which a handler read state is not recorded. If others change it meanwhile (in flow mode; a node's own
 * state, with deliveries that overlap) and the process died or the store was slow, a replay may show it an earlier value.
 */
import type { Json, RunId, RunStatus, Usage } from "../core/index.ts"
import { usageWithout } from "../core/internal.ts"
import type { Callable, JournalRecord } from "../runtime/index.ts"
import { wrapText } from "../text/index.ts"
import {
  type Divergence,
  excerpts,
  type FrameSummary,
  firstDivergence,
  type RunSummary,
  summarize,
} from "./divergence.ts"
import { openJournal } from "./journal-walk.ts"
import { invalid, openRecording, type Recording } from "./recording.ts"
import { ReplayedRun, type ReplayOptions } from "./replayed-run.ts"
import { type ChangedChannel, isSame, stateDifference } from "./state-difference.ts"

export interface ReplayReport {
  /** Whether the workflow still behaves as recorded: every task, the state, the outputs, the usage, the end. */
  readonly same: boolean
  readonly runId: RunId
  readonly workflow: string
  /** The first task that differs. */
  readonly divergence?: Divergence | undefined
  /** The nodes of all tasks, in task order; those of a sub-workflow after their caller, as `caller > node`. */
  readonly path: BeforeAndAfter<readonly string[]>
  /** Channels whose values differ. */
  readonly state: readonly ChangedChannel[]
  readonly outputs: BeforeAndAfter<readonly Json[]>
  readonly usage: BeforeAndAfter<Usage> & {
    /** The change in usage, part by part; only the parts that differ. */
    readonly difference: Usage
  }
  /** A replay that waits for an answer that is not recorded is `waiting`; one that was cut short is `running`. */
  readonly status: BeforeAndAfter<RunStatus>
  /**
   * Model calls that are answered from the recording. Their prompts are not compared: changed instructions, messages and
   * tools do not show.
   */
  readonly recordedModelCalls: number
  /** Why the run failed. */
  readonly error?: Partial<BeforeAndAfter<string>> | undefined
}

interface BeforeAndAfter<T> {
  readonly before: T
  readonly after: T
}

/**
 * `recording` may be a fixture read from a file. Rejects with FIXTURE_INVALID or FIXTURE_VERSION if it is not valid,
 * and with REPLAY_STUCK when a handler waits for something that a replay does not have.
 */
export async function replay<In, Out>(
  recording: Recording | Json,
  workflow: Callable<In, Out>,
  options: ReplayOptions = {},
): Promise<ReplayReport> {
  const { recording: recorded, journal } = await openRecording(recording)
  let before: RunSummary
  let run: ReplayedRun
  try {
    before = summarize(journal)
    const again = (await openRecording(recorded as unknown as Json)).journal
    run = new ReplayedRun(again, options, recorded.labels)
  } catch (cause) {
    throw invalid("its records are inconsistent", cause)
  }
  const { records, store } = await run.play(workflow.program)
  const after = summarize(await openJournal(store, recorded.runId, records))
  return report(recorded, before, after, run.notes)
}

function report(
  { runId, workflow, records }: Recording,
  before: RunSummary,
  after: RunSummary,
  notes: ReadonlyMap<string, string>,
): ReplayReport {
  const divergence = firstDivergence(before.root, after.root, notes)
  const state = stateDifference(before.state, after.state)
  const difference = usageDifference(settledOf(before), settledOf(after))
  const same =
    divergence === undefined &&
    state.length === 0 &&
    Object.keys(difference).length === 0 &&
    before.status === after.status &&
    before.error?.code === after.error?.code &&
    isSame(before.outputs, after.outputs)
  const error = { ...errorText("before", before), ...errorText("after", after) }
  return {
    same,
    runId,
    workflow,
    ...(divergence === undefined ? {} : { divergence }),
    path: { before: pathOf(before.root), after: pathOf(after.root) },
    state,
    outputs: { before: before.outputs, after: after.outputs },
    usage: { before: before.usage, after: after.usage, difference },
    status: { before: before.status, after: after.status },
    recordedModelCalls: records.filter(isModelCall).length,
    ...(Object.keys(error).length === 0 ? {} : { error }),
  }
}

/** Agents name the model with the usage of a call. */
function isModelCall({ entry }: JournalRecord): boolean {
  return entry.type === "step.recorded" && entry.source?.model !== undefined
}

function errorText<Key extends string>(key: Key, { error }: RunSummary): { [K in Key]?: string } {
  return error === undefined ? {} : ({ [key]: `${error.code}: ${error.message}` } as { [K in Key]: string })
}

function pathOf({ tasks }: FrameSummary, above = ""): string[] {
  return tasks.flatMap(({ node, calls }) => {
    const name = `${above}${node}`
    const below = [...calls.values()].flatMap((frame) =>
      frame === undefined ? [] : pathOf(frame, `${name} > `),
    )
    return [name, ...below]
  })
}

/** Without calls that were interrupted by a crash or a stop: a replay does not repeat these. */
function settledOf({ usage, lost }: RunSummary): Usage {
  return usageWithout(usage, lost)
}

function usageDifference(before: Usage, after: Usage): Usage {
  const parts = [...new Set([...Object.keys(before), ...Object.keys(after)])] as (keyof Usage)[]
  const differing = parts.map((part) => [part, (after[part] ?? 0) - (before[part] ?? 0)] as const)
  return Object.fromEntries(differing.filter(([, difference]) => difference !== 0))
}

const WIDTH = 80
/** Maximum characters of a value. */
const MAX = 400

/** The report as text: at most 80 columns, no colours. */
export function printReplay(report: ReplayReport): string {
  const { runId, workflow, same, divergence, path, state, outputs, usage, status, error } = report
  const title = `Replay of run "${runId}" of workflow "${workflow}": ${same ? "the same" : "different"}.`
  const lines = wrapped(title, "")
  const limits = notCompared(report)
  if (same) return [...lines, ...limits].join("\n")
  if (divergence !== undefined) {
    const within = divergence.path.length === 0 ? "" : `In ${divergence.path.join(" > ")}: `
    lines.push("", "First difference", ...wrapped(`${within}${divergence.what}`, "  "))
  }
  if (status.before !== status.after || error?.before !== error?.after) {
    lines.push("", "Status", ...change([status.before, error?.before], [status.after, error?.after], "  "))
  }
  if (String(path.before) !== String(path.after)) {
    lines.push("", "Path", ...change([path.before.join(", ")], [path.after.join(", ")], "  "))
  }
  if (state.length > 0) lines.push("", "State")
  for (const { key, before, after } of state) {
    lines.push(`  ${key}`, ...change([shown(before)], [shown(after)], "    "))
  }
  if (shown(outputs.before) !== shown(outputs.after)) {
    lines.push("", "Outputs", ...change([shown(outputs.before)], [shown(outputs.after)], "  "))
  }
  const parts = Object.entries(usage.difference) as [keyof typeof usage.before, number][]
  if (parts.length > 0) lines.push("", "Usage")
  for (const [part, by] of parts) {
    const sign = by > 0 ? "+" : ""
    lines.push(`  ${part}: ${usage.before[part] ?? 0} before, ${usage.after[part] ?? 0} now (${sign}${by})`)
  }
  if (limits.length > 0) lines.push("", ...limits)
  return lines.join("\n")
}

function notCompared({ recordedModelCalls: calls }: ReplayReport): string[] {
  if (calls === 0) return []
  const answered = calls === 1 ? "1 model call was" : `${calls} model calls were`
  return wrapped(
    `Not compared: instructions, messages and tools of agents. ${answered} answered from the record.`,
    "",
  )
}

function change(
  before: readonly (string | undefined)[],
  after: readonly (string | undefined)[],
  indent: string,
): string[] {
  const [was, is] = excerpts(text(before), text(after), MAX)
  return [...wrapped(was, `${indent}- `), ...wrapped(is, `${indent}+ `)]
}

function text(parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined).join(": ")
}

function shown(value: Json | undefined): string {
  return value === undefined ? "absent" : JSON.stringify(value)
}

/** The first line after the indent, the others below it. */
function wrapped(content: string, indent: string): string[] {
  const below = " ".repeat(indent.length)
  return wrapText(content, WIDTH - indent.length).map((line, i) => (i === 0 ? indent : below) + line)
}
