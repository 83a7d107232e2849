/** Drives one run, and defines the ports that it needs: handlers, routes, journal, events, leases. */
export { foldRecords, type LoadedFrame, type LoadedRun, loadRun } from "./journal/load-run.ts"
export { replayEvents } from "./journal/replay-events.ts"
export {
  type ContextOf,
  cancelExpired,
  cancelFree,
  claimRun,
  type RunEnvironment,
  restoreClaimed,
  restoreRun,
  runQuarantined,
  runUnknown,
} from "./lease/claim-run.ts"
export type { Delivery } from "./lease/followed-run.ts"
export { DEFAULT_LEASE, processOf, TICK } from "./lease/holders.ts"
export { Keeper } from "./lease/keeper.ts"
export { type AskedSlot, SlotKeeper } from "./lease/slot-keeper.ts"
export type { AgentReport, AgentSource, AgentStep, StepCall } from "./ports/agent-report.ts"
export {
  add,
  append,
  type Channel,
  type ChannelKind,
  channel,
  type JsonOnly,
  merge,
  type Reducer,
  reducer,
  replace,
  type StateOf,
  union,
} from "./ports/channel.ts"
export { type Clock, systemClock } from "./ports/clock.ts"
export type {
  BroughtMail,
  Dispatcher,
  EndedRun,
  MailReply,
  RunStart,
  SpreadAction,
  SpreadOutcome,
  SpreadState,
  SpreadTask,
  StartReply,
} from "./ports/dispatcher.ts"
export type { RunEvent } from "./ports/events.ts"
export {
  type FlowKey,
  flowKey,
  flowOf,
  type NodeFlow,
  type NodeFlowRun,
  type ProgramFlow,
} from "./ports/flow.ts"
export {
  type LiveChannel,
  type LiveListener,
  type LiveQuery,
  type LiveService,
  type LiveSignal,
  type LiveSubscription,
  localChannel,
  type WatchLive,
} from "./ports/live-channel.ts"
export {
  type AnyState,
  type BoundHandler,
  type Callable,
  type CallOptions,
  type Condition,
  type Context,
  type Delta,
  type Handler,
  type LogLevel,
  MultiOutput,
  type PaidStep,
  type PartialOutput,
  type Placement,
  type Program,
  programNode,
  type Question,
  type Select,
  type StepOptions,
  type ToolProgress,
  type Update,
  type WaitOptions,
} from "./ports/program.ts"
export {
  type Amendment,
  type Claimed,
  type ClaimQuery,
  claimInTurn,
  LaneStates,
  type QueueHead,
  type QueueLine,
  type RunQueue,
} from "./ports/queue.ts"
export type { RecordQuery, RecordStore, StoredRecord } from "./ports/records.ts"
export {
  type AgentRow,
  checkRegistryChange,
  definitionInvalid,
  type EdgeRow,
  type NodeRow,
  type Registry,
  type RegistryChange,
  type RegistryReader,
  type RegistryStore,
  type RegistryVersions,
  registryConflict,
  registryVersion,
  type StoredDefinition,
  type WorkflowRow,
} from "./ports/registry.ts"
export {
  DEFAULT_QUEUE,
  type Lane,
  type LaneLimit,
  type LaneRate,
  laneId,
  MAX_BURSTS,
  queueScore,
  type RunFlow,
} from "./ports/run-flow.ts"
export type {
  CatchUp,
  CreatedRun,
  DueQuery,
  DueSchedules,
  Overlap,
  ScheduleOptions,
  ScheduleQuery,
  ScheduleStore,
  StoredSchedule,
} from "./ports/schedules.ts"
export {
  type PoolSlots,
  type PoolState,
  SlotAdmission,
  type SlotEnd,
  type SlotLane,
  type SlotLine,
  type SlotRequest,
  type Slots,
  type StoredSlot,
  slotLine,
  takeInOrder,
  type WaitingSlot,
} from "./ports/slots.ts"
export {
  type KeepAlive,
  type KeepAliveOptions,
  type Snapshot,
  type Store,
  storeErrors,
} from "./ports/store.ts"
export {
  type Amount,
  type ClosedRequest,
  type Dismissal,
  type EscalateOptions,
  type FreeQuery,
  type Holder,
  hasEnded,
  type Idle,
  IN_FLIGHT,
  type JournalRecord,
  type Labels,
  type Lease,
  labelsProblem,
  type Mail,
  type MailOutcome,
  onlySuspect,
  type PrunePolicy,
  type RequestQuery,
  type RunChange,
  type RunCreated,
  type RunFailure,
  type RunQuery,
  type StorageReport,
  type StoredHolder,
  type StoredRequest,
  type StoredRun,
  type StoredStatus,
  SUSPECT,
  type ThreadWrite,
  type TimeRange,
  VERSION_LABEL,
} from "./ports/stored.ts"
export {
  type ClaimedConsumer,
  type ConsumerFailure,
  type ConsumerLease,
  type ConsumerProgress,
  type EventType,
  eventsOf,
  type NewEvent,
  type StoredConsumer,
  type StoredEvent,
  type Subscriptions,
} from "./ports/subscriptions.ts"
export {
  type AgentInfo,
  type AgentTelemetry,
  type AnswerInfo,
  type AnswerTokens,
  type AskedModel,
  type AskedSettings,
  currentTelemetry,
  type ModelCallInfo,
  type ModelCallOutcome,
  type ModelCallTelemetry,
  type RemoteAgentInfo,
  type RunInfo,
  type RunTelemetry,
  setTelemetry,
  type TaskInfo,
  type TaskOutcome,
  type TaskTelemetry,
  type Telemetry,
  type ToolCallInfo,
  type ToolCallOutcome,
  type ToolCallTelemetry,
  type WorkTelemetry,
} from "./ports/telemetry.ts"
export { jsonSchemaOf, type Schema, validate } from "./ports/values.ts"
export { calledGraphs } from "./run/called-graphs.ts"
export {
  agentChange,
  endedCalls,
  KEEPS,
  type KeptAnswer,
  keptAnswer,
  type LeftWork,
  leaveAtLimit,
  recordDecision,
  reportAgent,
  slotsOf,
  telemetryOf,
  tracedContext,
} from "./run/context.ts"
export {
  adopt,
  differenceOf,
  type GraphChangePolicy,
  type GraphDifference,
  type Migrate,
} from "./run/graph-change.ts"
export type {
  CancelOptions,
  OnBusy,
  OpenWait,
  PauseOptions,
  ResumeOptions,
  RunOptions,
  RunResult,
} from "./run/options.ts"
export { RunError } from "./run/result.ts"
export { type EdgeFunctions, Router } from "./run/router.ts"
export { Run } from "./run/run.ts"
export { RunHost } from "./run/run-host.ts"
export { type RunState, runState } from "./run/run-state.ts"
export type { SignalOptions, UpdateOptions } from "./run/send-signal.ts"
