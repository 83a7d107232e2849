/**
 * The work of an agent, or one call of a tool: a span below that of the task or of the work that it is part of.
 *
 * W1 the span ends once.
 * W2 parents are given, never taken from the active context.
 * W3 a tool's call that goes on after a restart, and what is asked of agents in it, has a span from when it does something
 *    that the record does not answer: what only replays has none.
 */
import { type Attributes, type Context, context, type Span, SpanKind, trace } from "@opentelemetry/api"
import type { ErrorData } from "../core/index.ts"
import type {
  AgentInfo,
  AgentTelemetry,
  ModelCallInfo,
  ModelCallTelemetry,
  ToolCallInfo,
  ToolCallOutcome,
  ToolCallTelemetry,
} from "../runtime/index.ts"
import { markEnded } from "./failure.ts"
import {
  AGENT_DESCRIPTION,
  AGENT_NAME,
  modelAttributes,
  OPERATION,
  TOOL_ARGS,
  TOOL_CALL_ID,
  TOOL_DESCRIPTION,
  TOOL_NAME,
  TOOL_RESULT,
  TOOL_TYPE,
} from "./gen-ai-attributes.ts"
import { ModelCallSpan } from "./model-call-span.ts"
import type { Outlet } from "./outlet.ts"
import { formatTraceparent } from "./traceparent.ts"

/** What a span is below. */
export interface Above {
  readonly outlet: Outlet
  readonly isOpen: boolean
  /** Where its span is the active one; begins it, if it has yet to. */
  open(): Context
}

export class WorkSpan implements Above, AgentTelemetry, ToolCallTelemetry {
  readonly outlet: Outlet
  readonly #above: Above
  readonly #name: string
  readonly #attributes: Attributes
  #open: { readonly span: Span; readonly context: Context } | undefined
  #hasModel: boolean
  #ended = false

  private constructor(above: Above, name: string, attributes: Attributes, isAgent: boolean, isNew: boolean) {
    this.outlet = above.outlet
    this.#above = above
    this.#name = name
    this.#attributes = attributes
    this.#hasModel = !isAgent
    if (isNew) this.open()
  }

  static ofAgent(above: Above, { agent, description }: AgentInfo): WorkSpan {
    const attributes = {
      [OPERATION]: "invoke_agent",
      [AGENT_NAME]: agent,
      [AGENT_DESCRIPTION]: description,
    }
    return new WorkSpan(above, `invoke_agent ${agent}`, attributes, true, above.isOpen)
  }

  static ofTool(above: Above, { tool, description, id, agent, isResumed }: ToolCallInfo): WorkSpan {
    const attributes = {
      [OPERATION]: "execute_tool",
      [TOOL_NAME]: tool,
      [TOOL_TYPE]: "function",
      [TOOL_DESCRIPTION]: description,
      [TOOL_CALL_ID]: id,
      [AGENT_NAME]: agent,
    }
    return new WorkSpan(above, `execute_tool ${tool}`, attributes, false, !isResumed)
  }

  get isOpen(): boolean {
    return this.#open !== undefined
  }

  open(): Context {
    if (this.#open === undefined) {
      const below = this.#above.open()
      const options = { kind: SpanKind.INTERNAL, attributes: this.#attributes }
      const span = this.outlet.tracer.startSpan(this.#name, options, below)
      this.#open = { span, context: trace.setSpan(below, span) }
    }
    return this.#open.context
  }

  get wantsContent(): boolean {
    return this.outlet.content
  }

  get trace(): string | undefined {
    const span = trace.getSpanContext(this.open())
    return span === undefined ? undefined : formatTraceparent(span)
  }

  within<T>(run: () => T): T {
    return this.#open === undefined ? run() : context.with(this.#open.context, run)
  }

  startAgent(agent: AgentInfo): AgentTelemetry {
    return WorkSpan.ofAgent(this, agent)
  }

  startToolCall(call: ToolCallInfo): ToolCallTelemetry {
    return WorkSpan.ofTool(this, call)
  }

  startModelCall(call: ModelCallInfo): ModelCallTelemetry {
    const started = new ModelCallSpan(this.outlet, this.open(), call)
    // An agent's models may be loaded on first use: which one it is shows here.
    if (!this.#hasModel) this.#open?.span.setAttributes(modelAttributes(call))
    this.#hasModel = true
    return started
  }

  end(outcome: ErrorData | ToolCallOutcome = {}): void {
    if (this.#ended) return
    this.#ended = true
    if (this.#open === undefined) return
    const { span } = this.#open
    const { error, args, result } = "code" in outcome ? { error: outcome } : outcome
    span.setAttributes({ [TOOL_ARGS]: args, [TOOL_RESULT]: result })
    markEnded(span, error)
    span.end()
  }
}
