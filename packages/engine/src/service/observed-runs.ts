/**
 * What a process counts of the runs that it executes, for metrics: a telemetry that reports the ends of runs and tasks to an
 * observer, and everything to the telemetry that the runtime has anyway.
 */
import type { NodeId, RunStatus, Usage } from "../core/index.ts"
import type { RunTelemetry, TaskTelemetry, Telemetry, WorkTelemetry } from "../runtime/index.ts"

export interface RunObserver {
  /** A run has ended in this process. `usage` is that of its whole life. Sub-workflows are not reported. */
  runEnded(run: {
    readonly workflow: string
    readonly status: RunStatus
    /** In this process. */
    readonly milliseconds: number
    readonly usage: Usage
  }): void
  /** An attempt at a task has ended. */
  taskEnded(task: {
    readonly workflow: string
    readonly node: NodeId
    readonly outcome: "completed" | "failed" | "retried"
    readonly milliseconds: number
  }): void
}

export function observedTelemetry(
  before: Telemetry | undefined,
  observer: RunObserver,
  now: () => number = () => performance.now(),
): Telemetry {
  return {
    built: (graph) => before?.built(graph),
    startRun(run) {
      const inner = before?.startRun(run)
      const { workflow } = run
      const began = now()
      let hasEnded = false
      const telemetry: RunTelemetry = {
        trace: inner?.trace ?? run.parent,
        startTask(task) {
          const traced = inner?.startTask(task)
          const taskBegan = now()
          const end: TaskTelemetry["end"] = (outcome) => {
            traced?.end(outcome)
            const { error, retried } = outcome
            observer.taskEnded({
              workflow,
              node: task.node,
              outcome: error === undefined ? "completed" : retried ? "retried" : "failed",
              milliseconds: now() - taskBegan,
            })
          }
          return traced === undefined ? { routed: nothing, end, ...UNTRACED } : withEnd(traced, end)
        },
        end(status, error, usage) {
          inner?.end(status, error, usage)
          if (hasEnded || run.path.length > 0) return
          hasEnded = true
          observer.runEnded({ workflow, status, milliseconds: now() - began, usage })
        },
      }
      return telemetry
    },
  }
}

/** Its methods use private fields: they are called on the object itself. */
function withEnd(task: TaskTelemetry, end: TaskTelemetry["end"]): TaskTelemetry {
  return {
    trace: task.trace,
    within: (run) => task.within(run),
    startAgent: (agent) => task.startAgent(agent),
    startModelCall: (call) => task.startModelCall(call),
    startToolCall: (call) => task.startToolCall(call),
    routed: (kind, targets) => task.routed(kind, targets),
    end,
  }
}

const nothing = () => undefined

/** Work that nobody traces. */
const UNTRACED: WorkTelemetry = {
  trace: undefined,
  within: (run) => run(),
  startAgent: () => ({ ...UNTRACED, end: nothing }),
  startModelCall: () => ({
    wantsContent: false,
    attempt: (_asked, _isStreamed, ask) => ask(),
    attemptFailed: nothing,
    began: nothing,
    answered: nothing,
    end: nothing,
  }),
  startToolCall: () => ({ ...UNTRACED, wantsContent: false, end: nothing }),
}
