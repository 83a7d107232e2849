/** Telemetry: a run as OpenTelemetry spans, here collected in memory and printed. */
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base"
import { node, workflow } from "superstep"
import { telemetry } from "superstep/telemetry"

export const exporter = new InMemorySpanExporter()
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })

// For one run. For all runs of a program: `setTelemetry(telemetry())`, which uses OpenTelemetry's global provider.
export const traced = telemetry({ tracer: provider.getTracer("warehouse"), messages: false })

const order = node("order", (id: string) => id)
const pick = node("pick", (id: string) => `${id} picked`)
const label = node("label", (id: string) => `${id} labelled`)
const ship = node("ship", (done: readonly string[]) => done.join(", "))

export const shipping = workflow("shipping")
  .start(order)
  .fanOut(order, [pick, label])
  .fanIn([pick, label], ship)
  .build()

if (import.meta.filename === process.argv[1]) {
  console.log(...(await shipping.run("A-1", { telemetry: traced })).outputs)
  // The span of a task is a child of its run's span, and links to the tasks that caused it: a join links to all of them.
  for (const span of exporter.getFinishedSpans()) console.log(`${span.name}, links: ${span.links.length}`)
}
