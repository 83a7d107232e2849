/**
 * What can be written at a place of a definition, from the JSON Schema of its dialect and the names in the file. The text is
 * read with a mark in place of the word at the cursor, so a line that is not finished has a path too. Pure.
 */
import { isAlias, isMap, isScalar, isSeq, type Node, type Pair, parseDocument } from "yaml"
import { outlineOf } from "./outline.ts"

interface Completion {
  readonly label: string
  readonly kind: "field" | "value" | "name"
  /** What to write. */
  readonly insert: string
  readonly about: string | undefined
}

export interface Completions {
  /** Where the word begins that is replaced. */
  readonly from: number
  readonly options: readonly Completion[]
}

type Schema = { readonly [key: string]: unknown }
type Path = readonly (string | number)[]

const MARK = "zzCURSORzz"

export function completionsAt(schema: Schema, text: string, offset: number): Completions | undefined {
  const lineStart = text.lastIndexOf("\n", offset - 1) + 1
  const before = text.slice(lineStart, offset)
  if (/(?:^|\s)#/.test(before)) return undefined
  const word = /["']?[\w.$/-]*$/.exec(before)?.[0] ?? ""
  const from = offset - word.length
  const head = text.slice(lineStart, from)
  const isKey = /^\s*(?:- +)*$/.test(head) || /[{,]\s*$/.test(head) || (head.trim() === "" && isJson(text))
  const tail = /^[\w.$/-]*["']?/.exec(text.slice(offset))?.[0] ?? ""
  const rest = text.slice(offset + tail.length)
  const hasColon = /^\s*:/.test(rest)
  const context = isKey
    ? (contextAt(text.slice(0, from) + MARK + (hasColon ? "" : ":") + rest) ??
      contextAt(text.slice(0, from) + MARK + rest))
    : contextAt(text.slice(0, from) + MARK + rest)
  if (context === undefined) return undefined
  const options =
    context.kind === "key"
      ? fields(schema, context, isJson(text), hasColon)
      : values(schema, context, text, isJson(text))
  return options.length === 0 ? undefined : { from, options }
}

function isJson(text: string): boolean {
  return text.trimStart().startsWith("{")
}

interface CursorContext {
  readonly kind: "key" | "value"
  /** Of the mapping that has the key, or of the value. */
  readonly path: Path
  /** The mappings along the path, from the outermost: what else they say decides which schema applies. */
  readonly data: unknown
  readonly present: readonly string[]
}

function contextAt(text: string): CursorContext | undefined {
  const document = parseDocument(text, { logLevel: "silent", uniqueKeys: false, strict: false })
  let found: Pick<CursorContext, "kind" | "path" | "present"> | undefined
  const look = (node: Node | null | undefined, path: Path): void => {
    if (found !== undefined || node === null || node === undefined || isAlias(node)) return
    if (isScalar(node)) {
      if (node.value === MARK) found = { kind: "value", path, present: [] }
      return
    }
    if (isSeq(node)) for (const [i, one] of (node.items as Node[]).entries()) look(one, [...path, i])
    if (!isMap(node)) return
    const pairs = node.items as Pair<Node, Node | null>[]
    const keys = pairs.map(({ key }) => (isScalar(key) ? String(key.value) : ""))
    if (keys.includes(MARK)) {
      found = { kind: "key", path, present: keys.filter((key) => key !== MARK) }
      return
    }
    for (const [i, { value }] of pairs.entries()) look(value, [...path, keys[i] as string])
  }
  look(document.contents as Node | null, [])
  if (found === undefined) return undefined
  let data: unknown
  try {
    data = withoutMark(document.toJS({ maxAliasCount: 100 }))
  } catch {
    data = undefined
  }
  return { ...found, data }
}

/** The mark is in place of something that is not written yet. */
function withoutMark(value: unknown): unknown {
  if (value === MARK) return undefined
  if (Array.isArray(value)) return value.map(withoutMark)
  if (!isSchema(value)) return value
  const entries = Object.entries(value).filter(([key]) => key !== MARK)
  return Object.fromEntries(entries.map(([key, one]) => [key, withoutMark(one)]))
}

function fields(
  schema: Schema,
  context: CursorContext,
  isQuoted: boolean,
  hasColon: boolean,
): readonly Completion[] {
  const found = new Map<string, Completion>()
  for (const one of schemasAt(schema, context)) {
    for (const [label, field] of Object.entries((one.properties ?? {}) as Record<string, unknown>)) {
      const isHidden = isSchema(field) && field.doNotSuggest === true
      if (isHidden || context.present.includes(label) || found.has(label)) continue
      const name = isQuoted ? JSON.stringify(label) : label
      found.set(label, {
        label,
        kind: "field",
        insert: hasColon ? name : `${name}: `,
        about: aboutOf(field),
      })
    }
  }
  return [...found.values()]
}

function values(
  schema: Schema,
  context: CursorContext,
  text: string,
  isQuoted: boolean,
): readonly Completion[] {
  const found = new Map<string, Completion>()
  const add = (value: unknown, kind: Completion["kind"], about?: string) => {
    const label = String(value)
    const insert = typeof value === "string" && isQuoted ? JSON.stringify(value) : label
    if (!found.has(label)) found.set(label, { label, kind, insert, about })
  }
  for (const one of schemasAt(schema, context)) {
    if (one.const !== undefined) add(one.const, "value", aboutOf(one))
    const about = Array.isArray(one.enumDescriptions) ? one.enumDescriptions : []
    for (const [i, value] of (Array.isArray(one.enum) ? one.enum : []).entries()) {
      add(value, "value", typeof about[i] === "string" ? about[i] : undefined)
    }
    if (one.type === "boolean") for (const value of [true, false]) add(value, "value")
  }
  for (const name of namesFor(context, text)) add(name, "name")
  return [...found.values()]
}

/** Fields that have the name of something in the file. */
function namesFor({ path, data }: CursorContext, text: string): readonly string[] {
  const field = path.findLast((part) => typeof part === "string")
  const parent = at(data, path.slice(0, path.lastIndexOf(field ?? "")))
  const type = (parent as { readonly type?: unknown } | undefined)?.type
  const outline = outlineOf(text)
  if (outline === undefined) return []
  switch (field) {
    case "name":
      return type === "agent" ? outline.agents : []
    case "agent":
    case "agents":
    case "agentId":
    case "agent_id":
    case "manager":
    case "sub_agents":
      return outline.agents
    case "goto":
    case "sourceNodeId":
    case "targetNodeId":
    case "from_node":
    case "to_node":
    case "entrypointNodeId":
    case "entry":
    case "exits":
    case "branches":
    case "options":
    case "nodes":
      return outline.nodes
        .filter((node) => node.type !== "goto" && !node.id.includes("/"))
        .map(({ id }) => id)
    default:
      return []
  }
}

function aboutOf(schema: unknown): string | undefined {
  const { description } = (schema ?? {}) as Schema
  return typeof description === "string" ? description : undefined
}

/** The schemas that a place may have: what is written around it decides between alternatives. */
function schemasAt(root: Schema, { path, data }: CursorContext): readonly Schema[] {
  const schemas = new Schemas(root)
  let here = schemas.alternatives(root, data)
  let value = data
  for (const part of path) {
    value = at(value, [part])
    here = here.flatMap((schema) => {
      const next = typeof part === "number" ? schema.items : fieldSchema(schema, part)
      return isSchema(next) ? schemas.alternatives(next, value) : []
    })
  }
  return here
}

function fieldSchema(schema: Schema, name: string): unknown {
  const properties = (schema.properties ?? {}) as Record<string, unknown>
  return Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties
}

const MAX_DEPTH = 24

class Schemas {
  readonly #root: Schema

  constructor(root: Schema) {
    this.#root = root
  }

  /** The schema and what it consists of, without the alternatives that contradict the value. */
  alternatives(schema: Schema, value: unknown, depth = 0): readonly Schema[] {
    if (depth > MAX_DEPTH) return []
    const all = (list: unknown) => schemaList(list).flatMap((one) => this.alternatives(one, value, depth + 1))
    const one = (part: unknown) => (isSchema(part) ? this.alternatives(part, value, depth + 1) : [])
    if (typeof schema.$ref === "string") return one(this.#target(schema.$ref))
    const chosen = [...schemaList(schema.anyOf), ...schemaList(schema.oneOf)]
    const fitting = chosen.filter((part) => this.#fits(part, value, depth))
    const branch = isSchema(schema.if)
      ? this.#holds(schema.if, value, depth)
        ? one(schema.then)
        : one(schema.else)
      : []
    return [schema, ...all(fitting.length > 0 ? fitting : chosen), ...all(schema.allOf), ...branch]
  }

  #target(reference: string): unknown {
    if (reference === "#") return this.#root
    return at(this.#root, reference.replace(/^#\//, "").split("/").map(decodeURIComponent))
  }

  /** Whether an alternative is meant: nothing that is written contradicts it; what is not written yet may come. */
  #fits(schema: Schema, value: unknown, depth: number): boolean {
    if (depth > MAX_DEPTH) return true
    if (typeof schema.$ref === "string") {
      const target = this.#target(schema.$ref)
      return !isSchema(target) || this.#fits(target, value, depth + 1)
    }
    if (value === undefined) return true
    if (!hasType(schema, value)) return false
    return Object.entries(propertiesOf(schema)).every(([name, field]) => {
      const one = at(value, [name])
      return one === undefined || !isSchema(field) || hasValue(field, one)
    })
  }

  /** A condition of the schema, as validators evaluate it. */
  #holds(schema: Schema, value: unknown, depth: number): boolean {
    if (depth > MAX_DEPTH) return false
    const holds = (part: unknown, of = value) => isSchema(part) && this.#holds(part, of, depth + 1)
    if (typeof schema.$ref === "string") return holds(this.#target(schema.$ref))
    if (!hasType(schema, value) || !hasValue(schema, value)) return false
    if (typeof schema.pattern === "string" && typeof value === "string") {
      if (!new RegExp(schema.pattern).test(value)) return false
    }
    const { required, anyOf, oneOf, allOf, not } = schema
    if (Array.isArray(required) && required.some((name) => at(value, [String(name)]) === undefined))
      return false
    if (not !== undefined && holds(not)) return false
    if (Array.isArray(allOf) && !allOf.every((one) => holds(one))) return false
    if (Array.isArray(anyOf) && !anyOf.some((one) => holds(one))) return false
    if (Array.isArray(oneOf) && !oneOf.some((one) => holds(one))) return false
    return Object.entries(propertiesOf(schema)).every(([name, field]) => {
      const one = at(value, [name])
      return one === undefined || holds(field, one)
    })
  }
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function schemaList(value: unknown): readonly Schema[] {
  return Array.isArray(value) ? value.filter(isSchema) : []
}

function propertiesOf({ properties }: Schema): Readonly<Record<string, unknown>> {
  return isSchema(properties) ? properties : {}
}

function hasType({ type }: Schema, value: unknown): boolean {
  if (type === undefined || value === undefined) return true
  const own = Array.isArray(value) ? "array" : value === null ? "null" : typeof value
  return [type].flat().some((one) => one === own || (one === "integer" && own === "number"))
}

function hasValue({ const: only, enum: some }: Schema, value: unknown): boolean {
  if (only !== undefined) return only === value
  return !Array.isArray(some) || some.includes(value)
}

function at(value: unknown, path: Path): unknown {
  let here = value
  for (const part of path) {
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, part)) return undefined
    here = (here as Record<string | number, unknown>)[part]
  }
  return here
}
