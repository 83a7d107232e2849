/** Dates as documents and servers state them, as days that can be compared: 2026-03-14, or 2026-03, or 2026. */

/** `2026-03-14T10:00Z`, `2026/03/14`, `20260314`, and `D:20260314100000` of PDF. */
const NUMERIC = /^(?:D:)?(\d{4})(?:([-/.]?)(\d{2})(?:\2(\d{2}))?)?(?!\d(?!\d)|[-/.]\d)/
const MAX_LENGTH = 60

/** Undefined if the text is not a valid date. */
export function calendarDate(text: string): string | undefined {
  const stated = text.trim()
  if (stated.length > MAX_LENGTH) return undefined
  const [, year, , month, day] = NUMERIC.exec(stated) ?? []
  if (year !== undefined) return asDate(Number(year), month, day)
  // With a month by its name: `14 March 2026`, `Sat, 14 Mar 2026 10:00:00 GMT`.
  if (!/\b\d{4}\b/.test(stated) || !/[a-z]{3}/i.test(stated)) return undefined
  const time = new Date(/\d:\d/.test(stated) ? stated : `${stated} UTC`)
  return Number.isNaN(time.getTime()) ? undefined : calendarDate(time.toISOString())
}

function asDate(year: number, month?: string, day?: string): string | undefined {
  if (year < 1_000 || year > 2_999) return undefined
  const parts = [String(year), month, day].filter((part) => part !== undefined)
  const full = [...parts, "01", "01"].slice(0, 3).join("-")
  const time = new Date(`${full}T00:00:00Z`)
  const isReal = !Number.isNaN(time.getTime()) && time.toISOString().startsWith(full)
  return isReal ? parts.join("-") : undefined
}
