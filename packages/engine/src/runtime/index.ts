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
export type { CallOptions, Context, Delta, LogLevel, PaidStep, Question, StepOptions } from "./context.ts"
export { endedCalls } from "./ended-calls.ts"
export type { RunEvent } from "./events.ts"
export { isOver } from "./followed-run.ts"
export {
  adopt,
  differenceOf,
  type GraphChangePolicy,
  type GraphDifference,
  type Migrate,
} from "./graph-change.ts"
export { DEFAULT_LEASE, processOf, TICK } from "./holder-life.ts"
export { Keeper } from "./keeper.ts"
export { type Labels, labelsProblem } from "./labels.ts"
export {
  foldEntry,
  foldRecords,
  GraphShelf,
  type LoadedFrame,
  type LoadedRun,
  loadRun,
} from "./loaded-run.ts"
export type { ResumeOptions, RunOptions, RunResult } from "./options.ts"
export {
  type BoundHandler,
  type Condition,
  type Handler,
  type Program,
  programNode,
  type Reducer,
  type Select,
} from "./program.ts"
export type {
  AgentRow,
  EdgeRow,
  NodeRow,
  Registry,
  RegistryChange,
  RegistryStore,
  StoredDefinition,
  WorkflowRow,
} from "./registry.ts"
export { checkRegistryChange, definitionInvalid } from "./registry-rows.ts"
export { replayEvents } from "./replay-events.ts"
export { type EdgeFunctions, Router } from "./router.ts"
export { Run } from "./run.ts"
export { RunError } from "./run-error.ts"
export { RunHost } from "./run-host.ts"
export { jsonSchemaOf, type Schema, validate } from "./schema.ts"
export { Several } from "./several.ts"
export type { JournalRecord, KeepAlive, KeepAliveOptions, Snapshot, Store } from "./store.ts"
export { journalConflict, keyTaken, runExists, runTaken, threadBusy, threadMoved } from "./store-errors.ts"
export type {
  Amount,
  ClosedRequest,
  Dismissal,
  FreeQuery,
  Holder,
  Idle,
  Lease,
  Mail,
  MailOutcome,
  PrunePolicy,
  RequestQuery,
  RunChange,
  RunCreated,
  RunQuery,
  StorageReport,
  StoredHolder,
  StoredRequest,
  StoredRun,
  StoredStatus,
  ThreadWrite,
} from "./stored.ts"
export { SUSPECT } from "./stored.ts"
export { claimRun, revive, runQuarantined, runUnknown, type Surroundings } from "./take-up.ts"
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
export { telemetryOf, tracedContext } from "./traced-context.ts"
export type {
  AgentInfo,
  AgentTelemetry,
  AnswerInfo,
  AnswerTokens,
  AskedModel,
  AskedSettings,
  ModelCallInfo,
  ModelCallOutcome,
  ModelCallTelemetry,
  ToolCallInfo,
  ToolCallOutcome,
  ToolCallTelemetry,
  WorkTelemetry,
} from "./work-telemetry.ts"
