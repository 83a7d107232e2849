/** What a version of a workflow would have done in recorded runs. No model is called, and nobody is asked. */
import type { z } from "@hono/zod-openapi"
import { isSuperstepError, type Runtime } from "@superstep/engine"
import type { StartedWorkflow } from "../catalog.ts"
import type { checkedRunSchema } from "./schemas.ts"

export type CheckedRun = z.infer<typeof checkedRunSchema>

/** Milliseconds that a handler may spend outside of steps. */
const PATIENCE = 1_000
const MAX_WHAT = 500

export async function checkRun(
  runtime: Runtime,
  run: string,
  workflow: StartedWorkflow,
): Promise<CheckedRun> {
  try {
    const report = await runtime.replay(run, workflow as never, { patience: PATIENCE })
    const { same, divergence, status, error } = report
    if (same) return { run, outcome: "same" }
    const where = divergence && { step: divergence.index, node: divergence.node }
    const hasFailed = status.after === "failed" && status.before !== "failed"
    // A step that is not recorded: nobody knows its result.
    const isFailing = hasFailed && error?.after?.startsWith("REPLAY_DIVERGED") !== true
    const what = (isFailing ? error?.after : undefined) ?? divergence?.what ?? "The result is another one."
    return { run, outcome: isFailing ? "fails" : "diverges", ...where, what: what.slice(0, MAX_WHAT) }
  } catch (error) {
    if (!isSuperstepError(error)) throw error
    return { run, outcome: "fails", what: `${error.code}: ${error.message}`.slice(0, MAX_WHAT) }
  }
}
