import { jsonProblem, printJsonProblem, SuperstepError } from "../core/index.ts"

/** What is journaled is plain JSON data. The name of the thing is made only when it is needed. */
export function checkJson(value: unknown, what: () => string): void {
  const problem = jsonProblem(value)
  if (problem === undefined) return
  const text = `${what()} cannot be stored: ${printJsonProblem(problem)}.`
  throw new SuperstepError("NOT_SERIALISABLE", text, { retryable: false })
}
