/** ctx.step: the result of a step is recorded; a retry, or a restart after a crash, does not repeat it. */
import { node, workflow } from "superstep"

/** The side effects that happened. */
export const sent: string[] = []

const confirm = node({
  id: "confirm",
  retry: { attempts: 2, delay: 10 },
  async run(order: string, ctx) {
    const invoice = await ctx.step("invoice", () => {
      sent.push(`invoice for ${order}`)
      return `INV-${order}`
    })
    // The mail server is down at first. The second attempt reuses the recorded invoice, and only sends the mail.
    if (ctx.attempt === 1) throw new Error("mail server not reachable")
    await ctx.step("mail", () => {
      sent.push(`mail with ${invoice}`)
    })
    return invoice
  },
})

export const confirmation = workflow("confirmation").start(confirm).build()

if (import.meta.filename === process.argv[1]) {
  console.log(...(await confirmation.run("A-1")).outputs)
  console.log(sent)
}
