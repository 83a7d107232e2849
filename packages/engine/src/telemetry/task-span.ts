/**
 * One attempt at a task: a span below its run's, with links to the tasks that caused it.
 *
 * T1 the span ends once, and only then is it counted.
 * T2 parents are given, never taken from the active context: a task may be started from any other's context.
 */
import { type Context, context, type Link, type Span, trace } from "@opentelemetry/api"
import type { EdgeGroup, ErrorData, NodeId } from "../core/index.ts"
import type {
  AgentInfo,
  AgentTelemetry,
  ModelCallInfo,
  ModelCallTelemetry,
  TaskInfo,
  TaskOutcome,
  TaskTelemetry,
  ToolCallInfo,
  ToolCallTelemetry,
} from "../runtime/index.ts"
import {
  EDGE_GROUP_KIND,
  EDGE_GROUP_OUTCOME,
  EDGE_GROUP_TARGETS,
  MESSAGE_OUTCOME,
  MESSAGE_SOURCE,
  MESSAGE_TARGET,
  NODE_ID,
  NODE_KIND,
  RUN_ID,
  TASK_ATTEMPT,
  TASK_ID,
  TASK_OUTCOME,
  TASK_SUPERSTEP,
  usageAttributes,
  WORKFLOW_NAME,
} from "./attributes.ts"
import { markCancelled, markFailed } from "./failure.ts"
import { ModelCallSpan } from "./model-call-span.ts"
import type { Outlet } from "./outlet.ts"
import { formatTraceparent } from "./traceparent.ts"
import { type Above, WorkSpan } from "./work-span.ts"

/** What a task needs to know of its run. */
export interface Surroundings {
  readonly outlet: Outlet
  readonly runId: string
  readonly workflow: string
  /** Where the run's span is the active one. */
  readonly context: Context
}

/** `queuedMs`: how long the task waited from when it was known until it started, where the runtime says so. */
export type StartedTask = TaskInfo & { readonly queuedMs?: number | undefined }

type Outcome = "completed" | "failed" | "retried" | "rejected" | "cancelled"

export class TaskSpan implements TaskTelemetry, Above {
  readonly outlet: Outlet
  readonly isOpen = true
  readonly #workflow: string
  readonly #node: NodeId
  readonly #span: Span
  readonly #context: Context
  readonly #startedAt: number
  #ended = false

  constructor(run: Surroundings, task: StartedTask, links: Link[]) {
    const { outlet, workflow, runId } = run
    this.outlet = outlet
    this.#workflow = workflow
    this.#node = task.node
    const attributes = {
      [WORKFLOW_NAME]: workflow,
      [RUN_ID]: runId,
      [NODE_ID]: task.node,
      [NODE_KIND]: task.kind,
      [TASK_ID]: task.task,
      [TASK_ATTEMPT]: task.attempt,
      [TASK_SUPERSTEP]: task.superstep,
    }
    this.#span = outlet.tracer.startSpan(`executor.process ${task.node}`, { attributes, links }, run.context)
    this.#context = trace.setSpan(run.context, this.#span)
    this.#startedAt = outlet.now()
    if (task.queuedMs !== undefined) {
      outlet.instruments.taskQueueTime.record(task.queuedMs, this.#measured())
    }
  }

  get trace(): string | undefined {
    return formatTraceparent(this.#span.spanContext())
  }

  within<T>(run: () => T): T {
    return context.with(this.#context, run)
  }

  open(): Context {
    return this.#context
  }

  startAgent(agent: AgentInfo): AgentTelemetry {
    return WorkSpan.ofAgent(this, agent)
  }
  startToolCall(call: ToolCallInfo): ToolCallTelemetry {
    return WorkSpan.ofTool(this, call)
  }
  startModelCall(call: ModelCallInfo): ModelCallTelemetry {
    return new ModelCallSpan(this.outlet, this.#context, call)
  }

  /** The routing was decided before: its spans say what was decided, and take no time. */
  routed(kind: EdgeGroup["kind"], targets: readonly NodeId[]): void {
    if (!this.outlet.messages) return
    const outcome = targets.length === 0 ? "dropped" : "delivered"
    const group = {
      [EDGE_GROUP_KIND]: kind,
      [EDGE_GROUP_TARGETS]: [...targets],
      [EDGE_GROUP_OUTCOME]: outcome,
    }
    const { tracer } = this.outlet
    tracer.startSpan(`edge_group.process ${kind}`, { attributes: group }, this.#context).end()
    for (const target of targets.length === 0 ? [undefined] : targets) {
      const message = {
        [MESSAGE_SOURCE]: this.#node,
        [MESSAGE_TARGET]: target,
        [MESSAGE_OUTCOME]: outcome,
        [EDGE_GROUP_KIND]: kind,
      }
      tracer.startSpan("message.send", { attributes: message }, this.#context).end()
    }
  }

  end({ error, retried, usage }: TaskOutcome): void {
    if (this.#ended) return
    this.#ended = true
    const outcome = outcomeOf(error, retried)
    this.#span.setAttribute(TASK_OUTCOME, outcome)
    if (usage !== undefined) this.#span.setAttributes(usageAttributes(usage))
    if (error !== undefined) {
      if (outcome === "cancelled") markCancelled(this.#span, error)
      else markFailed(this.#span, error)
    }
    this.#span.end()
    this.#count(outcome)
  }

  #count(outcome: Outcome): void {
    const { instruments, now } = this.outlet
    const measured = this.#measured()
    if (outcome === "retried") instruments.taskRetries.add(1, measured)
    const ended = { ...measured, [TASK_OUTCOME]: outcome }
    instruments.tasks.add(1, ended)
    instruments.taskDuration.record(now() - this.#startedAt, ended)
  }

  #measured() {
    return { [WORKFLOW_NAME]: this.#workflow, [NODE_ID]: this.#node }
  }
}

/** The engine's own verdicts come without `retried`; a handler's failure says whether it is followed by another attempt. */
function outcomeOf(error: ErrorData | undefined, retried: boolean | undefined): Outcome {
  if (error === undefined) return "completed"
  if (retried) return "retried"
  if (retried === undefined && error.code === "CANCELLED") return "cancelled"
  if (retried === undefined && error.code === "UNDELIVERED") return "rejected"
  return "failed"
}
