/** Resume: a run continues from its journal where it stopped, in this process or another one. */
import { memoryStore, node, workflow } from "superstep"
import { z } from "zod"

/** The handlers that ran, to show that none runs twice. */
export const ran: string[] = []

const lookUp = node("look up", (order: string) => {
  ran.push("look up")
  return { order, paid: 120 }
})
const approve = node("approve", async ({ order, paid }: { order: string; paid: number }, ctx) => {
  const approved = await ctx.ask({ prompt: `Refund ${paid} for ${order}?`, schema: z.boolean() })
  ran.push("approve")
  return approved ? `${paid} refunded for ${order}` : `no refund for ${order}`
})

export const refunds = workflow("refunds").chain(lookUp, approve).build()

if (import.meta.filename === process.argv[1]) {
  // With a store on disk or in a database, the second half can run after a restart, or on another machine.
  const store = memoryStore()
  const { status } = await refunds.run("A-1", { runId: "refund-A-1", store })
  console.log(status)

  const run = refunds.resume("refund-A-1", { store })
  const { requests } = await run
  await run.respond(requests[0]?.id ?? "", true)
  console.log(...(await run).outputs)
  console.log("ran:", ran)
}
