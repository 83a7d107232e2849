/** The frame of a task, as the attempts at it use it. */
import type {
  ErrorData,
  GraphNode,
  Json,
  Machine,
  NodeId,
  SourcedUsage,
  SuperstepError,
  Task,
  TaskFailed,
  TaskId,
} from "../../core/index.ts"
import type { SlotKeeper } from "../lease/slot-keeper.ts"
import type { AgentReport } from "../ports/agent-report.ts"
import type { Clock } from "../ports/clock.ts"
import type { Dispatcher } from "../ports/dispatcher.ts"
import type { LiveEvent } from "../ports/events.ts"
import type { Program } from "../ports/program.ts"
import type { Store } from "../ports/store.ts"
import type { Labels } from "../ports/stored.ts"
import type { RunTelemetry } from "../ports/telemetry.ts"
import type { CatchUp } from "./catch-up.ts"
import type { KeptAnswer } from "./context.ts"
import type { SignalFrame, TaskSignals } from "./signal-wait.ts"
import type { StepFrame } from "./step-start.ts"
import type { CallFrame } from "./task-calls.ts"
import type { SlotFrame } from "./task-slot.ts"

/** The frame, as the operations of a task use it. */
export interface OperationsFrame extends StepFrame, CallFrame, SignalFrame {
  readonly host: StepFrame["host"] &
    CallFrame["host"] & {
      readonly valueBytes: number
      readonly catchUp: CatchUp
      readonly signals: TaskSignals
      /** The frame of the run itself. */
      readonly root: { readonly machine: Machine }
      readonly requests: { keep(keeps: KeptAnswer, answer: Json): void }
      /** No step may run. */
      readonly isProbe: boolean
      /** Whether anybody can see the details of a step. */
      readonly isInspectable: boolean
      readonly isPaused: boolean
      /** Resolves when the run is no longer paused, or has ended or stopped here. */
      unpaused(task: Task): Promise<void>
      /** Undefined while something new may start; otherwise resolves when that may have changed. */
      sure(): Promise<void> | undefined
      /** A step begins or ends. */
      changeSteps(by: 1 | -1): void
      /** A handler or a step of the node is called now. */
      enter(node: NodeId): void
    }
  readonly program: Program
  readonly key: string
  /** `settles`: the reservation that this usage replaces. */
  addUsage(task: TaskId, used: readonly SourcedUsage[], settles?: string): void
  /** Which budget is used up: of the node, the workflow or one of its callers. */
  budgetProblem(node: GraphNode): ErrorData | undefined
  /** A handler waits for something now. */
  changed(): void
  emitLive(event: LiveEvent): void
  /** Reports a handler's mistake to watchers and to the runtime. */
  report(task: Task, error: SuperstepError): void
}

/** The frame, as its tasks use it. */
export interface TaskFrame extends OperationsFrame {
  readonly host: OperationsFrame["host"] &
    SlotFrame["host"] & {
      /** Undefined where nothing is limited across processes. */
      readonly slots: SlotKeeper | undefined
      readonly labels: Labels
      readonly store: Store | undefined
      /** Carries tasks of nodes with placement `spread`. */
      readonly dispatcher: Dispatcher | undefined
      readonly clock: Clock
      /** The context that the run was started or resumed with, if any. */
      readonly context: unknown
      addReport(task: string, attempt: number, report: AgentReport): void
      /** Whether live events have a watcher, now or soon. */
      readonly mayBeWatched: boolean
    }
  readonly telemetry: RunTelemetry | undefined
  /** Another process started it, so its earlier times cannot be compared. */
  readonly isRestored: boolean
  failTask(entry: TaskFailed, thrown: unknown): void
  /** Records the usage so far of the task's calls, which are about to be stopped. */
  noteSpent(task: TaskId): void
}
