/** Settle: a failure becomes a value, so that the next node can decide. */
import { node, type Settled, SuperstepError, workflow } from "superstep"

// One node: it sends { ok: true, value } or { ok: false, error }.
const rate = node({
  id: "rate",
  onError: "settle",
  run(currency: string) {
    if (currency !== "EUR") throw new SuperstepError("NO_RATE", `No rate for ${currency} today.`)
    return 1.08
  },
})
const convert = node("convert", (found: Settled<number>) =>
  found.ok ? `at today's rate of ${found.value}` : `at last month's rate: ${found.error.message}`,
)
export const conversion = workflow("conversion").chain(rate, convert).build()

// A map: a line that cannot be parsed does not fail the others.
const lines = node("lines", (file: string) => file.split("\n"))
const parse = node("parse", (line: string) => {
  const amount = Number(line.split(";")[1])
  if (Number.isNaN(amount)) throw new SuperstepError("BAD_LINE", `No amount in "${line}".`)
  return amount
})
const book = node("book", (parsed: readonly Settled<number>[]) => ({
  total: parsed.reduce((sum, line) => sum + (line.ok ? line.value : 0), 0),
  problems: parsed.flatMap((line) => (line.ok ? [] : [line.error.message])),
}))
export const bookings = workflow("bookings").start(lines).map(lines, parse, book, { settle: true }).build()

export const file = "rent;900\nheating;n/a\npaper;35"

if (import.meta.filename === process.argv[1]) {
  console.log(...(await conversion.run("EUR")).outputs)
  console.log(...(await conversion.run("CHF")).outputs)
  console.log(...(await bookings.run(file)).outputs)
}
