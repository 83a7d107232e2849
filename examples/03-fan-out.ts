/** Fan-out: one message to several nodes at once, here to those that a function selects. */
import { node, workflow } from "superstep"

interface Order {
  readonly id: string
  readonly total: number
  readonly gift: boolean
}

const placed = node("placed", (order: Order) => order)
const receipt = node("receipt", (order: Order) => `receipt for ${order.id} sent`)
const wrap = node("wrap", (order: Order) => `${order.id} is to be wrapped`)
const audit = node("audit", (order: Order) => `${order.id} is to be checked for fraud`)

export const orders = workflow("orders")
  .start(placed)
  .fanOut(placed, [receipt, wrap, audit], {
    // A name that is not among the targets is an error, so a typo does not drop messages.
    select: (order) => [
      "receipt",
      ...(order.gift ? ["wrap"] : []),
      ...(order.total >= 1_000 ? ["audit"] : []),
    ],
  })
  .build()

if (import.meta.filename === process.argv[1]) {
  console.log((await orders.run({ id: "A-1", total: 40, gift: false })).outputs.join("; "))
  console.log((await orders.run({ id: "A-2", total: 2_500, gift: true })).outputs.join("; "))
}
