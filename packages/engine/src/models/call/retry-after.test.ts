import { expect, test } from "vitest"
import { retryAfter } from "./call-failure.ts"

const NOW = Date.parse("Tue, 01 Jul 2025 12:00:00 GMT")

test.each([
  [{ "retry-after": "2" }, 2_000],
  [{ "retry-after": " 0.5 " }, 500],
  [{ "RETRY-AFTER": "0" }, 0],
  [{ "retry-after-ms": "1200" }, 1_200],
  [{ "retry-after": "Tue, 01 Jul 2025 12:00:30 GMT" }, 30_000],
  [{ "retry-after": "Tue, 01 Jul 2025 11:00:00 GMT" }, 0],
  [new Headers({ "Retry-After": "3" }), 3_000],
  [{ "retry-after-ms": "soon", "retry-after": "4" }, 4_000],
])("%j requests %d ms", (headers, expected) => {
  expect(retryAfter(headers, NOW)).toBe(expected)
})

test.each([
  [undefined],
  [null],
  ["retry-after: 2"],
  [{}],
  [{ "retry-after": "-1" }],
  [{ "retry-after": "soon" }],
  [{ "retry-after": "1 2" }],
  [{ "retry-after": "" }],
  [{ "retry-after": undefined }],
])("%j is not a valid Retry-After", (headers) => {
  expect(retryAfter(headers, NOW)).toBeUndefined()
})
