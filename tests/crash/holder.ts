/** A process that holds a run: it reports when it reaches the gate, and continues when it receives a line. */
import { writeSync } from "node:fs"
import { createInterface } from "node:readline"
import { isSuperstepError, type Run } from "superstep"
import { openStore } from "../stores.ts"
import { gated } from "./gated.ts"

export interface HolderJob {
  readonly path: string
  readonly runId: string
  readonly how: "start" | "resume" | "take over"
  /** Does not wait at the gate. */
  readonly open?: boolean | undefined
}

export type HolderMessage =
  | { readonly type: "called"; readonly what: string }
  | { readonly type: "gate" }
  | { readonly type: "result"; readonly status: string; readonly outputs: readonly unknown[] }
  | { readonly type: "error"; readonly code: string }

function report(message: HolderMessage): void {
  writeSync(1, `${JSON.stringify(message)}\n`)
}

const job = JSON.parse(process.argv[2] as string) as HolderJob
const lines = createInterface({ input: process.stdin })
const released = new Promise<void>((resolve) => lines.once("line", () => resolve()))
const gate = async () => {
  if (job.open) return
  report({ type: "gate" })
  await released
}
const flow = gated(gate, (what) => report({ type: "called", what }))
const store = openStore(job.path)
const { runId, how } = job
const run: Run =
  how === "start"
    ? flow.run("go", { runId, store })
    : flow.resume(runId, { store, takeOver: how === "take over" })
try {
  const { status, outputs } = await run.result
  report({ type: "result", status, outputs })
} catch (error) {
  report({ type: "error", code: isSuperstepError(error) ? error.code : String(error) })
}
lines.close()
await store.close()
