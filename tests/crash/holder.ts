/** A process that holds a run: it says when it has come to the gate, and goes on when it is told to, by a line. */
import { writeSync } from "node:fs"
import { createInterface } from "node:readline"
import { sqliteStore } from "@superstep/store-sqlite"
import { isSuperstepError, type Run } from "superstep"
import { gated } from "./gated.ts"

export interface HolderJob {
  readonly path: string
  readonly runId: string
  readonly how: "start" | "resume" | "take over"
  /** Does not wait at the gate. */
  readonly open?: boolean | undefined
}

export type HolderSaid =
  | { readonly type: "called"; readonly what: string }
  | { readonly type: "gate" }
  | { readonly type: "result"; readonly status: string; readonly outputs: readonly unknown[] }
  | { readonly type: "error"; readonly code: string }

function say(said: HolderSaid): void {
  writeSync(1, `${JSON.stringify(said)}\n`)
}

const job = JSON.parse(process.argv[2] as string) as HolderJob
const lines = createInterface({ input: process.stdin })
const told = new Promise<void>((resolve) => lines.once("line", () => resolve()))
const gate = async () => {
  if (job.open) return
  say({ type: "gate" })
  await told
}
const flow = gated(gate, (what) => say({ type: "called", what }))
const store = sqliteStore({ path: job.path })
const { runId, how } = job
const run: Run =
  how === "start"
    ? flow.run("go", { runId, store })
    : flow.resume(runId, { store, takeOver: how === "take over" })
try {
  const { status, outputs } = await run.result
  say({ type: "result", status, outputs })
} catch (error) {
  say({ type: "error", code: isSuperstepError(error) ? error.code : String(error) })
}
lines.close()
await store.close()
