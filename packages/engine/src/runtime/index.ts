/** The driver: runs what the machine asks for, keeps the journal, tells those who watch. */
export type { Callable } from "./callable.ts"
export {
  add,
  append,
  type Channel,
  type ChannelKind,
  channel,
  merge,
  reducer,
  replace,
  union,
} from "./channel.ts"
export { type Clock, systemClock } from "./clock.ts"
export type { CallOptions, Context, LogLevel, Question } from "./context.ts"
export type { RunEvent } from "./events.ts"
export type { RunOptions, RunResult } from "./options.ts"
export {
  type BoundHandler,
  type Condition,
  type Handler,
  type Program,
  programNode,
  type Reducer,
  type Select,
} from "./program.ts"
export { replayEvents } from "./replay-events.ts"
export { type EdgeFunctions, Router } from "./router.ts"
export { Run } from "./run.ts"
export { RunError } from "./run-error.ts"
export { jsonSchemaOf, type Schema } from "./schema.ts"
export { Several } from "./several.ts"
export { type JournalRecord, journalConflict, type Store } from "./store.ts"
export {
  currentTelemetry,
  type RunInfo,
  type RunTelemetry,
  setTelemetry,
  type TaskInfo,
  type TaskOutcome,
  type TaskTelemetry,
  type Telemetry,
} from "./telemetry-port.ts"
