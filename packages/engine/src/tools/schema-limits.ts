/**
 * Problems of a JSON Schema before it is compiled: its size, its nesting, and patterns that have no linear algorithm. Schemas
 * come from definitions, from servers and from models: none of them may hang the process.
 */
import type { Json } from "../core/index.ts"
import { isRecord } from "../core/internal.ts"
import { clipped } from "../text/index.ts"
import { compilePattern, type Pattern, PatternError } from "../text/patterns/index.ts"

const MAX_VALUES = 50_000
const MAX_DEPTH = 100
const PATTERN_LIMITS = { length: 5_000, instructions: 5_000 }

/** A check exceeded its work limit. */
export class TooMuchWork extends Error {}

export interface SchemaProblem {
  /** The path in the schema. */
  readonly path: readonly (string | number)[]
  readonly message: string
  /** The pattern that cannot be checked, if that is the problem. */
  readonly pattern?: string | undefined
}

/** Throws `PatternError`. */
export function schemaPattern(source: string): Pattern {
  return compilePattern(source, PATTERN_LIMITS)
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

/** Everything that keeps a schema from being compiled safely. It may still not be JSON Schema. */
export function schemaProblems(schema: Json): SchemaProblem[] {
  const size = sizeProblem(schema)
  return size === undefined ? patternProblems(schema) : [{ path: [], message: size }]
}

function sizeProblem(schema: Json): string | undefined {
  const open: { value: Json | undefined; depth: number }[] = [{ value: schema, depth: 0 }]
  let values = 0
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next
    if (++values > MAX_VALUES) return `it has more than ${MAX_VALUES} values`
    if (depth > MAX_DEPTH) return `it is nested deeper than ${MAX_DEPTH} levels`
    if (typeof value !== "object" || value === null) continue
    for (const inner of Object.values(value)) open.push({ value: inner, depth: depth + 1 })
  }
  return undefined
}

const keywords = (text: string) => new Set(text.split(" "))
/** Keywords whose value is a schema, or a list of schemas. */
const SCHEMAS = keywords(
  "items prefixItems additionalItems unevaluatedItems contains additionalProperties unevaluatedProperties propertyNames allOf anyOf oneOf not if then else contentSchema",
)
/** Keywords whose value has schemas under names. */
const NAMED_SCHEMAS = keywords("properties patternProperties $defs definitions dependentSchemas dependencies")

/** Problems of the patterns in a schema and in every schema inside it. `sizeProblem` bounds the nesting. */
function patternProblems(schema: Json | undefined, path: SchemaProblem["path"] = []): SchemaProblem[] {
  if (!isRecord(schema)) return []
  const { pattern, patternProperties } = schema
  const check = (source: string, ...keys: string[]): SchemaProblem[] => {
    const problem = patternProblem(source)
    if (problem === undefined) return []
    const message = `the pattern ${JSON.stringify(clipped(source, 100))} cannot be checked: ${problem}`
    return [{ path: [...path, ...keys], message, pattern: source }]
  }
  const names = isRecord(patternProperties) ? Object.keys(patternProperties) : []
  return [
    ...(typeof pattern === "string" ? check(pattern, "pattern") : []),
    ...names.flatMap((name) => check(name, "patternProperties", name)),
    ...Object.entries(schema).flatMap(([key, value]) => {
      const inner = (one: Json | undefined, ...keys: (string | number)[]) =>
        patternProblems(one, [...path, key, ...keys])
      if (SCHEMAS.has(key))
        return Array.isArray(value) ? value.flatMap((one, i) => inner(one, i)) : inner(value)
      if (!NAMED_SCHEMAS.has(key) || !isRecord(value)) return []
      return Object.entries(value).flatMap(([name, one]) => inner(one, name))
    }),
  ]
}

/**
 * The schema without the patterns that have no linear algorithm, and these patterns. For arguments that another program checks
 * too, such as the server that they are sent to.
 */
export function withoutUncheckedPatterns(schema: Json): {
  readonly schema: Json
  readonly unchecked: readonly string[]
} {
  const problems = schemaProblems(schema)
  const unchecked = problems.flatMap(({ pattern }) => pattern ?? [])
  // Nothing to remove, or a schema that is too large, which is refused when it is compiled.
  if (unchecked.length === 0) return { schema, unchecked }
  const kept = structuredClone(schema)
  for (const { path } of problems) removeAt(kept, path)
  return { schema: kept, unchecked: [...new Set(unchecked)] }
}

function removeAt(schema: Json, path: SchemaProblem["path"]): void {
  // Parents are undefined inside parts that were already removed.
  const parent = (levels: number) =>
    path
      .slice(0, -levels)
      .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], schema) as
      | Record<string, unknown>
      | undefined
  delete parent(1)?.[path.at(-1) as string]
  const node = path.at(-2) === "patternProperties" ? parent(2) : undefined
  // Properties that matched the pattern would count as additional ones.
  delete node?.additionalProperties
  delete node?.unevaluatedProperties
}
