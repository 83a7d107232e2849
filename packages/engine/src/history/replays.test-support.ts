/** Shared by tests of replays: recording a run, and a step that counts its calls. */
import { memoryStore, node, type RunOptions, type Workflow } from "../index.ts"
import { type Recording, recordingOf } from "./index.ts"

/** Runs a workflow to its end, and returns the recording. */
export async function record<In, Out>(
  built: Workflow<In, Out>,
  input: In,
  options: RunOptions = {},
): Promise<Recording> {
  const store = memoryStore()
  await built.run(input, { ...options, store, runId: "r" }).result
  return recordingOf(store, "r")
}

export const start = node("start", (n: number) => n)

/** A step that counts how often it really ran. */
export function counting(ran: string[], result: (n: number) => number = (n) => n * 2) {
  return node("work", (n: number, ctx) =>
    ctx.step(
      "model",
      () => {
        ran.push("model")
        return result(n)
      },
      { usage: () => ({ modelCalls: 1, inputTokens: 10 }) },
    ),
  )
}
