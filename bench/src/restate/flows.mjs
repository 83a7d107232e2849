// What is measured: a run of many steps, a run of one task, a fan-out, and a run that asks.
import { node, workflow } from "superstep"

const many = { supersteps: 1_000_000, visits: 1_000_000, loops: 1_000_000 }

const steps = workflow("steps", { limits: many })
  .chain(
    node("steps", async (count, ctx) => {
      for (let i = 0; i < count; i++) await ctx.step("step", () => i)
      return count
    }),
  )
  .build()

const one = workflow("one")
  .chain(node("one", (n) => n))
  .build()

/** A task of a few milliseconds, as long as most calls of a service at least are. */
const TASK_MS = 5
const work = async (n) => {
  await new Promise((resolve) => setTimeout(resolve, TASK_MS))
  return n
}
const fanOut = (name, placement) => {
  const list = node("list", (count) => Array.from({ length: count }, (_, i) => i))
  const task = node({ id: "task", placement, concurrency: 10_000, run: work })
  const sum = node("sum", (all) => all.length)
  return workflow(name, { limits: { ...many, concurrency: 100_000 } })
    .start(list)
    .map(list, task, sum)
    .build()
}

const asks = workflow("asks")
  .chain(node("asks", async (_, ctx) => await ctx.ask("Go?")))
  .build()

export const flows = {
  steps,
  one,
  inline: fanOut("inline", "inline"),
  spread: fanOut("spread", "spread"),
  asks,
}
export { work }

/** The path of a file, or the address of a server with a schema as its fragment. */
export async function openStore(address) {
  if (!address.startsWith("postgres:")) {
    const { sqliteStore } = await import("superstep/sqlite")
    return sqliteStore({ path: address })
  }
  const { postgresStore } = await import("superstep/postgres")
  const [url, schema] = address.split("#")
  return postgresStore({ url, schema })
}
