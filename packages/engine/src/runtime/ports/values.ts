/**
 * Values that enter a run: validated by a Standard Schema of any library, and copied as JSON of a bounded size that the run
 * owns.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec"
import {
  type Json,
  type JsonProblem,
  printJsonProblem,
  type RunId,
  SuperstepError,
} from "../../core/index.ts"
import { ownJson, ownScalar } from "../../core/internal.ts"
import { andThen, fromUser } from "./maybe-promise.ts"

export type Schema<Output = unknown> = StandardSchemaV1<unknown, Output>

export type Validated =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: string }

export function validate(schema: Schema, value: unknown): Validated | Promise<Validated> {
  return andThen(fromUser(schema["~standard"].validate(value)), toValidated)
}

function toValidated(result: StandardSchemaV1.Result<unknown>): Validated {
  if (result.issues === undefined) return { ok: true, value: result.value }
  return { ok: false, reason: result.issues.map(printIssue).join("; ") }
}

function printIssue({ message, path }: StandardSchemaV1.Issue): string {
  if (path === undefined || path.length === 0) return message
  const keys = path.map((part) => String(typeof part === "object" ? part.key : part))
  return `${keys.join(".")}: ${message}`
}

/** The schema as JSON Schema, if its library supports it (Standard JSON Schema); otherwise undefined. */
export function jsonSchemaOf(schema: Schema | undefined, direction: "input" | "output"): Json | undefined {
  const standard = schema?.["~standard"] as StandardWithJson | undefined
  try {
    return standard?.jsonSchema?.[direction]({ target: "draft-2020-12" })
  } catch {
    // Some schemas (a function, a transform) have no JSON Schema; they are checked at run time only.
    return undefined
  }
}

interface StandardWithJson {
  jsonSchema?: Record<"input" | "output", (options: { target: string }) => Json>
}

/** The run that a value is for, and how large it may be. */
export interface ValueLimit {
  readonly runId: RunId
  readonly valueBytes: number
}

/** The run's own copy of a value. The name for messages is computed only if needed. */
export function ownValue(value: unknown, limit: ValueLimit, what: string | (() => string)): Json {
  const scalar = ownScalar(value, limit.valueBytes)
  return scalar === undefined ? ownLarger(value, limit, what) : scalar
}

/** Separate, so that the common case creates no closure for the error message. */
function ownLarger(value: unknown, limit: ValueLimit, what: string | (() => string)): Json {
  return ownJson(value, limit.valueBytes, (problem) => refused(problem, limit, what))
}

function refused(
  problem: JsonProblem,
  { runId, valueBytes }: ValueLimit,
  what: string | (() => string),
): Error {
  const name = typeof what === "string" ? what : what()
  if (problem.tooLarge !== undefined) return valueTooLarge(name, problem.tooLarge, valueBytes, runId)
  const text = `${name} cannot be stored: ${printJsonProblem(problem)}.`
  return new SuperstepError("NOT_SERIALISABLE", text, { retryable: false })
}

/** The same before the run exists: throws VALUE_TOO_LARGE if the value is too large, else the error from `refuse`. */
export function ownGiven(
  value: unknown,
  valueBytes: number,
  what: () => string,
  refuse: (problem: JsonProblem) => Error,
): Json {
  return ownJson(value, valueBytes, (problem) =>
    problem.tooLarge === undefined
      ? refuse(problem)
      : valueTooLarge(what(), problem.tooLarge, valueBytes, undefined),
  )
}

function valueTooLarge(what: string, size: number, most: number, run: RunId | undefined): SuperstepError {
  const where = run === undefined ? "" : ` in run ${run}`
  const text = `${what}${where} is too large: more than ${size} bytes as JSON, and the limit is ${most}. Write it to a file or your own storage and pass a reference, or raise limits.valueBytes.`
  return new SuperstepError("VALUE_TOO_LARGE", text, {
    retryable: false,
    ...(run === undefined ? {} : { run }),
  })
}
