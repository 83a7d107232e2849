/**
 * The subset of JSON Schema that OpenAI's strict mode takes, as its guide to structured outputs lists it: an object at the
 * root, every property required, no other properties, at most 5,000 properties and 10 levels, 1,000 values of enums.
 * Keywords that the guide does not list are refused.
 */
import { type Data, isData } from "./refusal.ts"

const ANY = ["type", "description", "title", "enum", "const", "anyOf", "$ref", "$defs", "definitions"]
const OF_TYPE: Readonly<Record<string, readonly string[]>> = {
  object: ["properties", "required", "additionalProperties"],
  array: ["items", "minItems", "maxItems"],
  string: ["pattern", "format"],
  number: ["multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  integer: ["multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  boolean: [],
  null: [],
}
const FORMATS = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"]
const MAX = { properties: 5_000, levels: 10, enums: 1_000, characters: 120_000, enumCharacters: 15_000 }

type Path = readonly string[]

/** What OpenAI refuses in a schema, or undefined. */
export function strictProblem(schema: unknown): string | undefined {
  if (!isData(schema)) return "schema must be an object"
  if (schema.type !== "object")
    return `schema must be a JSON Schema of 'type: "object"', got 'type: "${String(schema.type)}"'.`
  if (schema.anyOf !== undefined)
    return "schema must have type 'object' and not have 'anyOf' at the top level."
  const check = new SubsetCheck(schema)
  return check.schema(schema, [], 1) ?? check.totals()
}

class SubsetCheck {
  readonly #root: Data
  #properties = 0
  #enums = 0
  #characters = 0

  constructor(root: Data) {
    this.#root = root
  }

  schema(schema: unknown, path: Path, level: number): string | undefined {
    const at = `In context=(${path.map((key) => `'${key}'`).join(", ")})`
    if (!isData(schema)) return `${at}, schema must be an object, not ${JSON.stringify(schema)}.`
    if (schema.$ref !== undefined) return this.#ref(schema, at, path, level)
    const types = schema.type === undefined ? [] : [schema.type].flat()
    const unknownType = types.find((type) => typeof type !== "string" || !(type in OF_TYPE))
    if (unknownType !== undefined) return `${at}, '${String(unknownType)}' is not a type.`
    const known = [...ANY, ...types.flatMap((type) => OF_TYPE[type as string] ?? [])]
    const refused = Object.keys(schema).find((key) => !known.includes(key))
    if (refused !== undefined) return `${at}, '${refused}' is not permitted.`
    if (
      types.length === 0 &&
      schema.anyOf === undefined &&
      schema.enum === undefined &&
      schema.const === undefined
    )
      return `${at}, schema must have a 'type' key.`
    if (schema.format !== undefined && !FORMATS.includes(String(schema.format)))
      return `${at}, '${String(schema.format)}' is not a valid format.`
    return (
      this.#values(schema, at) ??
      this.#object(schema, types.includes("object"), at, path, level) ??
      this.#array(schema, types.includes("array"), at, path, level) ??
      this.#anyOf(schema, at, path, level) ??
      this.#definitions(schema, path)
    )
  }

  totals(): string | undefined {
    if (this.#properties > MAX.properties)
      return `${this.#properties} properties exceed the limit of ${MAX.properties}.`
    if (this.#enums > MAX.enums) return `${this.#enums} enum values exceed the limit of ${MAX.enums}.`
    if (this.#characters > MAX.characters)
      return `${this.#characters} characters of names exceed ${MAX.characters}.`
    return undefined
  }

  #ref(schema: Data, at: string, path: Path, level: number): string | undefined {
    if (path.length === 0) return "schema must have a 'type' key at the top level."
    const other = Object.keys(schema).find(
      (key) => key !== "$ref" && key !== "description" && key !== "$defs",
    )
    if (other !== undefined) return `${at}, $ref cannot have keywords {'${other}'}.`
    if (level > MAX.levels) return `${level} levels of nesting exceeds limit of ${MAX.levels}.`
    if (schema.$ref === "#") return undefined
    const [, key, name] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(String(schema.$ref)) ?? []
    const found =
      key === undefined ? undefined : (this.#root[key] as Data | undefined)?.[unescaped(name ?? "")]
    return found === undefined ? `${at}, reference '${String(schema.$ref)}' is not resolvable.` : undefined
  }

  #values(schema: Data, at: string): string | undefined {
    if (schema.enum === undefined) return undefined
    if (!Array.isArray(schema.enum) || schema.enum.length === 0)
      return `${at}, enum must have at least one value.`
    this.#enums += schema.enum.length
    const characters = schema.enum.reduce(
      (sum: number, one) => sum + (typeof one === "string" ? one.length : 0),
      0,
    )
    this.#characters += characters
    if (schema.enum.length > 250 && characters > MAX.enumCharacters) return `${at}, enum is too long.`
    return undefined
  }

  #object(schema: Data, isObject: boolean, at: string, path: Path, level: number): string | undefined {
    if (!isObject) return undefined
    if (level > MAX.levels) return `${level} levels of nesting exceeds limit of ${MAX.levels}.`
    if (schema.additionalProperties !== false)
      return `${at}, 'additionalProperties' is required to be supplied and to be false.`
    if (!isData(schema.properties)) return `${at}, 'properties' is required to be supplied.`
    const names = Object.keys(schema.properties)
    const required = Array.isArray(schema.required) ? schema.required : []
    const missing = names.find((name) => !required.includes(name))
    if (missing !== undefined || required.length !== names.length)
      return `${at}, 'required' is required to be supplied and to be an array including every key in properties. Missing '${missing}'.`
    for (const name of names) {
      this.#properties++
      this.#characters += name.length
      const problem = this.schema(schema.properties[name], [...path, "properties", name], level + 1)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  #array(schema: Data, isArray: boolean, at: string, path: Path, level: number): string | undefined {
    if (!isArray) return undefined
    if (schema.items === undefined) return `${at}, array schema missing items.`
    return this.schema(schema.items, [...path, "items"], level + 1)
  }

  #anyOf(schema: Data, at: string, path: Path, level: number): string | undefined {
    if (schema.anyOf === undefined) return undefined
    if (!Array.isArray(schema.anyOf) || schema.anyOf.length === 0)
      return `${at}, anyOf must have at least one schema.`
    for (const [index, one] of schema.anyOf.entries()) {
      const problem = this.schema(one, [...path, "anyOf", String(index)], level)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  #definitions(schema: Data, path: Path): string | undefined {
    for (const key of ["$defs", "definitions"]) {
      if (schema[key] === undefined) continue
      if (path.length > 0) return `In context=(${path.join()}), '${key}' is only permitted at the top level.`
      for (const [name, one] of Object.entries(schema[key] as Data)) {
        this.#characters += name.length
        const problem = this.schema(one, [key, name], 2)
        if (problem !== undefined) return problem
      }
    }
    return undefined
  }
}

function unescaped(name: string): string {
  return decodeURIComponent(name).replace(/~1/g, "/").replace(/~0/g, "~")
}
