/**
 * Raw JSON Schema as a Standard Schema, for arguments and results that come without a library: from YAML, OpenAPI, MCP.
 * Ajv is loaded with the first check, since most programs never need it. `format` says what is meant and is not checked;
 * a reference to another document is refused, nothing is fetched.
 */
import type { Ajv, ErrorObject, Options, ValidateFunction } from "ajv"
import { type Json, SuperstepError } from "../core/index.ts"
import type { Schema } from "../runtime/index.ts"

/** Checks values against a JSON Schema: draft 2020-12, or 2019-09, 07, 06 where `$schema` says so. */
export function jsonSchema<Output = unknown>(schema: Json): Schema<Output> {
  const validate = async (value: unknown) => {
    const check = await compiled(schema)
    if (check(value)) return { value: value as Output }
    return { issues: issuesOf(check.errors ?? []) }
  }
  const standard = {
    version: 1 as const,
    vendor: "superstep",
    validate,
    jsonSchema: { input: () => schema, output: () => schema },
  }
  return { "~standard": standard }
}

/** Throws `SCHEMA_INVALID` when it is no schema that values can be checked against. */
export async function checkJsonSchema(schema: Json): Promise<void> {
  await compiled(schema)
}

/** As long as the schema is there: the tools of a server are made anew for each task, from the same schemas. */
const known = new WeakMap<object, Promise<ValidateFunction>>()

function compiled(schema: Json): Promise<ValidateFunction> {
  if (typeof schema !== "object" || schema === null) return compile(schema)
  const made = known.get(schema) ?? compile(schema)
  known.set(schema, made)
  return made
}

type Dialect = "2020" | "2019" | "07"

async function compile(schema: Json): Promise<ValidateFunction> {
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

/** By an Ajv of its own: each keeps what it has compiled for ever. Whether it is a schema at all, one says for all. */
async function compileAs(dialect: Dialect, schema: object | boolean): Promise<ValidateFunction> {
  const Dialect = await loadAjv(dialect)
  const checker = checkers.get(dialect) ?? new Dialect(OPTIONS)
  checkers.set(dialect, checker)
  checker.validateSchema(schema, true)
  return new Dialect({ ...OPTIONS, validateSchema: false }).compile(schema)
}

const checkers = new Map<Dialect, Ajv>()
const OPTIONS = { strict: false, allErrors: true, validateFormats: false, logger: false } as const

async function loadAjv(dialect: Dialect): Promise<new (options: Options) => Ajv> {
  if (dialect === "2020") return (await import("ajv/dist/2020.js")).Ajv2020
  if (dialect === "2019") return (await import("ajv/dist/2019.js")).Ajv2019
  return (await import("ajv")).Ajv
}

/** Schemas that do not say their draft are often of draft 07, whose `items` may be a list. */
async function compiledAs07(schema: object | boolean): Promise<ValidateFunction | undefined> {
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
