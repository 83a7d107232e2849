/** Reports the problems of a worker, one line each. A machine that stood still for a second is none of them. */
import { isSuperstepError, type RuntimeProblem } from "superstep"

export function problemsTo(report: (line: string) => void): (problem: RuntimeProblem) => void {
  return ({ runId, error }) => {
    if (isSuperstepError(error, "LOOP_BLOCKED")) return
    report(`problem ${runId ?? ""} ${error.message.replaceAll("\n", " ")}`)
  }
}
