/** Errors of this package that a retry does not fix, and the optional packages whose absence is one. */
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { SuperstepError } from "@superstep/engine"
import { importOptional, requireFrom, resolveOptional } from "@superstep/engine/packages"

/** An error that a retry does not fix. */
export function fatal(code: string, message: string, cause?: unknown): SuperstepError {
  return new SuperstepError(code, message, { retryable: false, ...(cause !== undefined && { cause }) })
}

export function invalidOption(message: string): SuperstepError {
  return fatal("OPTION_INVALID", message)
}

// Slightly below the maximum of timers and of statement_timeout.
const MAX = 2_000_000_000

/** Validates an option that is a count. */
export function wholeNumber(name: string, value: number, min = 1, max = MAX): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value
  throw invalidOption(`${name} must be a whole number from ${min} to ${max}, not ${value}.`)
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

// Loads optional packages, and finds the programs of this package that run in separate processes.

/** `neededBy` is the subject of the error message. */
export function optionalPackage<Module>(name: string, neededBy: string): Promise<Module> {
  return importOptional<Module>(
    { name, neededBy },
    (one) => import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ one),
  )
}

/** The program beside a module, as source or built. For a user's bundle, it is in the installed package. */
export function programBeside(module: string | undefined, name: string): URL {
  const beside = module && new URL(`./${name}.${module.endsWith(".ts") ? "ts" : "js"}`, module)
  if (beside && existsSync(beside)) return beside
  const manifest = { name: "@superstep/retrieval/package.json", neededBy: "This database" }
  const root = dirname(resolveOptional(manifest, requireFrom(module)))
  return pathToFileURL(join(root, "dist", `${name}.js`))
}
