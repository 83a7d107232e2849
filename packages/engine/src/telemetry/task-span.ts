/**
 * Spans of an attempt at a task, and of the agents, tool calls and model calls in it.
 *
 * T1 a span ends once, and only then is the task counted.
 * T2 parents are passed explicitly, never read from the active context: a task may be started in the context of any
 *    other.
 * T3 a tool call that resumes after a restart, and the agents in it, have a span from the first operation that is not
 *    recorded: a replay has none.
 */

import type { Attributes, Context, Link, Span } from "@opentelemetry/api"
import type { EdgeGroup, ErrorData, NodeId } from "../core/index.ts"
import type {
  AgentInfo,
  AgentTelemetry,
  AnswerInfo,
  AskedModel,
  ModelCallInfo,
  ModelCallOutcome,
  ModelCallTelemetry,
  TaskInfo,
  TaskOutcome,
  TaskTelemetry,
  ToolCallInfo,
  ToolCallOutcome,
  ToolCallTelemetry,
} from "../runtime/index.ts"
import * as attr from "./attributes.ts"
import { formatTraceparent, openTelemetry, type TelemetrySink } from "./attributes.ts"

/** What a task needs from its run. */
export interface RunSpanScope {
  readonly sink: TelemetrySink
  readonly runId: string
  readonly workflow: string
  /** The conversation that the run belongs to. */
  readonly thread: string | undefined
  /** The context in which the run's span is active. */
  readonly context: Context
}

/** `queuedMs`: how long the task waited from its creation until it started, if the runtime reports it. */
export type StartedTask = TaskInfo & { readonly queuedMs?: number | undefined }

type Outcome = "completed" | "failed" | "retried" | "rejected" | "cancelled"

/** One attempt at a task: a child of its run, with links to the tasks that caused it. */
export class TaskSpan implements TaskTelemetry, ParentSpan {
  readonly sink: TelemetrySink
  readonly isOpen = true
  readonly run: Attributes
  readonly #workflow: string
  readonly #node: NodeId
  readonly #span: Span
  readonly #context: Context
  readonly #startedAt: number
  #ended = false

  constructor(run: RunSpanScope, task: StartedTask, links: Link[]) {
    const { sink, workflow, runId, thread } = run
    this.sink = sink
    this.#workflow = workflow
    this.#node = task.node
    const conversation = thread === undefined ? {} : { [attr.CONVERSATION]: thread }
    this.run = { [attr.WORKFLOW_NAME]: workflow, [attr.RUN_ID]: runId, ...conversation }
    const attributes = {
      ...this.run,
      [attr.NODE_ID]: task.node,
      [attr.NODE_KIND]: task.kind,
      [attr.TASK_ID]: task.task,
      [attr.TASK_ATTEMPT]: task.attempt,
      [attr.TASK_SUPERSTEP]: task.superstep,
    }
    this.#span = sink.tracer.startSpan(`executor.process ${task.node}`, { attributes, links }, run.context)
    this.#context = openTelemetry().trace.setSpan(run.context, this.#span)
    this.#startedAt = sink.now()
    if (task.queuedMs !== undefined) {
      sink.instruments.taskQueueTime.record(task.queuedMs, this.#measured())
    }
  }

  get trace(): string | undefined {
    return formatTraceparent(this.#span.spanContext())
  }

  within<T>(run: () => T): T {
    return openTelemetry().context.with(this.#context, run)
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
    return new ModelCallSpan(this, call)
  }

  /** The routing is already decided: its spans record the decision and have no duration. */
  routed(kind: EdgeGroup["kind"], targets: readonly NodeId[]): void {
    if (!this.sink.messages) return
    const outcome = targets.length === 0 ? "dropped" : "delivered"
    const group = {
      ...this.run,
      [attr.EDGE_GROUP_KIND]: kind,
      [attr.EDGE_GROUP_TARGETS]: [...targets],
      [attr.EDGE_GROUP_OUTCOME]: outcome,
    }
    const { tracer } = this.sink
    tracer.startSpan(`edge_group.process ${kind}`, { attributes: group }, this.#context).end()
    for (const target of targets.length === 0 ? [undefined] : targets) {
      const message = {
        [attr.MESSAGE_SOURCE]: this.#node,
        [attr.MESSAGE_TARGET]: target,
        [attr.MESSAGE_OUTCOME]: outcome,
        [attr.EDGE_GROUP_KIND]: kind,
      }
      tracer.startSpan("message.send", { attributes: message }, this.#context).end()
    }
  }

  end({ error, retried, usage }: TaskOutcome): void {
    if (this.#ended) return
    this.#ended = true
    const outcome = outcomeOf(error, retried)
    this.#span.setAttribute(attr.TASK_OUTCOME, outcome)
    if (usage !== undefined) this.#span.setAttributes(attr.usageAttributes(usage))
    if (error !== undefined) {
      if (outcome === "cancelled") attr.markCancelled(this.#span, error)
      else attr.markFailed(this.#span, error)
    }
    this.#span.end()
    this.#count(outcome)
  }

  #count(outcome: Outcome): void {
    const { instruments, now } = this.sink
    const measured = this.#measured()
    if (outcome === "retried") instruments.taskRetries.add(1, measured)
    const ended = { ...measured, [attr.TASK_OUTCOME]: outcome }
    instruments.tasks.add(1, ended)
    instruments.taskDuration.record(now() - this.#startedAt, ended)
  }

  #measured() {
    return { [attr.WORKFLOW_NAME]: this.#workflow, [attr.NODE_ID]: this.#node }
  }
}

/** The engine's own errors have no `retried`; a handler's failure states whether another attempt follows. */
function outcomeOf(error: ErrorData | undefined, retried: boolean | undefined): Outcome {
  if (error === undefined) return "completed"
  if (retried) return "retried"
  if (retried === undefined && error.code === "CANCELLED") return "cancelled"
  if (retried === undefined && error.code === "UNDELIVERED") return "rejected"
  return "failed"
}

/** The span of a task, an agent or a tool call, as the parent of others. */
interface ParentSpan {
  readonly sink: TelemetrySink
  /** Names the workflow, the run and its conversation: every span below has these. */
  readonly run: Attributes
  readonly isOpen: boolean
  /** The context in which its span is active; begins the span if necessary. */
  open(): Context
}

/** The work of an agent, or one call of a tool. */
class WorkSpan implements ParentSpan, AgentTelemetry, ToolCallTelemetry {
  readonly sink: TelemetrySink
  readonly run: Attributes
  readonly #parent: ParentSpan
  readonly #name: string
  readonly #attributes: Attributes
  readonly #isRemote: boolean
  #open: { readonly span: Span; readonly context: Context } | undefined
  #hasModel: boolean
  #ended = false

  private constructor(
    parent: ParentSpan,
    name: string,
    attributes: Attributes,
    kind: { readonly isAgent: boolean; readonly isRemote?: boolean },
    isNew: boolean,
  ) {
    this.sink = parent.sink
    this.run = parent.run
    this.#parent = parent
    this.#name = name
    this.#attributes = { ...parent.run, ...attributes }
    this.#isRemote = kind.isRemote === true
    this.#hasModel = !kind.isAgent || this.#isRemote
    if (isNew) this.open()
  }

  static ofAgent(parent: ParentSpan, { agent, description, remote }: AgentInfo): WorkSpan {
    const attributes = {
      [attr.OPERATION]: "invoke_agent",
      [attr.AGENT_NAME]: agent,
      [attr.AGENT_DESCRIPTION]: description,
      ...(remote === undefined ? {} : attr.remoteAttributes(remote)),
    }
    const kind = { isAgent: true, isRemote: remote !== undefined }
    return new WorkSpan(parent, `invoke_agent ${agent}`, attributes, kind, parent.isOpen)
  }

  static ofTool(parent: ParentSpan, { tool, description, id, agent, isResumed }: ToolCallInfo): WorkSpan {
    const attributes = {
      [attr.OPERATION]: "execute_tool",
      [attr.TOOL_NAME]: tool,
      [attr.TOOL_TYPE]: "function",
      [attr.TOOL_DESCRIPTION]: description,
      [attr.TOOL_CALL_ID]: id,
      [attr.AGENT_NAME]: agent,
    }
    return new WorkSpan(parent, `execute_tool ${tool}`, attributes, { isAgent: false }, !isResumed)
  }

  get isOpen(): boolean {
    return this.#open !== undefined
  }

  open(): Context {
    if (this.#open === undefined) {
      const below = this.#parent.open()
      const { CLIENT, INTERNAL } = openTelemetry().SpanKind
      const options = { kind: this.#isRemote ? CLIENT : INTERNAL, attributes: this.#attributes }
      const span = this.sink.tracer.startSpan(this.#name, options, below)
      this.#open = { span, context: openTelemetry().trace.setSpan(below, span) }
    }
    return this.#open.context
  }

  get wantsContent(): boolean {
    return this.sink.content
  }

  get trace(): string | undefined {
    const span = openTelemetry().trace.getSpanContext(this.open())
    return span === undefined ? undefined : formatTraceparent(span)
  }

  within<T>(run: () => T): T {
    return this.#open === undefined ? run() : openTelemetry().context.with(this.#open.context, run)
  }

  startAgent(agent: AgentInfo): AgentTelemetry {
    return WorkSpan.ofAgent(this, agent)
  }

  startToolCall(call: ToolCallInfo): ToolCallTelemetry {
    return WorkSpan.ofTool(this, call)
  }

  startModelCall(call: ModelCallInfo): ModelCallTelemetry {
    const started = new ModelCallSpan(this, call)
    // An agent's models may be loaded on first use: the actual one is known here.
    if (!this.#hasModel) this.#open?.span.setAttributes(attr.modelAttributes(call))
    this.#hasModel = true
    return started
  }

  end(outcome: ErrorData | ToolCallOutcome = {}): void {
    if (this.#ended) return
    this.#ended = true
    if (this.#open === undefined) return
    const { span } = this.#open
    const { error, args, result } = "code" in outcome ? { error: outcome } : outcome
    span.setAttributes({ [attr.TOOL_ARGS]: args, [attr.TOOL_RESULT]: result })
    attr.markEnded(span, error)
    span.end()
  }
}

// One model call as its caller sees it: a span with all attempts and fallbacks, as the conventions require. A failed attempt
// is an event; the requests of HTTP clients, if they are traced, are the span's children.
//
// G1 the span ends once, and only then is it counted.
// G2 it has the numbers that the provider reports, never our estimates.
// G3 it names the model that was called last, which is the one that answered, if any.

/** The span that a call is below. */
interface ModelCallParent {
  readonly sink: TelemetrySink
  /** Names the workflow and the run. */
  readonly run: Attributes
  open(): Context
}

const CHAT = { [attr.OPERATION]: "chat" }

class ModelCallSpan implements ModelCallTelemetry {
  readonly #sink: TelemetrySink
  readonly #workflow: Attributes
  readonly #span: Span
  readonly #context: Context
  readonly #startedAt: number
  #asked: AskedModel
  #answer: AnswerInfo | undefined
  #attempts = 0
  #attemptedAt = 0
  #firstChunk: number | undefined
  #ended = false

  constructor(parent: ModelCallParent, call: ModelCallInfo) {
    const { sink, run } = parent
    const below = parent.open()
    this.#sink = sink
    // Metrics name workflows, never runs.
    this.#workflow = { [attr.WORKFLOW_NAME]: run[attr.WORKFLOW_NAME] }
    this.#asked = call
    const attributes = {
      ...run,
      ...CHAT,
      ...attr.modelAttributes(call),
      ...attr.settingsAttributes(call.settings),
      [attr.AGENT_NAME]: call.agent,
      [attr.OUTPUT_TYPE]: call.isJson ? "json" : "text",
    }
    this.#span = sink.tracer.startSpan(
      `chat ${call.model}`,
      { kind: openTelemetry().SpanKind.CLIENT, attributes },
      below,
    )
    this.#context = openTelemetry().trace.setSpan(below, this.#span)
    this.#startedAt = sink.now()
  }

  get wantsContent(): boolean {
    return this.#sink.content
  }

  attempt<T>(asked: AskedModel, isStreamed: boolean, ask: () => T): T {
    const { provider, model } = this.#asked
    if (asked.provider !== provider || asked.model !== model) {
      this.#span.updateName(`chat ${asked.model}`)
      this.#span.setAttributes({
        ...attr.modelAttributes(asked),
        ...attr.settingsAttributes(asked.settings),
      })
    }
    this.#asked = asked
    this.#answer = undefined
    this.#firstChunk = undefined
    this.#attempts++
    if (isStreamed) this.#span.setAttribute(attr.REQUEST_STREAM, true)
    this.#attemptedAt = this.#sink.now()
    return openTelemetry().context.with(this.#context, ask)
  }

  attemptFailed(error: ErrorData): void {
    this.#span.addEvent(attr.ATTEMPT_FAILED, {
      ...attr.modelAttributes(this.#asked),
      [attr.ATTEMPT]: this.#attempts,
      [attr.ERROR_TYPE]: attr.errorType(error),
      "exception.message": error.message,
    })
  }

  began(): void {
    this.#firstChunk ??= this.#seconds(this.#attemptedAt)
  }

  answered(answer: AnswerInfo): void {
    this.#answer = { ...this.#answer, ...answer }
  }

  end({ error, instructions, input, output }: ModelCallOutcome): void {
    if (this.#ended) return
    this.#ended = true
    const span = this.#span
    span.setAttribute(attr.ATTEMPTS, this.#attempts)
    if (this.#answer !== undefined) span.setAttributes(attr.answerAttributes(this.#answer))
    if (this.#firstChunk !== undefined) span.setAttribute(attr.FIRST_CHUNK, this.#firstChunk)
    span.setAttributes({ [attr.INSTRUCTIONS]: instructions, [attr.INPUT]: input, [attr.OUTPUT]: output })
    attr.markEnded(span, error)
    span.end()
    this.#count(error)
  }

  #count(error: ErrorData | undefined): void {
    const { modelDuration, modelFirstChunk, modelTokens } = this.#sink.instruments
    const { model, tokens } = this.#answer ?? {}
    const measured: Attributes = { ...CHAT, ...this.#workflow, ...attr.modelAttributes(this.#asked) }
    if (model !== undefined) measured[attr.RESPONSE_MODEL] = model
    const failed = error === undefined ? {} : { [attr.ERROR_TYPE]: attr.errorType(error) }
    modelDuration.record(this.#seconds(this.#startedAt), { ...measured, ...failed })
    if (this.#firstChunk !== undefined) modelFirstChunk.record(this.#firstChunk, measured)
    if (tokens?.input !== undefined)
      modelTokens.record(tokens.input, { ...measured, [attr.TOKEN_KIND]: "input" })
    if (tokens?.output !== undefined) {
      modelTokens.record(tokens.output, { ...measured, [attr.TOKEN_KIND]: "output" })
    }
  }

  #seconds(since: number): number {
    return (this.#sink.now() - since) / 1_000
  }
}
