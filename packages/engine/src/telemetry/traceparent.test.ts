import { INVALID_SPAN_CONTEXT, TraceFlags } from "@opentelemetry/api"
import { describe, expect, it } from "vitest"
import { formatTraceparent, parseTraceparent } from "./attributes.ts"

const traceId = "0af7651916cd43dd8448eb211c80319c"
const spanId = "b7ad6b7169203331"

describe("traceparent", () => {
  it("formats a sampled and an unsampled span as W3C defines", () => {
    expect(formatTraceparent({ traceId, spanId, traceFlags: TraceFlags.SAMPLED })).toBe(
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    )
    expect(formatTraceparent({ traceId, spanId, traceFlags: TraceFlags.NONE })).toBe(
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
    )
  })

  it("is absent for a span without ids", () => {
    expect(formatTraceparent(INVALID_SPAN_CONTEXT)).toBeUndefined()
  })

  it("reads back what it wrote", () => {
    for (const traceFlags of [0, 1, 3, 255]) {
      const text = formatTraceparent({ traceId, spanId, traceFlags }) as string
      expect(parseTraceparent(text)).toEqual({ traceId, spanId, traceFlags })
    }
  })

  it.each([
    ["nothing", ""],
    ["another version", `01-${traceId}-${spanId}-01`],
    ["the forbidden version", `ff-${traceId}-${spanId}-01`],
    ["capital letters", `00-${traceId.toUpperCase()}-${spanId}-01`],
    ["a trace id of zeros", `00-${"0".repeat(32)}-${spanId}-01`],
    ["a span id of zeros", `00-${traceId}-${"0".repeat(16)}-01`],
    ["a short trace id", `00-${traceId.slice(1)}-${spanId}-01`],
    ["no flags", `00-${traceId}-${spanId}`],
    ["one digit of flags", `00-${traceId}-${spanId}-1`],
    ["something after the flags", `00-${traceId}-${spanId}-01-more`],
    ["a line end", `00-${traceId}-${spanId}-01\n`],
    ["space before it", ` 00-${traceId}-${spanId}-01`],
    ["letters that are no digits", `00-${"g".repeat(32)}-${spanId}-01`],
  ])("ignores %s", (_, text) => {
    expect(parseTraceparent(text)).toBeUndefined()
  })
})
