/**
 * What is wrong with a JSON Schema before it is compiled: its size, its nesting, and patterns that have no linear algorithm.
 * Schemas come from definitions, from servers and from models: none of them may hang the process.
 */
import type { Json } from "../core/index.ts"
import { compilePattern, type Pattern, PatternError } from "../text/patterns/index.ts"

const MAX_VALUES = 50_000
const MAX_DEPTH = 100
const PATTERN_LIMITS = { length: 5_000, instructions: 5_000 }

/** A check took more work than any check may. */
export class TooMuchWork extends Error {}

export interface SchemaProblem {
  /** Where in the schema. */
  readonly path: readonly (string | number)[]
  readonly message: string
  /** The pattern that cannot be checked, where that is the problem. */
  readonly pattern?: string | undefined
}

/** Throws `PatternError`. */
export function schemaPattern(source: string): Pattern {
  return compilePattern(source, PATTERN_LIMITS)
}

/** Everything that keeps a schema from being compiled safely. Whether it is JSON Schema at all is not looked at. */
export function schemaProblems(schema: Json): SchemaProblem[] {
  const size = sizeProblem(schema)
  return size === undefined ? patternsIn(schema) : [size]
}

/** `keyword` with its place, as in `properties.name.pattern`; empty for the schema itself. */
export function printSchemaPath(path: SchemaProblem["path"]): string {
  return path.join(".")
}

function sizeProblem(schema: Json): SchemaProblem | undefined {
  const open: { value: Json | undefined; depth: number }[] = [{ value: schema, depth: 0 }]
  let values = 0
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next
    if (++values > MAX_VALUES) return { path: [], message: `it has more than ${MAX_VALUES} values` }
    if (depth > MAX_DEPTH) return { path: [], message: `it is nested deeper than ${MAX_DEPTH} levels` }
    if (typeof value !== "object" || value === null) continue
    for (const inner of Object.values(value)) open.push({ value: inner, depth: depth + 1 })
  }
  return undefined
}

function patternsIn(schema: Json): SchemaProblem[] {
  const problems: SchemaProblem[] = []
  const look = (source: string, path: SchemaProblem["path"]) => {
    const problem = patternProblem(source)
    if (problem === undefined) return
    const message = `the pattern ${quoted(source)} cannot be checked: ${problem}`
    problems.push({ path, message, pattern: source })
  }
  walkSchema(schema, (node, path) => {
    if (typeof node.pattern === "string") look(node.pattern, [...path, "pattern"])
    if (!isObject(node.patternProperties)) return
    for (const key of Object.keys(node.patternProperties)) look(key, [...path, "patternProperties", key])
  })
  return problems
}

/** Why a pattern cannot be checked in linear time, or undefined. */
export function patternProblem(source: string): string | undefined {
  try {
    schemaPattern(source)
    return undefined
  } catch (error) {
    if (error instanceof PatternError) return error.message
    throw error
  }
}

type SchemaNode = { readonly [keyword: string]: Json | undefined }
type Visit = (node: SchemaNode, path: readonly (string | number)[]) => void

/** Keywords whose value is a schema, or a list of them. */
const APPLIED = new Set(
  "items prefixItems additionalItems unevaluatedItems contains additionalProperties unevaluatedProperties propertyNames allOf anyOf oneOf not if then else contentSchema".split(
    " ",
  ),
)
/** Keywords whose value has schemas under names. */
const NAMED = new Set(
  "properties patternProperties $defs definitions dependentSchemas dependencies".split(" "),
)

/** Visits every schema inside a schema. Nesting is bounded by `sizeProblem`. */
function walkSchema(schema: Json | undefined, visit: Visit, path: readonly (string | number)[] = []): void {
  if (!isObject(schema)) return
  visit(schema, path)
  for (const [key, value] of Object.entries(schema)) {
    const isList = APPLIED.has(key) && Array.isArray(value)
    if (APPLIED.has(key) && !isList) walkSchema(value, visit, [...path, key])
    else if (isList) value.forEach((one: Json, i: number) => walkSchema(one, visit, [...path, key, i]))
    else if (NAMED.has(key) && isObject(value)) {
      for (const [name, one] of Object.entries(value)) walkSchema(one, visit, [...path, key, name])
    }
  }
}

/**
 * The schema without the patterns that have no linear algorithm, and these patterns. For arguments that somebody else
 * checks too, such as the server that they are sent to.
 */
export function withoutUncheckedPatterns(schema: Json): {
  readonly schema: Json
  readonly unchecked: readonly string[]
} {
  const problems = schemaProblems(schema)
  const unchecked = problems.flatMap(({ pattern }) => pattern ?? [])
  // Nothing to take out, or a schema that is too large: the latter is refused by whoever compiles it.
  if (unchecked.length === 0) return { schema, unchecked }
  const kept = structuredClone(schema)
  for (const { path } of problems) takeOut(kept, path)
  return { schema: kept, unchecked: [...new Set(unchecked)] }
}

function takeOut(schema: Json, path: SchemaProblem["path"]): void {
  const parents: Json[] = [schema]
  for (const key of path.slice(0, -1)) {
    const inner = (parents.at(-1) as SchemaNode | undefined)?.[key]
    if (inner === undefined) return
    parents.push(inner)
  }
  const last = path.at(-1) as string
  delete (parents.at(-1) as Record<string, unknown>)[last]
  if (path.at(-2) !== "patternProperties") return
  // Properties that fitted the pattern would count as additional ones.
  const node = parents.at(-2) as Record<string, unknown>
  delete node.additionalProperties
  delete node.unevaluatedProperties
}

function isObject(value: Json | undefined): value is SchemaNode {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function quoted(source: string): string {
  return JSON.stringify(source.length > 100 ? `${source.slice(0, 100)}…` : source)
}
