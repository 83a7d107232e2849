import { context, trace } from "@opentelemetry/api"
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks"
import { BasicTracerProvider, ConsoleSpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base"
import { node, setTelemetry, workflow } from "@superstep/engine"
import { telemetry } from "@superstep/engine/telemetry"

// OpenTelemetry, as in any program. The context manager lets your own spans nest.
const processor = new SimpleSpanProcessor(new ConsoleSpanExporter())
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [processor] }))
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())

// Superstep: this one line.
setTelemetry(telemetry())

const shout = node("shout", (text: string) =>
  trace.getTracer("my-app").startActiveSpan("my own span", (span) => {
    span.end()
    return text.toUpperCase()
  }),
)
await workflow("greeting").chain(shout).build().run("hello")
