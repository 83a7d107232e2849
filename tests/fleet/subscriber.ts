/** Subscribes a consumer, and reports what it handles. An event of a run whose id begins with "hold" never ends. */
import { node, Runtime, workflow } from "superstep"
import { openStore } from "../stores.ts"

export interface SubscriberJob {
  readonly address: string
  readonly consumer: string
  /** How many runs it executes once it has subscribed. */
  readonly runs?: number | undefined
  readonly name: string
}

export type SubscriberMessage =
  | { readonly type: "subscribed" }
  | { readonly type: "began"; readonly runId: string; readonly event: string }
  | { readonly type: "handled"; readonly runId: string; readonly event: string }
  | { readonly type: "executed" }

const job = JSON.parse(process.argv[2] as string) as SubscriberJob
const tell = (message: SubscriberMessage) => process.stdout.write(`${JSON.stringify(message)}\n`)

const double = workflow("double")
  .start(node("double", (n: number) => n * 2))
  .build()

const runtime = new Runtime({ store: openStore(job.address), workflows: [double] })
await runtime.on(
  ["run.started", "run.ended"],
  { consumer: job.consumer, from: "beginning" },
  async ({ type, runId }) => {
    tell({ type: "began", runId, event: type })
    if (runId.startsWith("hold")) await new Promise(() => undefined)
    tell({ type: "handled", runId, event: type })
  },
)
tell({ type: "subscribed" })
for (let n = 0; n < (job.runs ?? 0); n++) await runtime.start(double, n, { runId: `${job.name} ${n}` })
tell({ type: "executed" })
