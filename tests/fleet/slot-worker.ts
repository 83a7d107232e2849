/**
 * A worker whose runs share limits of a node and of a model provider with those of other workers, until it is killed. Every
 * task and every request leaves a line when it begins and ends.
 */
import { appendFileSync } from "node:fs"
import { node, workflow } from "superstep"
import { agent } from "superstep/agents"
import { providerLimits } from "superstep/models"
import { openWorker } from "../runtimes.ts"
import { problemsTo } from "./problems.ts"

const [path = "", trail = ""] = process.argv.slice(2)
const leave = (line: string) => appendFileSync(trail, `${line} ${process.pid}\n`)
const later = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

interface Job {
  readonly n: number
  readonly tenant: string
}

const fetching = node({
  id: "fetch",
  flow: { concurrency: [{ max: 4 }, { max: 2, key: ({ tenant }: Job) => tenant }] },
  run: async ({ n, tenant }: Job) => {
    leave(`begin ${tenant} ${n}`)
    await later(20)
    leave(`end ${tenant} ${n}`)
    return `${tenant} ${n}`
  },
})

let requests = 0
const writer = agent({
  name: "writer",
  model: {
    specificationVersion: "v3",
    provider: "acme",
    modelId: "m",
    supportedUrls: {},
    async doGenerate() {
      const id = `${process.pid}-${++requests}`
      leave(`begin request ${id}`)
      await later(10)
      leave(`end request ${id}`)
      return {
        content: [{ type: "text", text: "Done." }],
        finishReason: { unified: "stop", raw: "stop" },
        usage: {
          inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 1, text: 1, reasoning: 0 },
        },
        warnings: [],
      }
    },
    doStream: () => Promise.reject(new Error("not streamed")),
  },
  stream: false,
  calling: { limits: providerLimits({ acme: { concurrency: 2, perMinute: 60_000 } }) },
})

const jobs = workflow("jobs").chain(fetching, writer).build()
const { runtime } = await openWorker(path, {
  workflows: [jobs],
  concurrency: 6,
  maxTakeovers: 1_000,
  onProblem: problemsTo(leave),
})
process.on("message", async ({ count }: { readonly count: number }) => {
  for (let n = 0; n < count; n++) {
    await runtime.enqueue(jobs, { n, tenant: n % 10 === 0 ? "small" : "big" }, { key: `${n}` })
  }
  process.send?.("enqueued")
})
process.on("disconnect", () => process.exit())
process.send?.("ready")
