/** What tracing and metrics see of a run. Nothing is called, made or kept when no telemetry is set. */
import type { EdgeGroup, ErrorData, Graph, NodeId, RunId, RunStatus, TaskId, Usage } from "../core/index.ts"
import type { WorkTelemetry } from "./work-telemetry.ts"

export interface Telemetry {
  built(graph: Graph): void
  startRun(run: RunInfo): RunTelemetry
}

export interface RunInfo {
  readonly runId: RunId
  readonly workflow: string
  /** Where in the tree of nested workflows; empty for the run itself. */
  readonly path: readonly string[]
  /** W3C traceparent of the task that called it, or of the run's first life when it is resumed. */
  readonly parent: string | undefined
  readonly resumed: boolean
}

export interface RunTelemetry {
  /** W3C traceparent of the run, kept in its journal. */
  readonly trace: string | undefined
  startTask(task: TaskInfo): TaskTelemetry
  /** Only the first call counts. */
  end(status: RunStatus, error: ErrorData | undefined, usage: Usage): void
}

export interface TaskInfo {
  readonly task: TaskId
  readonly node: NodeId
  readonly kind: string
  readonly attempt: number
  readonly superstep: number
  /** W3C traceparents of the tasks that caused this one: a join has all of them. */
  readonly causes: readonly string[]
  /** Milliseconds between its message and its start; absent for a retry, and where it began in another life. */
  readonly queuedMs?: number | undefined
}

/** Its `trace` is on the messages that the task sends; its handler runs `within` it. */
export interface TaskTelemetry extends WorkTelemetry {
  /** One message was routed along an edge group to these nodes; none: it was dropped there. */
  routed(kind: EdgeGroup["kind"], targets: readonly NodeId[]): void
  end(outcome: TaskOutcome): void
}

export interface TaskOutcome {
  readonly error?: ErrorData | undefined
  /** The failure is followed by another attempt. */
  readonly retried?: boolean | undefined
  readonly usage?: Usage | undefined
}

let current: Telemetry | undefined

/** Sets the telemetry of every run that is not given its own; undefined turns it off. */
export function setTelemetry(telemetry: Telemetry | undefined): void {
  current = telemetry
}

export function currentTelemetry(): Telemetry | undefined {
  return current
}
