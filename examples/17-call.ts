/** ctx.call: run a workflow from inside a handler, where plain code decides which one, and how often. */
import { node, workflow } from "superstep"

const convert = node("convert", (amount: number) => Math.round(amount * 1.08))
export const toDollars = workflow("to-dollars").start(convert).build()

const plan = node("plan", async (invoice: { currency: string; amounts: readonly number[] }, ctx) => {
  if (invoice.currency === "USD") return sum(invoice.amounts)
  // Each call is part of this run: of its journal, its budget, its events. A finished call does not run again.
  const converted = await Promise.all(invoice.amounts.map((amount) => ctx.call(toDollars, amount)))
  return sum(converted.flat())
})

export const invoiceTotal = workflow("invoice-total").start(plan).build()

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0)
}

if (import.meta.filename === process.argv[1]) {
  console.log(...(await invoiceTotal.run({ currency: "USD", amounts: [100, 50] })).outputs)
  console.log(...(await invoiceTotal.run({ currency: "EUR", amounts: [100, 50] })).outputs)
}
