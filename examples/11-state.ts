/** State: channels that the nodes of a run share, each with a reducer that combines their writes. */
import { add, append, channel, merge, node, reducer, replace, union, workflow } from "superstep"

type Line = { readonly item: string; readonly price: number; readonly warehouse: string }

const total = channel("total", add())
const items = channel("items", append<string>())
const warehouses = channel("warehouses", union<string>())
const flags = channel("flags", merge({ fragile: false, oversize: false }))
const status = channel("status", replace("new"))
// A custom reducer is a pure function with a name.
const max = reducer("max", (a = 0, b: number) => Math.max(a, b), 0)
const dearest = channel("dearest", max)

const read = node("read", (order: readonly Line[], ctx) => {
  ctx.state.write(status, "checked")
  return order
})
// These two run in the same superstep: the reducers combine their writes in task order.
const price = node("price", (order: readonly Line[], ctx) => {
  for (const line of order) {
    ctx.state.write(total, line.price)
    ctx.state.write(dearest, line.price)
  }
  return true
})
const stock = node("stock", (order: readonly Line[], ctx) => {
  for (const { item, warehouse } of order) {
    ctx.state.write(items, [item])
    ctx.state.write(warehouses, [warehouse])
    if (item === "glass") ctx.state.write(flags, { fragile: true })
  }
  return true
})
// A read sees the writes of earlier supersteps.
const confirm = node("confirm", (_: readonly boolean[], ctx) => {
  const count = ctx.state.get(warehouses).length
  return `${ctx.state.get(items).join(", ")}: ${ctx.state.get(total)} from ${count} warehouses`
})

export const order = workflow("order", { state: [total, items, warehouses, flags, status, dearest] })
  .start(read)
  .fanOut(read, [price, stock])
  .fanIn([price, stock], confirm)
  .build()

export const cart: readonly Line[] = [
  { item: "glass", price: 12, warehouse: "north" },
  { item: "table", price: 80, warehouse: "south" },
  { item: "chair", price: 30, warehouse: "north" },
]

if (import.meta.filename === process.argv[1]) {
  const { outputs, state } = await order.run(cart)
  console.log(...outputs)
  console.log(JSON.stringify(state))
}
