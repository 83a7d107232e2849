/**
 * A worker whose runs and tasks share rates with those of other workers, until it is killed. It also enqueues runs of a
 * throttled workflow, and leaves a line with the id that it gets for each.
 */
import { appendFileSync } from "node:fs"
import { isSuperstepError, node, workflow } from "superstep"
import { openWorker } from "../runtimes.ts"
import { PERIOD, RATES, TENANTS } from "./rate-limits.ts"

const [path = "", trail = ""] = process.argv.slice(2)

interface Job {
  readonly n: number
  readonly tenant: string
}

const keyed = { key: ({ tenant }: Job) => tenant }
/** One every so often, as options. */
const rateLimit = ({ all, tenant }: (typeof RATES)[keyof typeof RATES]) => [
  { max: 1, period: tenant.every, burst: tenant.burst, ...keyed },
  { max: 1, period: all.every, burst: all.burst },
]

const work = node({
  id: "work",
  flow: { rateLimit: rateLimit(RATES.tasks) },
  run: async ({ n }: Job, ctx) => {
    // It gives its slot back, and takes it again.
    if (n % 5 === 0) await ctx.sleep(20)
    return n
  },
})
const jobs = workflow("jobs", { flow: { rateLimit: rateLimit(RATES.runs), tenant: keyed.key } })
  .start(work)
  .build()
const pulse = workflow("pulse", { flow: { throttle: { period: PERIOD, ...keyed } } })
  .start(node("beat", ({ tenant }: Job) => tenant))
  .build()

const { runtime } = await openWorker(path, {
  workflows: [jobs, pulse],
  // The shortest: what is stopped for longer is taken for dead.
  lease: 1_000,
  concurrency: 8,
  maxTakeovers: 1_000,
})

/** What `enqueue` does meanwhile is part of the test, also when a stop makes it fail. */
let isPulsing = true
async function pulsing(): Promise<void> {
  for (let n = 0; isPulsing; n++) {
    const tenant = TENANTS[n % TENANTS.length] as string
    const id = await runtime.enqueue(pulse, { n, tenant }).catch(() => undefined)
    if (id !== undefined) appendFileSync(trail, `${tenant} ${id}\n`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
const pulsed = pulsing()

/** A file that stays locked on a busy machine is tried again: the key makes it the same run. */
async function enqueue(job: Job): Promise<void> {
  try {
    await runtime.enqueue(jobs, job, { key: `${job.n}` })
  } catch (error) {
    if (!isSuperstepError(error, "STORE_WRITE_FAILED")) throw error
    await enqueue(job)
  }
}

process.on("message", async (message: number | "enough") => {
  if (message === "enough") {
    isPulsing = false
    await pulsed
  } else {
    for (let n = 0; n < message; n++) {
      const tenant = TENANTS[n % TENANTS.length] as string
      await enqueue({ n, tenant })
    }
  }
  process.send?.("done")
})
process.on("disconnect", () => process.exit())
process.send?.("ready")
