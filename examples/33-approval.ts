/** A tool call that a person must approve, and may edit. */
import { agent } from "superstep/agents"
import { scriptedModel } from "superstep/models"
import { tool } from "superstep/tools"
import { z } from "zod"

export const paid: string[] = []

const pay = tool({
  name: "pay",
  description: "Pays somebody.",
  input: z.object({ to: z.string(), amount: z.number() }),
  approval: ({ amount }) => (amount > 100 ? "ask" : "allow"),
  run: ({ to, amount }) => {
    paid.push(`${amount} to ${to}`)
    return "paid"
  },
})

const model = scriptedModel([
  {
    tool_calls: [
      { name: "pay", args: { to: "Ada", amount: 50 } },
      { name: "pay", args: { to: "Bob", amount: 500 } },
    ],
  },
  "Both are paid.",
])

export const clerk = agent({ name: "clerk", model, instructions: "Pay the bills.", tools: [pay] })

if (import.meta.filename === process.argv[1]) {
  const run = clerk.run("Pay Ada 50 and Bob 500.")
  const { requests } = await run
  for (const { id, prompt, data } of requests) {
    console.log(prompt, data)
    await run.respond(id, { approve: true, args: { to: "Bob", amount: 450 } })
  }
  console.log(...(await run).outputs, paid)
}
