/** The machine and the graph that it executes: no IO, no clock, no user code. */

export type { AgentChange, AgentChanges } from "./agent-change.ts"
export { type CompiledGraph, compileGraph, type GraphData, graphData, parseGraph } from "./compile.ts"
export type {
  CallFinished,
  CallStarted,
  Entry,
  GraphChanged,
  Left,
  LeftByTask,
  RequestAnswered,
  RequestOpened,
  RouteDecision,
  RunCancelled,
  RunFailed,
  RunForked,
  RunPaused,
  RunResumed,
  RunStarted,
  SignalAwaited,
  SignalReceived,
  SignalReplied,
  SignalTaken,
  StateReduced,
  StepRecorded,
  StepStarted,
  TaskFailed,
  TaskFinished,
  TaskRejected,
  TimerFired,
  TimerSet,
  UsageRecorded,
  UsageReserved,
} from "./entries.ts"
export {
  type ErrorData,
  fromErrorData,
  isSuperstepError,
  SuperstepError,
  type SuperstepErrorOptions,
  toErrorData,
} from "./errors.ts"
export type { MachineEvent } from "./events.ts"
export {
  type CountedEdge,
  DEFAULT_SUPERSTEPS,
  type EdgeGroup,
  type ErrorEdge,
  type FanInEdge,
  type FanOutEdge,
  type Graph,
  type GraphJoin,
  type GraphMap,
  type GraphNode,
  type GraphSpec,
  type Hop,
  hopsOf,
  type JoinPolicy,
  joinId,
  type Limits,
  type MapEdge,
  type NodeSpec,
  type OutGroup,
  type Schedule,
  type Settled,
  type SingleEdge,
  type SwitchCase,
  type SwitchEdge,
  type Turn,
} from "./graph.ts"
export type { JoinId, NodeId, RequestId, RunId, SignalId, TaskId, TimerId } from "./ids.ts"
export { DEFAULT_VALUE_BYTES, type Json, type JsonProblem, printJsonProblem } from "./json.ts"
export { Machine } from "./machine.ts"
export type {
  BufferedSignal,
  Escalation,
  FinalStatus,
  LeftNotice,
  OpenRequest,
  Pause,
  RequestSpec,
  Route,
  RunStatus,
  Send,
  SignalWait,
  SignalWaitSpec,
  TaskStatus,
  Undelivered,
  Wait,
  WaitOutcome,
} from "./messages.ts"
export { guardedStep, isConnecting, isInternal, nodeTitle, passesTurns } from "./node-title.ts"
export { jsonProblem } from "./own-json.ts"
export { type BuiltInReducer, type ChannelSpec, isBuiltInReducer, reduce, writeProblem } from "./reducers.ts"
export { type RetryPolicy, retryDelay } from "./retry.ts"
export { graphDifference, type Signature, signatureDifference, signatureOf } from "./signature.ts"
export { type MachineSnapshot, SNAPSHOT_VERSION } from "./snapshot-data.ts"
export type { Effect } from "./state.ts"
export type { Task } from "./task.ts"
export {
  addUsage,
  BUDGET_PARTS,
  type Budget,
  type SourcedUsage,
  type Usage,
  type UsageSource,
  usageProblem,
} from "./usage.ts"
export {
  type Findings,
  GraphInvalidError,
  type Problem,
  type ProblemCode,
  validateGraph,
} from "./validate.ts"
