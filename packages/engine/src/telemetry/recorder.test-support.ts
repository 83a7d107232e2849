/** The SDK with in-memory exporters: recorded spans, and open ones. */
import type { Attributes } from "@opentelemetry/api"
import { type DataPoint, type Histogram, MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics"
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
  type SpanProcessor,
} from "@opentelemetry/sdk-trace-base"
import { expect } from "vitest"

/** Reads metrics on demand only. */
class OnDemandReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

export interface Recorder {
  readonly provider: BasicTracerProvider
  readonly tracer: ReturnType<BasicTracerProvider["getTracer"]>
  readonly meters: MeterProvider
  readonly meter: ReturnType<MeterProvider["getMeter"]>
  /** Ended spans, in the order in which they ended. */
  spans(name?: string): ReadableSpan[]
  /** The only span with that name. */
  span(name: string): ReadableSpan
  /** Names of spans that were started and have not ended. */
  open(): string[]
  /** Points of a metric: its attributes with its sum, or its histogram's count and sum. */
  points(metric: string): Promise<{ attributes: Attributes; value: unknown }[]>
}

export function recorder(sampler?: Sampler): Recorder {
  const exporter = new InMemorySpanExporter()
  const open = new Map<string, string>()
  const watcher: SpanProcessor = {
    onStart: (span) => void open.set(span.spanContext().spanId, span.name),
    onEnd: (span) => expect(open.delete(span.spanContext().spanId)).toBe(true),
    forceFlush: async () => {},
    shutdown: async () => {},
  }
  const provider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter), watcher],
    ...(sampler === undefined ? {} : { sampler }),
  })
  const reader = new OnDemandReader()
  const meters = new MeterProvider({ readers: [reader] })
  const spans = (name?: string) =>
    exporter.getFinishedSpans().filter((span) => name === undefined || span.name === name)
  return {
    provider,
    tracer: provider.getTracer("test"),
    meters,
    meter: meters.getMeter("test"),
    spans,
    span(name) {
      const found = spans(name)
      expect(found.length, `spans named "${name}"`).toBe(1)
      return found[0] as ReadableSpan
    },
    open: () => [...open.values()],
    async points(metric) {
      const { resourceMetrics } = await reader.collect()
      const found = resourceMetrics.scopeMetrics
        .flatMap((scope) => scope.metrics)
        .find((one) => one.descriptor.name === metric)
      const points = (found?.dataPoints ?? []) as DataPoint<number | Histogram>[]
      return points.map(({ attributes, value }) => ({
        attributes,
        value: typeof value === "number" ? value : { count: value.count, sum: value.sum },
      }))
    },
  }
}

export function idOf(span: ReadableSpan): string {
  return span.spanContext().spanId
}

export function parentOf(span: ReadableSpan): string | undefined {
  return span.parentSpanContext?.spanId
}

/** Span ids that a span links to. */
export function linksOf(span: ReadableSpan): string[] {
  return span.links.map((link) => link.context.spanId)
}

export function traceIdsOf(spans: readonly ReadableSpan[]): string[] {
  return [...new Set(spans.map((span) => span.spanContext().traceId))]
}
