/**
 * Raw JSON Schema as a Standard Schema, for arguments and results that come without a library: from YAML, OpenAPI, MCP.
 * Ajv is loaded with the first check, since most programs never need it. `format` says what is meant and is not checked;
 * a reference to another document is refused, nothing is fetched.
 */
import type { Ajv, ErrorObject, Options } from "ajv"
import { type Json, SuperstepError } from "../core/index.ts"
import { loadModule } from "../core/module-load.ts"
import type { Schema } from "../runtime/index.ts"
import type { Checker, CheckWork } from "./schema-checker.ts"
import { printSchemaPath, schemaProblems, TooMuchWork } from "./schema-limits.ts"

/**
 * Checks values against a JSON Schema: draft 2020-12, or 2019-09, 07, 06 where `$schema` says so. Throws
 * `SCHEMA_INVALID` when the schema is too large, or has a pattern that cannot be matched in linear time.
 */
export function jsonSchema<Output = unknown>(schema: Json): Schema<Output> {
  checkLimits(schema)
  const validate = async (value: unknown) => {
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
    validate,
    jsonSchema: { input: () => schema, output: () => schema },
  }
  return { "~standard": standard }
}

const TOO_MUCH_WORK =
  "is too large to be checked: its patterns and references would take too long. Give less, or simplify the schema"
const TOO_DEEP = "is nested too deep to be checked, or the schema refers to itself without end"

/** Throws `SCHEMA_INVALID` when it is no schema that values can be checked against. */
export async function checkJsonSchema(schema: Json): Promise<void> {
  await compiled(schema)
}

/** As long as the schema is there: the tools of a server are made anew for each task, from the same schemas. */
const known = new WeakMap<object, Promise<Checker>>()
const withinLimits = new WeakSet<object>()

function checkLimits(schema: Json): void {
  if (typeof schema !== "object" || schema === null || withinLimits.has(schema)) return
  const [problem] = schemaProblems(schema)
  if (problem !== undefined) {
    const at = problem.path.length === 0 ? "" : ` at ${printSchemaPath(problem.path)}`
    throw invalid(`${problem.message}${at}`)
  }
  withinLimits.add(schema)
}

function compiled(schema: Json): Promise<Checker> {
  if (typeof schema !== "object" || schema === null) return compile(schema)
  const made = known.get(schema) ?? compile(schema)
  known.set(schema, made)
  return made
}

type Dialect = "2020" | "2019" | "07"

async function compile(schema: Json): Promise<Checker> {
  checkLimits(schema)
  if (
    typeof schema !== "boolean" &&
    (typeof schema !== "object" || schema === null || Array.isArray(schema))
  ) {
    throw invalid(`it is ${describe(schema)}`)
  }
  const { $schema, ...rest } = typeof schema === "object" ? (schema as { $schema?: Json }) : {}
  // Its own promise of a promise: a check would always look as if it had passed.
  if ("$async" in rest) throw invalid("$async is not JSON Schema")
  const bare = typeof schema === "boolean" ? schema : rest
  const said = dialectOf($schema)
  try {
    return await compileAs(said ?? "2020", bare)
  } catch (error) {
    const older = said === undefined ? await compiledAs07(bare) : undefined
    if (older !== undefined) return older
    throw invalid(error instanceof Error ? error.message : String(error), error)
  }
}

/** Whether it is a schema at all, one Ajv says for all. */
async function compileAs(dialect: Dialect, schema: object | boolean): Promise<Checker> {
  const [Dialect, { boundedAjv, CheckWork }] = await loadModule(() =>
    Promise.all([loadAjv(dialect), import("./schema-checker.ts")]),
  )
  const work = new CheckWork()
  const meta = metaCheckers.get(dialect) ?? { ajv: boundedAjv(Dialect, work), work }
  metaCheckers.set(dialect, meta)
  meta.work.start()
  meta.ajv.validateSchema(schema, true)
  const own = new CheckWork()
  return { check: boundedAjv(Dialect, own, { validateSchema: false }).compile(schema), work: own }
}

const metaCheckers = new Map<Dialect, { readonly ajv: Ajv; readonly work: CheckWork }>()

async function loadAjv(dialect: Dialect): Promise<new (options: Options) => Ajv> {
  if (dialect === "2020") return (await import("ajv/dist/2020.js")).Ajv2020
  if (dialect === "2019") return (await import("ajv/dist/2019.js")).Ajv2019
  return (await import("ajv")).Ajv
}

/** Schemas that do not say their draft are often of draft 07, whose `items` may be a list. */
async function compiledAs07(schema: object | boolean): Promise<Checker | undefined> {
  try {
    return await compileAs("07", schema)
  } catch {
    return undefined
  }
}

function dialectOf(said: Json | undefined): Dialect | undefined {
  if (said === undefined) return undefined
  if (typeof said === "string") {
    if (said.includes("draft/2020-12")) return "2020"
    if (said.includes("draft/2019-09")) return "2019"
    // What draft 04 did otherwise (a boolean exclusiveMaximum) is found when it is compiled.
    if (/draft-0[467]/.test(said)) return "07"
  }
  throw invalid(`$schema is ${describe(said)}, a draft that is not known here; 2020-12, 2019-09 and 07 are`)
}

const MOST_ISSUES = 8

function issuesOf(errors: readonly ErrorObject[]): { message: string; path: string[] }[] {
  const shown = errors.slice(0, MOST_ISSUES).map((error) => ({ message: textOf(error), path: pathOf(error) }))
  const more = errors.length - shown.length
  return more === 0 ? shown : [...shown, { message: `and ${more} more`, path: [] }]
}

function pathOf({ instancePath }: ErrorObject): string[] {
  const parts = instancePath.split("/").slice(1)
  return parts.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
}

/** Says what would fit, where Ajv leaves that to its parameters. */
function textOf({ keyword, params, message }: ErrorObject): string {
  const said = message ?? `does not fit "${keyword}"`
  if (keyword === "enum") return `must be one of ${list(params.allowedValues)}`
  if (keyword === "const") return `must be ${describe(params.allowedValue)}`
  if (keyword === "additionalProperties") return `"${params.additionalProperty}" is not a known property`
  if (keyword === "unevaluatedProperties") return `"${params.unevaluatedProperty}" is not a known property`
  return said
}

function list(values: unknown): string {
  const text = (Array.isArray(values) ? values : []).map(describe).join(", ")
  return text.length > 500 ? `${text.slice(0, 500)}…` : text
}

function describe(value: unknown): string {
  return JSON.stringify(value) ?? "undefined"
}

function invalid(reason: string, cause?: unknown): SuperstepError {
  const text = `A JSON Schema cannot be used: ${reason}. Give an object such as { "type": "object", "properties": { … } }.`
  return new SuperstepError("SCHEMA_INVALID", text, { cause, retryable: false })
}
