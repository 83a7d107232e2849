/** Switch: the first case that matches takes the message, else the default. */
import { node, workflow } from "superstep"

interface Invoice {
  readonly number: string
  readonly amount: number
  readonly supplier: "known" | "new"
}

const receive = node("receive", (invoice: Invoice) => invoice)
const pay = node("pay", (invoice: Invoice) => `${invoice.number} paid`)
const verify = node("verify", (invoice: Invoice) => `${invoice.number} waits for supplier verification`)
const approve = node("approve", (invoice: Invoice) => `${invoice.number} waits for approval`)

// The order matters: an invoice of a new supplier is verified before its amount is considered.
export const invoices = workflow("invoices")
  .start(receive)
  .switch(
    receive,
    [
      { when: (invoice) => invoice.supplier === "new", to: verify, label: "new supplier" },
      { when: (invoice) => invoice.amount >= 500, to: approve, label: "500 and more" },
    ],
    pay,
  )
  .build()

if (import.meta.filename === process.argv[1]) {
  for (const invoice of [
    { number: "I-1", amount: 90, supplier: "known" },
    { number: "I-2", amount: 900, supplier: "known" },
    { number: "I-3", amount: 900, supplier: "new" },
  ] as const) {
    console.log(...(await invoices.run(invoice)).outputs)
  }
}
