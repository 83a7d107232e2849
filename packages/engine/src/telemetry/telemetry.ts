/** OpenTelemetry spans and metrics of workflows and their runs. */
import type { Meter, Tracer } from "@opentelemetry/api"
import { type Graph, hopsOf, signatureOf } from "../core/index.ts"
import type { Telemetry } from "../runtime/index.ts"
import * as attr from "./attributes.ts"
import { makeInstruments, type TelemetrySink } from "./instruments.ts"
import { type OpenTelemetryApi, openTelemetry, setOpenTelemetry } from "./open-telemetry.ts"
import { RunSpan } from "./run-span.ts"

export interface TelemetryOptions {
  /** Makes the spans. Default: the global tracer provider's. */
  readonly tracer?: Tracer | undefined
  /** Makes the metrics. Default: the global meter provider's, as it is when the first run starts. */
  readonly meter?: Meter | undefined
  /** Whether routing and messages get spans of their own (`edge_group.process`, `message.send`). Default true. */
  readonly messages?: boolean | undefined
  /**
   * Whether spans contain prompts, answers, and the arguments and results of tools. Secret arguments and what
   * looks like a key stay masked, personal data do not. Default false.
   */
  readonly content?: boolean | undefined
  /**
   * The module `@opentelemetry/api`. Default: the one that is installed. A program in one file that is deployed without
   * `node_modules` passes its own.
   */
  readonly api?: OpenTelemetryApi | undefined
  /** Milliseconds that only go up, for durations. Default: the process's own. */
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
