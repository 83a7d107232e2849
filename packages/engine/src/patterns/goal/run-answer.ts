/** The one text that a run comes to. */
import { SuperstepError } from "../../core/index.ts"
import type { Run } from "../../runtime/index.ts"

/** Throws the run's own error, word for word. */
export async function answerOf(run: Run<string>): Promise<string> {
  const { status, outputs, error, requests, runId } = await run.result
  if (status === "completed") return outputs.at(-1) ?? ""
  if (error !== undefined) throw error
  const [question] = requests
  throw new SuperstepError(
    "RUN_WAITING",
    `Run ${runId} waits for an answer${question === undefined ? "" : ` to "${question.prompt}"`}. Run the workflow itself, with a store, to answer and go on.`,
    { run: runId, retryable: false },
  )
}
