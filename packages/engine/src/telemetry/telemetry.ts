/** OpenTelemetry spans and metrics of workflows and their runs. */
import { type Meter, metrics, type Tracer, trace } from "@opentelemetry/api"
import { type Graph, hopsOf, signatureOf } from "../core/index.ts"
import type { Telemetry } from "../runtime/index.ts"
import { WORKFLOW_EDGES, WORKFLOW_NAME, WORKFLOW_NODES, WORKFLOW_SIGNATURE } from "./attributes.ts"
import { makeInstruments } from "./instruments.ts"
import type { Outlet } from "./outlet.ts"
import { RunSpan } from "./run-span.ts"

export interface TelemetryOptions {
  /** Makes the spans. Default: the global tracer provider's. */
  readonly tracer?: Tracer | undefined
  /** Makes the metrics. Default: the global meter provider's, as it is when the first run starts. */
  readonly meter?: Meter | undefined
  /** Whether routing and messages get spans of their own (`edge_group.process`, `message.send`). Default true. */
  readonly messages?: boolean | undefined
  /**
   * Whether spans have what is said: prompts, answers, and the arguments and results of tools. Secret arguments and what
   * looks like a key stay masked, personal data do not. Default false.
   */
  readonly content?: boolean | undefined
  /** Milliseconds that only go up, for durations. Default: the process's own. */
  readonly now?: (() => number) | undefined
}

/** The instrumentation scope. */
const SCOPE = "@superstep/engine"

/** For `setTelemetry`, or for the `telemetry` option of one run. */
export function telemetry(options: TelemetryOptions = {}): Telemetry {
  const { meter, messages = true, content = false, now = () => performance.now() } = options
  const tracer = options.tracer ?? trace.getTracer(SCOPE)
  let outlet: Outlet | undefined
  return {
    built: (graph) => reportBuild(tracer, graph),
    startRun(run) {
      // Unlike a tracer, a meter that was fetched before its provider was set would stay silent for ever.
      outlet ??= {
        tracer,
        messages,
        content,
        now,
        instruments: makeInstruments(meter ?? metrics.getMeter(SCOPE)),
      }
      return new RunSpan(outlet, run)
    },
  }
}

function reportBuild(tracer: Tracer, graph: Graph): void {
  const attributes = {
    [WORKFLOW_NAME]: graph.name,
    [WORKFLOW_NODES]: graph.nodes.length,
    [WORKFLOW_EDGES]: graph.spec.edges.flatMap(hopsOf).length,
    [WORKFLOW_SIGNATURE]: signatureOf(graph).hash,
  }
  tracer.startSpan("workflow.build", { attributes }).end()
}
