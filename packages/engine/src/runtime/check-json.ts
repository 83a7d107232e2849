import { type JsonProblem, jsonProblem, printJsonProblem, type RunId, SuperstepError } from "../core/index.ts"

/** The run that a value is for, and how large it may be. */
export interface ValueLimit {
  readonly runId: RunId
  readonly valueBytes: number
}

/** What is journaled is plain JSON data of a bounded size. The name of the thing is made only when it is needed. */
export function checkJson(value: unknown, { runId, valueBytes }: ValueLimit, what: () => string): void {
  const problem = jsonProblem(value, valueBytes)
  if (problem === undefined) return
  if (problem.tooLarge !== undefined) throw valueTooLarge(what(), problem.tooLarge, valueBytes, runId)
  const text = `${what()} cannot be stored: ${printJsonProblem(problem)}.`
  throw new SuperstepError("NOT_SERIALISABLE", text, { retryable: false })
}

/** Before there is a run: throws if the value is too large, and leaves what else is wrong with it to the caller. */
export function checkSize(problem: JsonProblem | undefined, valueBytes: number, what: () => string): void {
  if (problem?.tooLarge !== undefined) throw valueTooLarge(what(), problem.tooLarge, valueBytes, undefined)
}

function valueTooLarge(what: string, size: number, most: number, run: RunId | undefined): SuperstepError {
  const where = run === undefined ? "" : ` in run ${run}`
  const text = `${what}${where} is too large: more than ${size} bytes as JSON, and the limit is ${most}. Write it to a file or a store of your own and pass on a reference, or raise limits.valueBytes.`
  return new SuperstepError("VALUE_TOO_LARGE", text, {
    retryable: false,
    ...(run === undefined ? {} : { run }),
  })
}
