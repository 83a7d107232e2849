/** Request and onAnswer: ask several people at once without waiting; each answer arrives as a message. */
import { node, workflow } from "superstep"
import { z } from "zod"

const DEPARTMENTS = ["legal", "finance", "security"]

const circulate = node({
  id: "circulate",
  run(contract: string, ctx) {
    for (const department of DEPARTMENTS) {
      ctx.request({ prompt: `${department}: do you accept "${contract}"?`, data: { department } })
    }
  },
  answer: z.object({ department: z.enum(DEPARTMENTS), accepts: z.boolean() }),
  // The handler above has ended by then, so the answers are collected in the node's own state.
  onAnswer({ department, accepts }, ctx) {
    const votes = { ...ctx.local.get<Record<string, boolean>>("votes"), [department]: accepts }
    ctx.local.set("votes", votes)
    return Object.keys(votes).length < DEPARTMENTS.length ? undefined : votes
  },
})
const decide = node("decide", (votes: Record<string, boolean>) => {
  const against = Object.keys(votes).filter((department) => !votes[department])
  return against.length === 0 ? "accepted" : `rejected by ${against.join(", ")}`
})

export const contracts = workflow("contracts").chain(circulate, decide).build()

if (import.meta.filename === process.argv[1]) {
  const run = contracts.run("hosting, three years")
  const { requests } = await run
  for (const { id, prompt, data } of requests) {
    const { department } = data as { department: string }
    console.log(prompt)
    // Answers may arrive in any order, one by one.
    await run.respond(id, { department, accepts: department !== "security" })
  }
  console.log(...(await run).outputs)
}
