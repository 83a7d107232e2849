import { expect, test } from "vitest"
import { calendarDate } from "./dates.ts"

test.each([
  ["2026-03-14", "2026-03-14"],
  [" 2026-03-14T10:00:00+02:00 ", "2026-03-14"],
  ["2026-03-14 10:00", "2026-03-14"],
  ["2026/03/14", "2026-03-14"],
  ["20260314", "2026-03-14"],
  ["D:20260314100000+02'00'", "2026-03-14"],
  ["2026-03", "2026-03"],
  ["2026", "2026"],
  ["14 March 2026", "2026-03-14"],
  ["March 14, 2026", "2026-03-14"],
  ["Sat, 14 Mar 2026 10:00:00 GMT", "2026-03-14"],
])("a date is parsed as a day, a month or a year: %s", (text, expected) => {
  expect(calendarDate(text)).toBe(expected)
})

test.each([
  "",
  "3 days ago",
  "yesterday",
  "2026-13-01",
  "2026-02-30",
  "0000",
  "12345",
  "14/03/2026",
  "x".repeat(100),
])("text without a date has none: %s", (text) => {
  expect(calendarDate(text)).toBeUndefined()
})
