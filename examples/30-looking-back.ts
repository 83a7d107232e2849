/** History: inspect a run, fork it with another answer, and replay it against changed code. */
import { memoryStore, node, printReplay, Runtime, workflow } from "superstep"

/** How often the step really ran: a fork and a replay reuse its recorded result. */
export const looked: string[] = []

const build = (fee: number) => {
  const look = node("look up", (city: string, ctx) =>
    ctx.step("fare", () => {
      looked.push(city)
      return { city, fare: city.length * 20 }
    }),
  )
  const add = node("add fee", ({ city, fare }: { city: string; fare: number }) => ({
    city,
    price: fare + fee,
  }))
  const book = node("book", async ({ city, price }: { city: string; price: number }, ctx) => {
    const ok = await ctx.ask<boolean>(`${city} for ${price}?`)
    return ok ? `booked ${city} for ${price}` : `stayed at home instead of ${city}`
  })
  return workflow("travel").chain(look, add, book).build()
}

export const travel = build(10)
export const dearer = build(15)

if (import.meta.filename === process.argv[1]) {
  const runtime = new Runtime({ store: memoryStore(), workflows: [travel] })
  const { runId } = await runtime.start(travel, "Rome", { runId: "to Rome" })
  await runtime.respond(runId, "r1", true, { by: "Ada" })
  console.log(...(await runtime.get(runId)).outputs)

  const { checkpoints, requests } = await runtime.history(runId)
  for (const { superstep, finished } of checkpoints.slice(1)) console.log(superstep, finished[0]?.node)
  console.log(`${requests[0]?.prompt} answered by ${requests[0]?.by}`)

  const other = await runtime.fork(runId, { answers: { r1: false } })
  console.log(...(await runtime.get(other)).outputs)

  console.log(printReplay(await runtime.replay(runId, dearer)))
  console.log("looked up:", looked)
  await runtime.close()
}
