/** A worker that executes runs which gather signals, in the run and in sub-workflows, until it is killed. */
import { appendFileSync } from "node:fs"
import { type Context, node, workflow } from "superstep"
import { openWorker } from "../runtimes.ts"
import { problemsTo } from "./problems.ts"

const [path = "", trail = ""] = process.argv.slice(2)

const below = workflow("below")
  .start(node("take", async (_: number, ctx: Context) => ctx.waitFor<number>("add")))
  .build()
const gather = workflow("gather")
  .start(
    node("gather", async (count: number, ctx: Context) => {
      const seen: number[] = []
      while (seen.length < count) {
        if (seen.length % 3 === 2) seen.push(...(await ctx.call(below, seen.length)))
        else seen.push(await ctx.waitFor<number>("add"))
      }
      const update = await ctx.waitForUpdate("sum")
      await update.reply(seen.reduce((sum, one) => sum + one, 0))
      return seen
    }),
  )
  .build()

const { runtime } = await openWorker(path, {
  workflows: [gather],
  evictAfter: 300,
  maxTakeovers: 1_000,
  onProblem: problemsTo((line) => appendFileSync(trail, `${line}\n`)),
})
process.on("message", async ({ runs, count }: { readonly runs: number; readonly count: number }) => {
  for (let n = 0; n < runs; n++) await runtime.enqueue(gather, count, { runId: `run ${n}`, key: `key ${n}` })
  process.send?.("enqueued")
})
process.on("disconnect", () => process.exit())
process.send?.("ready")
