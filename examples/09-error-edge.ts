/** Error edge: when all attempts of a node have failed, another node receives the failure, and the run continues. */
import { type Failure, node, SuperstepError, workflow } from "superstep"

interface Order {
  readonly id: string
  readonly card: string
}

const charge = node("charge", (order: Order) => {
  if (order.card === "expired") throw new SuperstepError("CARD_DECLINED", "The card has expired.")
  return order
})
const ship = node("ship", (order: Order) => `${order.id} shipped`)

// A failure has the node, the error, and the message that the node was processing.
const hold = node("hold", ({ error, input }: Failure) => {
  const order = input as unknown as Order
  return `${order.id} on hold (${error.code}): ${error.message}`
})

export const checkout = workflow("checkout").chain(charge, ship).onError(charge, hold).build()

if (import.meta.filename === process.argv[1]) {
  console.log(...(await checkout.run({ id: "A-1", card: "valid" })).outputs)
  console.log(...(await checkout.run({ id: "A-2", card: "expired" })).outputs)
}
