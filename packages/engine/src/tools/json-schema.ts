/**
 * JSON Schema as a Standard Schema, for arguments and results without a schema library: from YAML, OpenAPI, MCP. Ajv is loaded
 * with the first check, since most programs never need it. `format` is not checked. A reference to another document is
 * refused; nothing is fetched.
 */
import type { Ajv, ErrorObject, Options } from "ajv"
import type { Json, SuperstepError } from "../core/index.ts"
import { isRecord, loadModule, terminalError } from "../core/internal.ts"
import type { Schema } from "../runtime/index.ts"
import { validate } from "../runtime/internal.ts"
import { clipped } from "../text/index.ts"
import type { Checker, CheckWork } from "./schema-checker.ts"
import { schemaProblems, TooMuchWork, withoutUncheckedPatterns } from "./schema-limits.ts"

/**
 * Checks values against a JSON Schema: draft 2020-12, or 2019-09, 07, 06 if `$schema` names it. Throws `SCHEMA_INVALID` if the
 * schema is too large, or has a pattern that cannot be matched in linear time.
 */
export function jsonSchema<Output = unknown>(schema: Json): Schema<Output> {
  checkLimits(schema)
  const checkValue = async (value: unknown) => {
    const { check, work } = await compiled(schema)
    try {
      work.start()
      if (check(value)) return { value: value as Output }
      return { issues: issuesOf(check.errors ?? []) }
    } catch (error) {
      if (error instanceof TooMuchWork) return { issues: [{ message: TOO_MUCH_WORK, path: [] }] }
      if (error instanceof RangeError) return { issues: [{ message: TOO_DEEP, path: [] }] }
      throw error
    }
  }
  const standard = {
    version: 1 as const,
    vendor: "superstep",
    validate: checkValue,
    jsonSchema: { input: () => schema, output: () => schema },
  }
  return { "~standard": standard }
}

const TOO_MUCH_WORK =
  "is too large to be checked: its patterns and references would take too long. Pass less data, or simplify the schema"
const TOO_DEEP = "is too deeply nested to be checked, or the schema refers to itself endlessly"

/** Throws `SCHEMA_INVALID` if values cannot be checked against it. */
export async function checkJsonSchema(schema: Json): Promise<void> {
  await compiled(schema)
}

/**
 * Why an answer does not match the schema of its question, as the end of a sentence. Patterns that cannot be matched in
 * linear time are left to the run, which has the schema that the question was asked with.
 */
export async function answerProblem(schema: Json, value: Json): Promise<string | undefined> {
  const checked = await validate(jsonSchema(withoutUncheckedPatterns(schema).schema), value)
  return checked.ok ? undefined : checked.reason
}

/** Cached as long as the schema exists: the tools of a server are created anew for each task, from the same schemas. */
const known = new WeakMap<object, Promise<Checker>>()
const withinLimits = new WeakSet<object>()

function checkLimits(schema: Json): void {
  if (typeof schema !== "object" || schema === null || withinLimits.has(schema)) return
  const [problem] = schemaProblems(schema)
  if (problem !== undefined) {
    const at = problem.path.length === 0 ? "" : ` at ${problem.path.join(".")}`
    throw invalid(`${problem.message}${at}`)
  }
  withinLimits.add(schema)
}

function compiled(schema: Json): Promise<Checker> {
  if (!isRecord(schema)) return compile(schema)
  const made = known.get(schema) ?? compile(schema)
  known.set(schema, made)
  return made
}

type Draft = "2020" | "2019" | "07"

async function compile(schema: Json): Promise<Checker> {
  checkLimits(schema)
  if (typeof schema === "boolean") return compileAs("2020", schema)
  if (!isRecord(schema)) throw invalid(`it is ${describe(schema)}`)
  const { $schema, ...rest } = schema
  // Ajv would return a promise, which looks as if the check had passed.
  if ("$async" in rest) throw invalid("$async is not JSON Schema")
  const draft = draftOf($schema)
  // Schemas that name no draft are often of draft 07, whose `items` may be a list.
  const older = () => (draft === undefined ? compileAs("07", rest).catch(() => undefined) : undefined)
  try {
    return await compileAs(draft ?? "2020", rest)
  } catch (error) {
    const checker = await older()
    if (checker !== undefined) return checker
    throw invalid(error instanceof Error ? error.message : String(error), error)
  }
}

/** One Ajv for each draft checks whether a schema is valid; another one is created to compile it. */
async function compileAs(draft: Draft, schema: object | boolean): Promise<Checker> {
  const [Dialect, { boundedAjv, CheckWork }] = await loadModule(() =>
    Promise.all([loadAjv(draft), import("./schema-checker.ts")]),
  )
  const work = new CheckWork()
  const meta = metaCheckers.get(draft) ?? { ajv: boundedAjv(Dialect, work), work }
  metaCheckers.set(draft, meta)
  meta.work.start()
  meta.ajv.validateSchema(schema, true)
  const own = new CheckWork()
  return { check: boundedAjv(Dialect, own, { validateSchema: false }).compile(schema), work: own }
}

const metaCheckers = new Map<Draft, { readonly ajv: Ajv; readonly work: CheckWork }>()

async function loadAjv(draft: Draft): Promise<new (options: Options) => Ajv> {
  if (draft === "2020") return (await import("ajv/dist/2020.js")).Ajv2020
  if (draft === "2019") return (await import("ajv/dist/2019.js")).Ajv2019
  return (await import("ajv")).Ajv
}

function draftOf($schema: Json | undefined): Draft | undefined {
  if ($schema === undefined) return undefined
  const name = typeof $schema === "string" ? $schema : ""
  if (name.includes("draft/2020-12")) return "2020"
  if (name.includes("draft/2019-09")) return "2019"
  // What is different in draft 04 (a boolean exclusiveMaximum) is found when it is compiled.
  if (/draft-0[467]/.test(name)) return "07"
  throw invalid(
    `$schema is ${describe($schema)}, an unsupported draft; 2020-12, 2019-09 and 07 are supported`,
  )
}

const MAX_ISSUES = 8

function issuesOf(errors: readonly ErrorObject[]): { message: string; path: string[] }[] {
  const shown = errors.slice(0, MAX_ISSUES).map((error) => ({ message: textOf(error), path: pathOf(error) }))
  const more = errors.length - shown.length
  return more === 0 ? shown : [...shown, { message: `and ${more} more`, path: [] }]
}

function pathOf({ instancePath }: ErrorObject): string[] {
  const parts = instancePath.split("/").slice(1)
  return parts.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
}

/** Names the expected values, which Ajv leaves to its parameters. */
function textOf({ keyword, params, message }: ErrorObject): string {
  if (keyword === "enum")
    return `must be one of ${clipped(params.allowedValues.map(describe).join(", "), 500)}`
  if (keyword === "const") return `must be ${describe(params.allowedValue)}`
  if (keyword === "additionalProperties") return `"${params.additionalProperty}" is not a known property`
  if (keyword === "unevaluatedProperties") return `"${params.unevaluatedProperty}" is not a known property`
  return message ?? `does not match "${keyword}"`
}

function describe(value: unknown): string {
  return JSON.stringify(value) ?? "undefined"
}

function invalid(reason: string, cause?: unknown): SuperstepError {
  const text = `Invalid JSON Schema: ${reason}. Pass an object such as { "type": "object", "properties": { … } }.`
  return terminalError("SCHEMA_INVALID", text, cause)
}
