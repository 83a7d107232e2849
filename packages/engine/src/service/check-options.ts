/** Options come from callers that may not be typed: they are checked before anything starts. */
import { SuperstepError } from "../core/index.ts"
import type { RuntimeOptions } from "./options.ts"

export function checkRuntimeOptions(options: RuntimeOptions): void {
  if (typeof options.store?.append !== "function") throw invalid("it needs a store")
  const names = options.workflows.map(({ name }) => name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw invalid(`two workflows are named "${twice}"`)
  atLeast(options, "lease", 1_000)
  atLeast(options, "hungAfter", 1_000)
  atLeast(options, "evictAfter", 0)
  for (const name of ["maxIdle", "maxTakeovers"] as const) wholeAtLeast(options, name, 0)
  wholeAtLeast(options, "concurrency", 1)
  const { keep, maxAge } = options.retention ?? {}
  if (keep !== undefined && !(Number.isInteger(keep) && keep >= 0)) {
    throw invalid(`retention.keep must be a whole number of at least 0, not ${keep}`)
  }
  if (maxAge !== undefined && !(maxAge >= 0)) {
    throw invalid(`retention.maxAge must be milliseconds, at least 0, not ${maxAge}`)
  }
}

function atLeast(options: RuntimeOptions, name: "lease" | "hungAfter" | "evictAfter", least: number): void {
  const value = options[name]
  if (value === undefined || (Number.isFinite(value) && value >= least)) return
  throw invalid(`${name} must be milliseconds, at least ${least}, not ${value}`)
}

function wholeAtLeast(
  options: RuntimeOptions,
  name: "maxIdle" | "maxTakeovers" | "concurrency",
  least: number,
): void {
  const value = options[name]
  if (value === undefined || (Number.isInteger(value) && value >= least)) return
  throw invalid(`${name} must be a whole number of at least ${least}, not ${value}`)
}

function invalid(message: string): SuperstepError {
  return new SuperstepError("OPTION_INVALID", `Bad runtime option: ${message}.`)
}
