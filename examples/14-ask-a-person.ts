/** Ask a person: a handler asks, the run waits, and a valid answer resumes it. */
import { node, workflow } from "superstep"
import { z } from "zod"

interface Expense {
  readonly purpose: string
  readonly amount: number
}

const Decision = z.object({ approved: z.boolean(), note: z.string().default("no note") })

const approve = node("approve", async (expense: Expense, ctx) => {
  if (expense.amount < 50) return `${expense.purpose}: paid`
  // Only this task waits. The answer may arrive minutes or weeks later.
  const { approved, note } = await ctx.ask({
    prompt: `Pay ${expense.amount} for ${expense.purpose}?`,
    data: expense,
    schema: Decision,
  })
  return `${expense.purpose}: ${approved ? "paid" : "refused"} (${note})`
})

export const expenses = workflow("expenses").start(approve).build()

if (import.meta.filename === process.argv[1]) {
  const run = expenses.run({ purpose: "a projector", amount: 600 })
  const { status, requests } = await run
  console.log(status, requests[0]?.prompt)
  await run.respond(requests[0]?.id ?? "", { approved: true, note: "from the training budget" })
  console.log(...(await run).outputs)
}
