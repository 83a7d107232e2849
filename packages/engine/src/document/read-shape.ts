/**
 * Validates data of a document with a zod schema: returns the typed value, or reports the problems with their positions.
 */
import { z } from "zod"
import type { Json } from "../core/index.ts"
import { nearest } from "../text/index.ts"
import { type Diagnostic, type Path, Report } from "./diagnostic.ts"
import type { Document } from "./parse-document.ts"
import { either, fieldName, kindFound, kindWanted, limitSentence, oneOf, quotedValue } from "./shape-words.ts"

/** Maximum suggestions: each costs time, and more are not useful. */
const MAX_SUGGESTED = 100

/** A zod issue, with notes that were taken while zod still knew the schema. */
type Issue = z.core.$ZodIssue & { readonly knownKeys?: readonly string[]; readonly ownWords?: boolean }

/**
 * Validates the data at `path` of the document. Messages of the schema itself are kept. A custom issue may have its own
 * code and suggestion: `params: { code, suggestion }`. `fields` has the fields that messages offer for schemas with an
 * id, if they depend on the value, such as on its type. If unknown fields are the only problem, the value is returned
 * too, with the names that were meant, so that later checks can run.
 */
export function readShape<T>(
  document: Document,
  schema: z.ZodType<T>,
  path: Path = [],
  fields: FieldsBy = {},
): {
  readonly value?: T
  readonly diagnostics: readonly Diagnostic[]
  /** The fields of the value that are written with another name. */
  readonly misspelt?: readonly UnknownField[]
} {
  const result = schema.safeParse(valueAt(document.data, path), { error: noting(fields), jitless: true })
  if (result.success) return { value: result.data, diagnostics: [] }
  const report = new ShapeReport(document)
  report.addIssues(result.error.issues, path)
  const diagnostics = report.finish()
  if (diagnostics.some(({ code }) => code !== "UNKNOWN_FIELD")) return { diagnostics }
  // A misspelt field counts as the one that was meant: what follows from its absence is not a mistake of its own.
  const known = schema.safeParse(valueAt(repaired(document.data, report.unknown), path), { jitless: true })
  return known.success ? { value: known.data, diagnostics, misspelt: report.unknown } : { diagnostics }
}

/** A field that is not in the schema, and the name that was probably meant. */
export interface UnknownField {
  readonly path: Path
  readonly meant?: string | undefined
}

function repaired(data: Json, fields: readonly UnknownField[]): Json {
  const rest = structuredClone(data)
  // The innermost first: the path of a field has the names as they are written.
  for (const { path, meant } of fields.toSorted((a, b) => b.path.length - a.path.length)) {
    const owner = valueAt(rest, path.slice(0, -1))
    if (typeof owner !== "object" || owner === null) continue
    const fieldsOf = owner as Record<string, Json>
    const name = String(path.at(-1))
    const value = fieldsOf[name] as Json
    Reflect.deleteProperty(owner, name)
    if (meant !== undefined && !Object.hasOwn(owner, meant)) fieldsOf[meant] = value
  }
  return rest
}

/** The fields of a mapping, by the id of its schema. Undefined: all of the schema. */
export type FieldsBy = Readonly<Record<string, (value: unknown) => readonly string[] | undefined>>

/** zod calls it for every issue without a message of the schema. Properties that are set here stay on the issue. */
function noting(fields: FieldsBy): (issue: z.core.$ZodRawIssue) => string {
  return (issue) => {
    const notes: Record<string, unknown> = issue
    notes.ownWords = true
    if (issue.code === "unrecognized_keys") {
      const id = z.globalRegistry.get(issue.inst as z.core.$ZodType)?.id
      notes.knownKeys = fields[id ?? ""]?.(issue.input) ?? keysOf(issue.inst)
    }
    // For a string instead of a whole number, zod reports "number".
    if (issue.code === "invalid_type" && isWhole(issue.inst)) notes.expected = "int"
    return ""
  }
}

function keysOf(schema: unknown): string[] {
  const { def } = (schema as z.core.$ZodType)._zod
  if ("shape" in def && typeof def.shape === "object" && def.shape !== null) return Object.keys(def.shape)
  const keyType = "keyType" in def ? (def.keyType as z.core.$ZodType) : undefined
  return [...(keyType?._zod.values ?? [])].map(String)
}

function isWhole(schema: unknown): boolean {
  const def: object | undefined = (schema as z.core.$ZodType | undefined)?._zod.def
  return def !== undefined && "format" in def && def.format === "safeint"
}

function valueAt(data: Json, path: Path): Json | undefined {
  let value: unknown = data
  for (const part of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<string, unknown>)[part]
  }
  return value as Json | undefined
}

class ShapeReport {
  readonly #document: Document
  readonly #report = new Report()
  /** Fields that are not in the schema. */
  readonly unknown: UnknownField[] = []
  /** The correct names of misspelt fields. */
  readonly #misspelt = new Set<string>()
  readonly #missing: { readonly path: Path; readonly message: string }[] = []

  constructor(document: Document) {
    this.#document = document
  }

  /** A misspelt field is not also reported as missing. */
  finish(): readonly Diagnostic[] {
    for (const { path, message } of this.#missing) {
      if (!this.#misspelt.has(JSON.stringify(path))) this.#error("MISSING_FIELD", message, path)
    }
    return this.#report.diagnostics
  }

  addIssues(issues: readonly Issue[], base: Path): void {
    for (const issue of issues) this.#addIssue(issue, join(base, issue.path))
  }

  #addIssue(issue: Issue, path: Path): void {
    switch (issue.code) {
      case "unrecognized_keys":
        for (const key of issue.keys) this.#unknownField(issue, [...path, key])
        return
      case "invalid_union":
        return this.#union(issue, path)
      case "invalid_type":
        return this.#misfit(issue, path, [issue.expected], [])
      case "invalid_value":
        return this.#misfit(issue, path, [], issue.values)
      case "invalid_key": {
        const reason = issue.issues.map((inner) => limitSentence(inner, "The key", path.at(-1))).join(" ")
        return this.#error("BAD_KEY", schemaMessage(issue) ?? reason, path, "key")
      }
      case "custom": {
        const { code, suggestion } = (issue.params ?? {}) as Record<string, unknown>
        const place = this.#document.place(path)
        const word = typeof suggestion === "string" ? suggestion : undefined
        const message = schemaMessage(issue) ?? `${fieldName(path)} is not valid.`
        return this.#report.error(typeof code === "string" ? code : "INVALID_VALUE", message, place, word)
      }
      default: {
        const code = issue.code === "invalid_format" ? "BAD_FORMAT" : "OUT_OF_RANGE"
        const message =
          schemaMessage(issue) ?? limitSentence(issue, fieldName(path), valueAt(this.#document.data, path))
        return this.#error(code, message, path)
      }
    }
  }

  #unknownField(issue: Issue, path: Path): void {
    const key = String(path.at(-1))
    const known = issue.knownKeys ?? []
    const list =
      known.length > 0 ? ` Known are: ${known.slice(0, 20).join(", ")}${known.length > 20 ? ", …" : ""}.` : ""
    const owner = path.slice(0, -1)
    const suggestion = this.unknown.length < MAX_SUGGESTED ? this.#meantBy(key, known, owner) : undefined
    if (suggestion !== undefined) this.#misspelt.add(JSON.stringify([...owner, suggestion]))
    const where = owner.length > 0 ? ` in ${inSentence(owner)}` : ""
    const message =
      schemaMessage(issue) ?? `There is no field \`${key}\`${where}.${suggestion === undefined ? list : ""}`
    this.unknown.push({ path, meant: suggestion })
    this.#error("UNKNOWN_FIELD", message, path, "key", suggestion)
  }

  /** The missing field that an unknown key probably stands for. */
  #meantBy(key: string, known: readonly string[], owner: Path): string | undefined {
    const absent = known.filter((name) => valueAt(this.#document.data, [...owner, name]) === undefined)
    const truth = BOOLEANS.get(key.toLowerCase())
    return truth !== undefined && absent.includes(truth) ? truth : nearest(key, absent)
  }

  #union(issue: Issue & { code: "invalid_union" }, path: Path): void {
    const message = schemaMessage(issue)
    if (message !== undefined) return this.#error("INVALID_VALUE", message, path)
    // Reported at the discriminator's path, with its possible values.
    if (issue.discriminator !== undefined && issue.errors.length === 0) {
      return this.#misfit(issue, path, [], "options" in issue ? (issue.options ?? []) : [])
    }
    if (issue.inclusive === false) {
      return this.#error(
        "INVALID_VALUE",
        `${fieldName(path)} matches several forms; it must match exactly one.`,
        path,
      )
    }
    const finding = judgeUnion(issue.errors)
    if (finding.kind === "branch") this.addIssues(finding.issues, path)
    else this.#misfit(issue, join(path, finding.path), finding.types, finding.values)
  }

  /** A missing value, a value of another kind, or none of the possible values. */
  #misfit(issue: Issue, path: Path, types: readonly string[], values: readonly unknown[]): void {
    const kinds = types.map(kindWanted)
    const wanted = either(values.length > 0 ? [...kinds, oneOf(values)] : kinds)
    const found = valueAt(this.#document.data, path)
    const name = fieldName(path)
    if (found === undefined) {
      const must = wanted === "" ? "." : `; it must be ${wanted}.`
      this.#missing.push({ path, message: schemaMessage(issue) ?? `${name} is missing${must}` })
      return
    }
    const words = values.filter((value) => typeof value === "string")
    if (typeof found === "string" && words.length > 0) {
      const message = schemaMessage(issue) ?? `${name} must be ${wanted}, not ${quotedValue(found)}.`
      return this.#error("NOT_ONE_OF", message, path, "value", nearest(found, words))
    }
    const code = types.length === 0 && typeof found !== "object" ? "NOT_ONE_OF" : "WRONG_TYPE"
    const not = found === null ? "but it is empty" : `not ${kindFound(found)}`
    const message =
      schemaMessage(issue) ?? `${name} must be ${wanted === "" ? "something else" : wanted}, ${not}.`
    this.#error(code, message, path, "value", meantByType(found, types))
  }

  #error(
    code: string,
    message: string,
    path: Path,
    part: "key" | "value" = "value",
    suggestion?: string,
  ): void {
    this.#report.error(code, message, this.#document.place(path, part), suggestion)
  }
}

function join(base: Path, path: readonly PropertyKey[]): Path {
  return [...base, ...path.map((part) => (typeof part === "symbol" ? String(part) : part))]
}

/** The message that the schema itself defines. */
function schemaMessage(issue: Issue): string | undefined {
  return issue.ownWords || issue.message === "" ? undefined : issue.message
}

function inSentence(path: Path): string {
  const name = fieldName(path)
  return name.startsWith("Item") ? name.toLowerCase() : name
}

/** How to write what was probably meant: `yes` is a string in YAML 1.2, and so is "5". */
function meantByType(found: Json, types: readonly string[]): string | undefined {
  if (typeof found === "string") {
    if (types.includes("boolean")) return BOOLEANS.get(found.toLowerCase())
    const number = types.includes("number") || types.includes("int")
    return number && /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(found) ? found : undefined
  }
  if (types.includes("boolean") && (found === 0 || found === 1)) return String(found === 1)
  const scalar = typeof found === "number" || typeof found === "boolean"
  return scalar && types.includes("string") ? JSON.stringify(String(found)) : undefined
}

const BOOLEANS = new Map([
  ["true", "true"],
  ["yes", "true"],
  ["on", "true"],
  ["false", "false"],
  ["no", "false"],
  ["off", "false"],
])

/**
 * A value matches no branch of a union: finds the branch that was probably meant, by its discriminator or by the best
 * match. Reporting the problems of all branches would hide the relevant ones.
 */
type UnionFinding =
  /** One branch was meant, and these are its problems. */
  | { readonly kind: "branch"; readonly issues: readonly z.core.$ZodIssue[] }
  /** No branch takes the value at this path: what they would take instead. */
  | {
      readonly kind: "misfit"
      readonly path: readonly PropertyKey[]
      readonly types: readonly string[]
      readonly values: readonly unknown[]
    }

function judgeUnion(branches: readonly (readonly z.core.$ZodIssue[])[]): UnionFinding {
  const fitting = branches.filter((issues) => !issues.some((issue) => isMisfit(issue, 0)))
  if (fitting.length === 0) return { kind: "misfit", path: [], ...wantedAt(branches.flat(), []) }
  const [only] = fitting
  if (fitting.length === 1 && only !== undefined) return { kind: "branch", issues: only }

  // Fields for which every branch requires a different value distinguish the branches.
  const key = discriminatorOf(fitting)
  if (key !== undefined) return { kind: "misfit", path: [key], ...wantedAt(fitting.flat(), [key]) }
  return { kind: "branch", issues: best(fitting) }
}

/** Whether the issue reports that the value at a path of this length has another kind. */
function isMisfit(issue: z.core.$ZodIssue, length: number): boolean {
  if (issue.path.length !== length) return false
  if (issue.code === "invalid_type" || issue.code === "invalid_value") return true
  return (
    issue.code === "invalid_union" &&
    issue.errors.length > 0 &&
    issue.errors.every((branch) => branch.some((inner) => isMisfit(inner, 0)))
  )
}

function discriminatorOf(branches: readonly (readonly z.core.$ZodIssue[])[]): PropertyKey | undefined {
  const [first = [], ...others] = branches.map((issues) => literalMisfits(issues))
  return first.find((key) => others.every((keys) => keys.includes(key)))
}

function literalMisfits(issues: readonly z.core.$ZodIssue[]): PropertyKey[] {
  return issues.flatMap(({ code, path }) => (code === "invalid_value" && path.length === 1 ? path : []))
}

/** The branch with the fewest wrong literals, then the fewest problems: a branch with another `type` was not meant. */
function best(branches: readonly (readonly z.core.$ZodIssue[])[]): readonly z.core.$ZodIssue[] {
  const ranked = branches.map((issues) => ({
    issues,
    literals: literalMisfits(issues).length,
    count: countOf(issues),
  }))
  ranked.sort((a, b) => a.literals - b.literals || a.count - b.count)
  return ranked[0]?.issues ?? []
}

function countOf(issues: readonly z.core.$ZodIssue[]): number {
  let count = 0
  for (const issue of issues) {
    if (issue.code === "unrecognized_keys") count += issue.keys.length
    else if (issue.code === "invalid_union" && issue.errors.length > 0) {
      count += Math.min(...issue.errors.map(countOf))
    } else count++
  }
  return count
}

interface Wanted {
  readonly types: readonly string[]
  readonly values: readonly unknown[]
}

function wantedAt(issues: readonly z.core.$ZodIssue[], path: readonly PropertyKey[]): Wanted {
  const types: string[] = []
  const values: unknown[] = []
  for (const issue of issues) {
    if (issue.path.length !== path.length || issue.path.some((part, i) => part !== path[i])) continue
    if (issue.code === "invalid_type") types.push(issue.expected)
    else if (issue.code === "invalid_value") values.push(...issue.values)
    else if (issue.code === "invalid_union") {
      const inner = wantedAt(issue.errors.flat(), [])
      types.push(...inner.types)
      values.push(...inner.values)
    }
  }
  return { types, values }
}
