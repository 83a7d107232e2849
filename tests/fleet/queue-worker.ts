/** A worker that claims limited runs from a store until it is killed. Every task leaves a line when it begins and ends. */
import { appendFileSync } from "node:fs"
import { node, workflow } from "superstep"
import { openWorker } from "../runtimes.ts"
import { problemsTo } from "./problems.ts"

const [path = "", trail = ""] = process.argv.slice(2)
const leave = (line: string) => appendFileSync(trail, `${line} ${process.pid}\n`)

interface Job {
  readonly n: number
  readonly tenant: string
}

const jobs = workflow("jobs", {
  flow: {
    concurrency: [{ max: 4 }, { max: 2, key: ({ tenant }: Job) => tenant }],
    tenant: ({ tenant }: Job) => tenant,
  },
})
  .start(
    node("job", async ({ n, tenant }: Job) => {
      leave(`begin ${tenant} ${n}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
      leave(`end ${tenant} ${n}`)
      return n
    }),
  )
  .build()

const { runtime } = await openWorker(path, {
  workflows: [jobs],
  concurrency: 3,
  maxTakeovers: 1_000,
  onProblem: problemsTo(leave),
})
process.on("message", async ({ tenant, count }: { readonly tenant: string; readonly count: number }) => {
  for (let n = 0; n < count; n++) await runtime.enqueue(jobs, { n, tenant }, { key: `${tenant} ${n}` })
  process.send?.("enqueued")
})
process.on("disconnect", () => process.exit())
process.send?.("ready")
