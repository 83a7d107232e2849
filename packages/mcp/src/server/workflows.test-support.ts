/** Workflows that the tests serve. */
import { node, type Workflow, workflow } from "@superstep/engine"
import { z } from "zod"

const greet = node("greet", (name: string, ctx) => {
  ctx.log("info", `greeting ${name}`)
  return `Hello, ${name}!`
})

export const greeter = workflow("greeter").chain(greet).build()

const add = node({
  id: "add",
  input: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => ({ sum: a + b }),
})

export const adder = workflow("add numbers", { description: "Adds two numbers." }).chain(add).build()

const ask = node("ask", async (plan: string, ctx) => {
  const isWanted = await ctx.ask({ prompt: "Do it?", data: plan, schema: z.boolean() })
  return isWanted ? `did ${plan}` : `left ${plan}`
})

export const approval = workflow("approval").chain(ask).build()

/** A workflow that runs until it is stopped, and logs the reason. */
export function gate(): {
  readonly held: Workflow<string>
  readonly started: Promise<void>
  readonly stopped: Promise<string>
} {
  let start!: () => void
  let stop!: (reason: string) => void
  const started = new Promise<void>((resolve) => {
    start = resolve
  })
  const stopped = new Promise<string>((resolve) => {
    stop = resolve
  })
  const hold = node("hold", (_: string, { signal }) => {
    start()
    return new Promise<string>((_resolve, reject) => {
      signal.addEventListener("abort", () => {
        stop(String(signal.reason))
        reject(signal.reason)
      })
    })
  })
  return { held: workflow("held").chain(hold).build(), started, stopped }
}
