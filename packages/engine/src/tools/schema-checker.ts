/**
 * Ajv with bounds. Without them a check might never end:
 * - patterns are matched in linear time;
 * - `uniqueItems` and `enum` look values up instead of comparing each with each;
 * - references and states of patterns are counted, and the check stops at a limit, the same on every machine. Without
 *   references the work is bounded by the size of the schema times that of the value.
 */
import { _, type Ajv, type CodeKeywordDefinition, type Options, type ValidateFunction } from "ajv"
import type { Json } from "../core/index.ts"
import { canonicalJson, omitUndefined } from "../core/internal.ts"
import { isFound } from "../text/patterns/index.ts"
import { schemaPattern, TooMuchWork } from "./schema-limits.ts"

/** One unit is one state of a pattern tried at one character. This many take about half a second. */
const MAX_WORK = 20_000_000
const REFERENCE_COST = 20

/** Counts what one check costs. */
export class CheckWork {
  #done = 0

  start(): void {
    this.#done = 0
  }

  spend(units: number): void {
    this.#done += units
    if (this.#done > MAX_WORK) throw new TooMuchWork()
  }
}

const OPTIONS = { strict: false, allErrors: true, validateFormats: false, logger: false } as const

export interface Checker {
  readonly check: ValidateFunction
  readonly work: CheckWork
}

/** An Ajv whose checks are bounded by `work`. Each is created for one schema, because an Ajv keeps all that it compiled. */
export function boundedAjv(
  Dialect: new (options: Options) => Ajv,
  work: CheckWork,
  options: Options = {},
): Ajv {
  const ajv = new Dialect({ ...OPTIONS, ...options, code: { regExp: linearPatterns(work) } })
  replaceKeyword(ajv, "uniqueItems", (isWanted: boolean) => {
    return (items: readonly Json[]) => !isWanted || new Set(items.map(canonicalJson)).size === items.length
  })
  replaceKeyword(ajv, "enum", (values: readonly Json[]) => {
    const known = new Set(values.map(canonicalJson))
    const hasObjects = values.some((value) => typeof value === "object" && value !== null)
    return (value: Json) =>
      (hasObjects || typeof value !== "object" || value === null) && known.has(canonicalJson(value))
  })
  for (const keyword of ["$ref", "$dynamicRef", "$recursiveRef"]) countReferences(ajv, keyword, work)
  return ajv
}

/** Ajv uses `code` only when it writes modules, which does not happen here. */
function linearPatterns(work: CheckWork): NonNullable<NonNullable<Options["code"]>["regExp"]> {
  const engine = (source: string) => {
    const pattern = schemaPattern(source)
    const test = (text: string) => isFound(pattern, text, (tries) => work.spend(tries))
    // Ajv distinguishes patterns by their source.
    return { test, toString: () => source }
  }
  return Object.assign(engine, { code: "linearPattern" })
}

/** Keeps the error message of Ajv. */
function replaceKeyword<Parameter, Value>(
  ajv: Ajv,
  keyword: string,
  compile: (parameter: Parameter) => (value: Value) => boolean,
): void {
  const own = ajv.getKeyword(keyword)
  if (typeof own === "boolean") return
  const { error: ajvError, type, schemaType } = own as CodeKeywordDefinition
  const error = keyword === "uniqueItems" ? { message: "must NOT have duplicate items" } : ajvError
  ajv.removeKeyword(keyword)
  ajv.addKeyword({ keyword, ...omitUndefined({ type, schemaType, error }), compile } as Parameters<
    Ajv["addKeyword"]
  >[0])
}

function countReferences(ajv: Ajv, keyword: string, work: CheckWork): void {
  const own = ajv.getKeyword(keyword)
  if (typeof own === "boolean" || !("code" in own)) return
  const spend = () => work.spend(REFERENCE_COST)
  ajv.removeKeyword(keyword)
  ajv.addKeyword({
    ...own,
    code(cxt, type) {
      const counted = cxt.gen.scopeValue("func", { ref: spend })
      cxt.gen.code(_`${counted}()`)
      own.code(cxt, type)
    },
  })
}
