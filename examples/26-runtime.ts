/** Runtime: several processes share a store, and one continues the runs of another. */
import { setTimeout as wait } from "node:timers/promises"
import { memoryStore, node, Runtime, type Store, workflow } from "superstep"

/** How often the paid step ran, to show that it ran once. */
export const paid: string[] = []

const charge = node("charge", (order: string, ctx) =>
  ctx.step("charge", () => {
    paid.push(order)
    return { order, receipt: `R-${order}` }
  }),
)
const deliver = node("deliver", async ({ order, receipt }: { order: string; receipt: string }) => {
  await wait(200)
  return `${order} delivered, ${receipt}`
})

export const delivery = workflow("delivery").chain(charge, deliver).build()

/** A process of the service. With a store on disk, each would be a separate process. */
export const processOn = (store: Store) => new Runtime({ store, workflows: [delivery] })

if (import.meta.filename === process.argv[1]) {
  const store = memoryStore()
  const first = processOn(store)
  const { id } = first.start(delivery, "A-1", { key: "order A-1" })
  // A deployment in the middle of a run: the next process claims it.
  await first.close()

  const second = processOn(store)
  const { resumed } = await second.recover()
  console.log("resumed:", resumed.length)
  console.log(...(await second.get(id)).outputs)
  // A customer who clicks twice has ordered once.
  console.log(...(await second.start(delivery, "A-1", { key: "order A-1" })).outputs)
  console.log("charged:", paid)
  await second.close()
}
