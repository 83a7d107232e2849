/** What awaiting a run throws when it did not complete. */
import { SuperstepError } from "../core/index.ts"
import type { RunResult } from "./options.ts"

export class RunError extends SuperstepError {
  /** What the run produced before it ended. */
  declare readonly result: RunResult

  constructor(result: RunResult) {
    const error = result.error as SuperstepError
    const { code, node, attempt } = error
    const where = node === undefined ? "" : ` at node "${node}"`
    const tries = attempt !== undefined && attempt > 1 ? `, attempt ${attempt}` : ""
    super(code, `Run ${result.runId} ended as ${result.status}${where}${tries}: ${error.message}`, {
      ...(error.cause === undefined ? {} : { cause: error.cause }),
      ...(node === undefined ? {} : { node }),
      ...(attempt === undefined ? {} : { attempt }),
    })
    if (this.name === "SuperstepError") this.name = "RunError"
    // There for those who ask, and not in the way when the error is printed.
    Object.defineProperty(this, "result", { value: result, enumerable: false })
  }
}
