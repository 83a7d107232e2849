/** How long a provider asks to be left alone, from the headers of its refusal. */

/** Milliseconds from `now`, or undefined when it does not say or cannot be understood. */
export function retryAfter(headers: unknown, now: number): number | undefined {
  const milliseconds = header(headers, "retry-after-ms")
  if (milliseconds !== undefined && /^\d+(\.\d+)?$/.test(milliseconds)) return Math.ceil(Number(milliseconds))
  const value = header(headers, "retry-after")
  if (value === undefined) return undefined
  if (/^\d+(\.\d+)?$/.test(value)) return Math.ceil(Number(value) * 1_000)
  // A date; `Date.parse` alone would take "-1" and "1 2" for one.
  const at = /^[A-Za-z]{3,9},? /.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}

/** Names in any case; a plain record or a `Headers`. */
function header(headers: unknown, name: string): string | undefined {
  if (typeof headers !== "object" || headers === null) return undefined
  const entries = headers instanceof Headers ? headers.entries() : Object.entries(headers)
  for (const [key, value] of entries) {
    if (key.toLowerCase() === name && typeof value === "string") return value.trim()
  }
  return undefined
}
