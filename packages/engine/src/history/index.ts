/** The past of a run: its history, forks from any point, and replays against another workflow. */

export type { Change, ChangedChannel, Checkpoint, FinishedTask } from "./checkpoints.ts"
export type { RunDifference } from "./compare.ts"
export type { Divergence } from "./divergence.ts"
export type { ForkedAgent, ForkOptions, Point, RerunOptions } from "./fork-options.ts"
export type {
  AskedRequest,
  HistoryOptions,
  PendingTask,
  RunHistory,
  StateAt,
  StateDiff,
} from "./history.ts"
export type { Ledger, LedgerEffect } from "./ledger.ts"
export {
  compareRuns,
  fork,
  history,
  ledger,
  pastEvents,
  provenance,
  recordingOf,
  replay,
  rerun,
  toFixture,
  why,
} from "./loaded-on-use.ts"
export { printReplay } from "./print-replay.ts"
export type { Provenance, ProvenanceOptions, TaskSource, ValueSource } from "./provenance.ts"
export type { Fixture, Recording, ReplayReport } from "./replay.ts"
export type { ReplayOptions } from "./replayed-run.ts"
export { type EventPage, type PageOptions, RunPast } from "./run-past.ts"
export type { ExplainedEdge, ExplainedMessage, RouteExplanation } from "./why.ts"
