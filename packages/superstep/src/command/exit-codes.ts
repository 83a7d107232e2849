/** What the command says to the shell. */
import type { RunResult, RunStatus } from "@superstep/engine"

export const EXIT = {
  completed: 0,
  failed: 1,
  /** A bad definition, a bad flag, a file that is not there. */
  usage: 2,
  /** The run waits for a person. */
  waiting: 3,
  /** A limit, the budget or the time was reached. */
  limit: 4,
  cancelled: 130,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

const USAGE = new Set(["BUDGET_UNPRICED", "MODEL_KEY_MISSING"])

export function exitCodeOf(status: Exclude<RunStatus, "running">, error?: RunResult["error"]): ExitCode {
  // A module's models are known only when its agents ask them: what is missing is the caller's to set, as elsewhere.
  if (status === "failed" && USAGE.has(error?.code ?? "")) return EXIT.usage
  return EXIT[status]
}
