/** The functions of this layer. Their code is loaded on first use: most processes never look back. */
import type { Json, RunId, TaskId } from "../core/index.ts"
import { loadModule } from "../core/internal.ts"
import type { Callable, RunEvent, Store } from "../runtime/index.ts"
import type { RunDifference } from "./compare.ts"
import {
  checkRerunOptions,
  type ForkOptions,
  ownForkOptions,
  type Point,
  type RerunOptions,
} from "./fork-options.ts"
import type { HistoryOptions, RunHistory } from "./history.ts"
import type { Ledger } from "./ledger.ts"
import type { Provenance, ProvenanceOptions } from "./provenance.ts"
import type { Fixture, Recording, ReplayReport } from "./replay.ts"
import type { ReplayOptions } from "./replayed-run.ts"
import type { RouteExplanation } from "./why.ts"

/** Rejects with RUN_UNKNOWN, and with PATH_UNKNOWN if the run has no such sub-workflow. */
export async function history(store: Store, runId: RunId, options: HistoryOptions = {}): Promise<RunHistory> {
  const module = await loadModule(() => import("./history.ts"))
  return await module.history(store, runId, options)
}

/** The events after that number so far; `run.events` continues from there. Rejects with RUN_UNKNOWN. */
export async function pastEvents(
  store: Pick<Store, "read" | "graph" | "thread">,
  runId: RunId,
  after = 0,
): Promise<readonly RunEvent[]> {
  const module = await loadModule(() => import("./history.ts"))
  return await module.pastEvents(store, runId, after)
}

/**
 * Creates a run with the past of another one, and returns its id. No process holds it: `workflow.resume` or any runtime
 * continues it. Its time starts at the fork, and it belongs to no thread.
 */
export async function fork(store: Store, runId: RunId, options: ForkOptions = {}): Promise<RunId> {
  const own = ownForkOptions(options)
  const module = await loadModule(() => import("./fork.ts"))
  return await module.fork(store, runId, own)
}

/** Forks right before a part of the run, which then runs again. */
export async function rerun(store: Store, runId: RunId, options: RerunOptions = {}): Promise<RunId> {
  checkRerunOptions(options)
  const module = await loadModule(() => import("./fork.ts"))
  return await module.rerun(store, runId, options)
}

/**
 * In execution order: inputs, messages of nodes, answers, state, outputs and errors; not times or costs. Rejects with
 * RUN_UNKNOWN.
 */
export async function compareRuns(store: Store, a: RunId, b: RunId): Promise<readonly RunDifference[]> {
  const module = await loadModule(() => import("./compare.ts"))
  return await module.compareRuns(store, a, b)
}

/** Rejects with RUN_UNKNOWN, and like `fork` if the run has no such point. */
export async function ledger(store: Store, runId: RunId, at: Point): Promise<Ledger> {
  const module = await loadModule(() => import("./ledger.ts"))
  return await module.ledger(store, runId, at)
}

/** Rejects with RUN_UNKNOWN, PATH_UNKNOWN, UNKNOWN_CHANNEL, or OUTPUT_MISSING. */
export async function provenance(
  store: Store,
  runId: RunId,
  options: ProvenanceOptions,
): Promise<Provenance> {
  const module = await loadModule(() => import("./provenance.ts"))
  return await module.provenance(store, runId, options)
}

/** Rejects with RUN_UNKNOWN, PATH_UNKNOWN, or TASK_UNKNOWN if the run has no such task. */
export async function why(
  store: Store,
  runId: RunId,
  task: TaskId,
  options: HistoryOptions = {},
): Promise<RouteExplanation> {
  const module = await loadModule(() => import("./why.ts"))
  return await module.why(store, runId, task, options)
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
  const module = await loadModule(() => import("./replay.ts"))
  return await module.replay(recording, workflow, options)
}

/** The run so far. Rejects with RUN_UNKNOWN. */
export async function recordingOf(store: Store, runId: RunId): Promise<Recording> {
  const module = await loadModule(() => import("./replay.ts"))
  return await module.recordingOf(store, runId)
}

/**
 * Save it as a file: `JSON.stringify(await toFixture(store, runId), null, 1)`. It contains everything in the run's journal.
 */
export async function toFixture(store: Store, runId: RunId): Promise<Fixture> {
  const module = await loadModule(() => import("./replay.ts"))
  return await module.toFixture(store, runId)
}
