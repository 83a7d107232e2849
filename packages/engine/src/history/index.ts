/** The past of a run: its history, forks from any point, and replays against another workflow. */

export type { Change, ChangedChannel, Checkpoint, FinishedTask } from "./checkpoints.ts"
export { compareRuns, type RunDifference } from "./compare.ts"
export type { Divergence } from "./divergence.ts"
export { type ForkedAgent, type ForkOptions, fork, type Point, type RerunOptions, rerun } from "./fork.ts"
export type { AskedRequest } from "./history.ts"
export {
  type HistoryOptions,
  history,
  type PendingTask,
  pastEvents,
  type RunHistory,
  type StateAt,
  type StateDiff,
} from "./history.ts"
export { type Ledger, type LedgerEffect, ledger } from "./ledger.ts"
export {
  type Provenance,
  type ProvenanceOptions,
  provenance,
  type TaskSource,
  type ValueSource,
} from "./provenance.ts"
export {
  type Fixture,
  printReplay,
  type Recording,
  type ReplayReport,
  recordingOf,
  replay,
  toFixture,
} from "./replay.ts"
export type { ReplayOptions } from "./replayed-run.ts"
export { type EventPage, type PageOptions, RunPast } from "./run-past.ts"
export { type ExplainedEdge, type ExplainedMessage, type RouteExplanation, why } from "./why.ts"
