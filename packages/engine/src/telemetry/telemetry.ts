/** OpenTelemetry spans and metrics of workflows and their runs. */

import type { Context, Link, Meter, Span, Tracer } from "@opentelemetry/api"
import { type ErrorData, type Graph, hopsOf, type RunStatus, signatureOf, type Usage } from "../core/index.ts"
import type { RunInfo, RunTelemetry, TaskTelemetry, Telemetry } from "../runtime/index.ts"
import * as attr from "./attributes.ts"
import {
  formatTraceparent,
  makeInstruments,
  type OpenTelemetryApi,
  openTelemetry,
  parseTraceparent,
  setOpenTelemetry,
  type TelemetrySink,
} from "./attributes.ts"
import { type RunSpanScope, type StartedTask, TaskSpan } from "./task-span.ts"

export interface TelemetryOptions {
  /** Creates the spans. Default: the global tracer provider's. */
  readonly tracer?: Tracer | undefined
  /** Creates the metrics. Default: the global meter provider's, as it is when the first run starts. */
  readonly meter?: Meter | undefined
  /** Whether routing and messages get spans of their own (`edge_group.process`, `message.send`). Default true. */
  readonly messages?: boolean | undefined
  /**
   * Whether spans contain prompts, answers, and the arguments and results of tools. Secret arguments and likely keys stay
   * masked; personal data does not. Default false.
   */
  readonly content?: boolean | undefined
  /**
   * The module `@opentelemetry/api`. Default: the one that is installed. A program in one file that is deployed without
   * `node_modules` passes its own.
   */
  readonly api?: OpenTelemetryApi | undefined
  /** A monotonic clock in milliseconds, for durations. Default: the process's own. */
  readonly now?: (() => number) | undefined
}

/** The instrumentation scope. */
const SCOPE = "@superstep/engine"

/** For `setTelemetry`, or for the `telemetry` option of one run. */
export function telemetry(options: TelemetryOptions = {}): Telemetry {
  const { meter, messages = true, content = false, now = () => performance.now() } = options
  if (options.api !== undefined) setOpenTelemetry(options.api)
  const { trace, metrics } = openTelemetry()
  const tracer = options.tracer ?? trace.getTracer(SCOPE)
  let sink: TelemetrySink | undefined
  return {
    built: (graph) => reportBuild(tracer, graph),
    startRun(run) {
      // Unlike a tracer, a meter fetched before its provider is set never records anything.
      sink ??= {
        tracer,
        messages,
        content,
        now,
        instruments: makeInstruments(meter ?? metrics.getMeter(SCOPE)),
      }
      return new RunSpan(sink, run)
    },
  }
}

function reportBuild(tracer: Tracer, graph: Graph): void {
  const attributes = {
    [attr.WORKFLOW_NAME]: graph.name,
    [attr.WORKFLOW_NODES]: graph.nodes.length,
    [attr.WORKFLOW_EDGES]: graph.spec.edges.flatMap(hopsOf).length,
    [attr.WORKFLOW_SIGNATURE]: signatureOf(graph).hash,
  }
  tracer.startSpan("workflow.build", { attributes }).end()
}

// The span of one workflow of a run. Its parent is the task that called it, the caller's own span or, if the run was
// resumed, the span of its first life, so that all its lives are one trace.
//
// R1 the span ends once, and only then is it counted.
// R2 what a run used is counted at the end of the run itself: its total includes sub-workflows and earlier lives.

class RunSpan implements RunTelemetry, RunSpanScope {
  readonly sink: TelemetrySink
  readonly context: Context
  readonly trace: string | undefined
  readonly #info: RunInfo
  readonly #span: Span
  readonly #startedAt: number
  #ended = false

  constructor(sink: TelemetrySink, info: RunInfo) {
    this.sink = sink
    this.#info = info
    const active = openTelemetry().context.active()
    const parent = info.parent === undefined ? undefined : parseTraceparent(info.parent)
    const below =
      parent === undefined
        ? active
        : openTelemetry().trace.setSpanContext(active, {
            ...parent,
            isRemote: info.resumed || info.path.length === 0,
          })
    const attributes = {
      [attr.WORKFLOW_NAME]: info.workflow,
      [attr.RUN_ID]: info.runId,
      [attr.RUN_PATH]: info.path.join("/"),
      [attr.RUN_RESUMED]: info.resumed,
    }
    const links = parent === undefined ? [] : linksToResumer(info, active)
    this.#span = sink.tracer.startSpan("workflow.run", { attributes, links }, below)
    this.context = openTelemetry().trace.setSpan(below, this.#span)
    this.trace = formatTraceparent(this.#span.spanContext())
    this.#startedAt = sink.now()
  }

  get runId(): string {
    return this.#info.runId
  }
  get workflow(): string {
    return this.#info.workflow
  }
  get thread(): string | undefined {
    return this.#info.thread
  }

  startTask(task: StartedTask): TaskTelemetry {
    return new TaskSpan(this, task, this.#linksTo(task.causes))
  }

  /** The cause of a run's first task is the run, in this life or its first: not a task to link to. */
  #linksTo(causes: readonly string[]): Link[] {
    const links: Link[] = []
    for (const cause of causes) {
      if (cause === this.trace || cause === this.#info.parent) continue
      const span = parseTraceparent(cause)
      if (span !== undefined) links.push({ context: span })
    }
    return links
  }

  end(status: RunStatus, error: ErrorData | undefined, usage: Usage): void {
    if (this.#ended) return
    this.#ended = true
    this.#span.setAttribute(attr.RUN_STATUS, status)
    this.#span.setAttributes(attr.usageAttributes(usage))
    if (error !== undefined) {
      if (status === "cancelled") attr.markCancelled(this.#span, error)
      else attr.markFailed(this.#span, error)
    }
    this.#span.end()
    this.#count(status, usage)
  }

  #count(status: RunStatus, usage: Usage): void {
    const { instruments, now } = this.sink
    const workflow = { [attr.WORKFLOW_NAME]: this.workflow }
    const nested = this.#info.path.length > 0
    const ended = { ...workflow, [attr.RUN_STATUS]: status, [attr.RUN_NESTED]: nested }
    instruments.runs.add(1, ended)
    instruments.runDuration.record(now() - this.#startedAt, ended)
    if (nested) return
    const { inputTokens, outputTokens, usd } = usage
    if (inputTokens !== undefined)
      instruments.tokens.add(inputTokens, { ...workflow, [attr.TOKEN_TYPE]: "input" })
    if (outputTokens !== undefined)
      instruments.tokens.add(outputTokens, { ...workflow, [attr.TOKEN_TYPE]: "output" })
    if (usd !== undefined) instruments.cost.add(usd, workflow)
  }
}

/** A resumed run belongs to its first life's trace; the span that resumed it is linked. */
function linksToResumer({ resumed, path }: RunInfo, active: Context): Link[] {
  const resumer = openTelemetry().trace.getSpanContext(active)
  return resumed && path.length === 0 && resumer !== undefined ? [{ context: resumer }] : []
}
