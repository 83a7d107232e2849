/** The past of a run: its history, forks from any point, and replays against another workflow. */

export type { Change, Checkpoint, FinishedTask } from "./checkpoints.ts"
export { compareRuns, type RunDifference } from "./compare.ts"
export type { Divergence } from "./divergence.ts"
export { type ForkOptions, fork, type RerunOptions, rerun } from "./fork.ts"
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
export type { Point } from "./points.ts"
export { type Fixture, type Recording, recordingOf, toFixture } from "./recording.ts"
export { printReplay, type ReplayReport, replay } from "./replay.ts"
export type { ReplayOptions } from "./replayed-run.ts"
export type { ChangedChannel } from "./state-difference.ts"
export { type ExplainedEdge, type ExplainedMessage, type RouteExplanation, why } from "./why.ts"
