/**
 * A recorded run against a workflow as it is now, offline. Handlers and conditions run for real. Steps give what is on
 * record, and so do people; timers fire when they did. What a handler does outside of steps is done again: put model calls,
 * requests and whatever else is not the same every time into `ctx.step`.
 *
 * When a handler looked at state is not on record. Where others change it meanwhile (in a flow schedule; a node's own state,
 * with deliveries that overlap) and the process died or the store was slow, a replay may show it an earlier value.
 */
import type { Json, RunId, RunStatus, Usage } from "../core/index.ts"
import { canonicalJson } from "../core/reducers.ts"
import { usageWithout } from "../core/usage.ts"
import type { Callable } from "../runtime/index.ts"
import { type Divergence, firstDivergence } from "./divergence.ts"
import { openJournal } from "./journal-walk.ts"
import { invalid, openRecording, type Recording } from "./recording.ts"
import { ReplayedRun, type ReplayOptions } from "./replayed-run.ts"
import { type FrameSummary, type RunSummary, summarize } from "./run-summary.ts"

export interface ReplayReport {
  /** Whether the workflow does now what it did then: every task, the state, the outputs, the usage, the end. */
  readonly same: boolean
  readonly runId: RunId
  readonly workflow: string
  /** The first task that differs. */
  readonly divergence?: Divergence | undefined
  /** The nodes of all tasks, in task order; those of a sub-workflow after their caller, as `caller > node`. */
  readonly path: BeforeAndAfter<readonly string[]>
  /** Channels whose values differ. */
  readonly state: readonly ({ readonly key: string } & Partial<BeforeAndAfter<Json>>)[]
  readonly outputs: BeforeAndAfter<readonly Json[]>
  readonly usage: BeforeAndAfter<Usage> & {
    /** What is used more now, or less, part by part; only the parts that differ. */
    readonly difference: Usage
  }
  /** A replay that waits for an answer which is not on record is `waiting`; `running` is one that was cut short. */
  readonly status: BeforeAndAfter<RunStatus>
  /** Why the run failed. */
  readonly error?: Partial<BeforeAndAfter<string>> | undefined
}

interface BeforeAndAfter<T> {
  readonly before: T
  readonly after: T
}

/**
 * `recording` may be a fixture as it was read from a file. Rejects with FIXTURE_INVALID or FIXTURE_VERSION where it is none,
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
    run = new ReplayedRun((await openRecording(recorded as unknown as Json)).journal, options)
  } catch (cause) {
    throw invalid("its records do not follow from one another", cause)
  }
  const { records, store } = await run.play(workflow.program)
  const after = summarize(await openJournal(store, recorded.runId, records))
  return report(recorded, before, after, run.notes)
}

function report(
  { runId, workflow }: Recording,
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
    ...(Object.keys(error).length === 0 ? {} : { error }),
  }
}

function errorText<Key extends string>(key: Key, { error }: RunSummary): { [K in Key]?: string } {
  return error === undefined ? {} : ({ [key]: `${error.code}: ${error.message}` } as { [K in Key]: string })
}

function isSame(before: Json, after: Json): boolean {
  return canonicalJson(before) === canonicalJson(after)
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

function stateDifference(before: RunSummary["state"], after: RunSummary["state"]): ReplayReport["state"] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) => {
    const was = before[key]
    const is = after[key]
    if (was !== undefined && is !== undefined && isSame(was, is)) return []
    return [
      { key, ...(was === undefined ? {} : { before: was }), ...(is === undefined ? {} : { after: is }) },
    ]
  })
}

/** Without calls that a crash or a stop cut off: a replay does not repeat these. */
function settledOf({ usage, lost }: RunSummary): Usage {
  return usageWithout(usage, lost)
}

function usageDifference(before: Usage, after: Usage): Usage {
  const parts = [...new Set([...Object.keys(before), ...Object.keys(after)])] as (keyof Usage)[]
  const differing = parts.map((part) => [part, (after[part] ?? 0) - (before[part] ?? 0)] as const)
  return Object.fromEntries(differing.filter(([, difference]) => difference !== 0))
}
