/** Node-local state: values that a node keeps from one message to the next, visible only to itself. */
import { node, workflow } from "superstep"

interface Delivery {
  readonly id: string
  readonly parcel: string
}

// A node may send any number of messages. Each is delivered separately, in this order.
const receive = node("receive", (deliveries: readonly Delivery[], ctx) => {
  for (const delivery of deliveries) ctx.send(delivery)
})

// A queue may deliver twice. This node passes each id once, and numbers the deliveries that pass.
const register = node("register", ({ id, parcel }: Delivery, ctx) => {
  const seen = ctx.local.get<string[]>("seen") ?? []
  if (seen.includes(id)) return undefined
  ctx.local.set("seen", [...seen, id])
  return `${seen.length + 1}. ${parcel}`
})

export const goodsIn = workflow("goods-in").chain(receive, register).build()

export const deliveries: readonly Delivery[] = [
  { id: "d-7", parcel: "toner" },
  { id: "d-8", parcel: "paper" },
  { id: "d-7", parcel: "toner" },
  { id: "d-9", parcel: "cables" },
]

if (import.meta.filename === process.argv[1]) {
  console.log((await goodsIn.run(deliveries)).outputs)
}
