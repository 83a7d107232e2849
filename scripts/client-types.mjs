// Writes packages/client/src/generated: the types of every route, from the server's OpenAPI document, and of every event, from
// the schemas of superstep/protocol. A test compares the two. `npm run client:types`.
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { createServer } from "@superstep/server"
import { memoryStore, Runtime } from "superstep"
import { runEvent } from "superstep/protocol"
import { z } from "zod"

/** @typedef {{ [key: string]: any }} JsonSchema */

const root = resolve(import.meta.dirname, "..")
const folder = join(root, "packages", "client", "src", "generated")

const METHODS = ["get", "post", "put", "patch", "delete"]
const COMMON = ["runId", "seq", "at", "path"]

/** @returns {Promise<JsonSchema>} the OpenAPI document of a server with every route */
export async function openApi() {
  const runtime = new Runtime({ store: memoryStore(), workflows: [] })
  try {
    const server = createServer({ runtime, workflows: [] })
    return /** @type {JsonSchema} */ (
      await (await server.fetch(new Request("http://localhost/openapi.json"))).json()
    )
  } finally {
    await runtime.close()
  }
}

/**
 * @param {JsonSchema} document of the server
 * @returns {ReadonlyMap<string, string>} the text of each file, by its path
 */
export function clientTypes(document) {
  const schemas = Object.entries(document.components?.schemas ?? {}).sort(byName)
  const ofRoutes = [
    "/** What the API accepts and returns. Written by `npm run client:types` from the server's routes. Do not edit. */",
    ...schemas.map(([name, schema]) => declared(name, schema)),
    `/** Every route of the API, by method and path. */\nexport interface Routes {\n${routes(document)}\n}`,
  ]
  const ofEvents = [
    "/** The events of a run. Written by `npm run client:types` from the schemas of the protocol. Do not edit. */",
    ...events(),
  ]
  return new Map([formatted("routes.ts", ofRoutes), formatted("events.ts", ofEvents)])
}

/**
 * @param {string} name
 * @param {readonly string[]} parts
 * @returns {readonly [path: string, text: string]}
 */
function formatted(name, parts) {
  const path = join(folder, name)
  const biome = join(root, "node_modules", "@biomejs", "biome", "bin", "biome")
  const args = [biome, "format", `--stdin-file-path=${path}`]
  const input = parts.join("\n\n")
  return [path, execFileSync(process.execPath, args, { input, encoding: "utf8", cwd: root })]
}

/** @param {JsonSchema} document */
function routes(document) {
  return Object.entries(document.paths)
    .sort(byName)
    .flatMap(([path, methods]) =>
      METHODS.flatMap((method) =>
        methods[method] === undefined ? [] : [route(path, method, methods[method])],
      ),
    )
    .join("\n")
}

/**
 * @param {string} path
 * @param {string} method
 * @param {JsonSchema} operation
 */
function route(path, method, operation) {
  const fields = ["path", "query"].flatMap((place) => {
    /** @type {JsonSchema[]} */
    const own = (operation.parameters ?? []).filter((/** @type {JsonSchema} */ one) => one.in === place)
    if (own.length === 0) return []
    const optional = own.some(({ required }) => required) ? "" : "?"
    const names = own.map(({ name, required, schema }) => field(name, required, schema))
    return [`readonly ${place}${optional}: { ${names.join("; ")} }`]
  })
  const { requestBody } = operation
  const body = requestBody?.content?.["application/json"]?.schema
  if (body !== undefined) fields.push(`readonly body${requestBody.required ? "" : "?"}: ${typeOf(body)}`)
  const responses = Object.entries(operation.responses)
    .filter(([status]) => status.startsWith("2"))
    .map(([status, { content = {} }]) => {
      const schema = content["application/json"]?.schema
      return `readonly ${status}: ${schema === undefined ? "undefined" : typeOf(schema)}`
    })
  fields.push(`readonly responses: { ${responses.join("; ")} }`)
  return `/** ${operation.summary ?? path}. */\nreadonly "${method.toUpperCase()} ${path}": { ${fields.join("; ")} }`
}

function events() {
  const schema = /** @type {JsonSchema} */ (z.toJSONSchema(runEvent))
  const names = new Map(Object.keys(schema.$defs ?? {}).map((name) => [name, "ErrorData"]))
  if (names.size !== 1)
    throw new Error("An event refers to more than the data of errors: name its type here.")
  const base = pick(schema.oneOf[0], (name) => COMMON.includes(name))
  const each = schema.oneOf.map(
    (/** @type {JsonSchema} */ one) =>
      `(EventBase & ${typeOf(
        pick(one, (name) => !COMMON.includes(name)),
        names,
      )})`,
  )
  return [
    ...Object.values(schema.$defs).map((one) => declared("ErrorData", one, names)),
    declared("EventBase", base),
    `/** An event of a run, as docs/events.md describes it. */\nexport type RunEvent =\n| ${each.join("\n| ")}`,
  ]
}

/**
 * @param {JsonSchema} schema of an object
 * @param {(name: string) => boolean} chosen
 */
function pick(schema, chosen) {
  const properties = Object.fromEntries(Object.entries(schema.properties).filter(([name]) => chosen(name)))
  return { ...schema, properties }
}

/**
 * @param {string} name
 * @param {JsonSchema} schema
 * @param {ReadonlyMap<string, string>} [names]
 */
function declared(name, schema, names) {
  const text = typeOf(schema, names)
  return text.startsWith("{") ? `export interface ${name} ${text}` : `export type ${name} = ${text}`
}

/**
 * @param {JsonSchema} schema
 * @param {ReadonlyMap<string, string>} [names] of definitions
 * @returns {string}
 */
function typeOf(schema, names = new Map()) {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1)
    return names.get(name) ?? name
  }
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined)
    return schema.enum.map((/** @type {unknown} */ one) => JSON.stringify(one)).join(" | ")
  const some = schema.anyOf ?? schema.oneOf
  if (some !== undefined)
    return some.map((/** @type {JsonSchema} */ one) => `(${typeOf(one, names)})`).join(" | ")
  if (schema.allOf !== undefined) return extendedType(schema.allOf, names)
  if (Array.isArray(schema.type))
    return schema.type.map((type) => `(${typeOf({ ...schema, type }, names)})`).join(" | ")
  if (schema.type === "array") return `readonly (${typeOf(schema.items ?? {}, names)})[]`
  if (schema.type === "object") return objectType(schema, names)
  if (schema.type === "integer") return "number"
  return schema.type ?? "unknown"
}

/**
 * A named object with more fields, or other ones.
 * @param {readonly JsonSchema[]} parts
 * @param {ReadonlyMap<string, string>} names
 */
function extendedType(parts, names) {
  const [base, ...others] = parts.map((one) => typeOf(one, names))
  const replaced = parts.slice(1).flatMap(({ properties = {} }) => Object.keys(properties))
  const keys = replaced.map((name) => JSON.stringify(name)).join(" | ")
  return [keys === "" ? base : `Omit<${base}, ${keys}>`, ...others].join(" & ")
}

/**
 * @param {JsonSchema} schema
 * @param {ReadonlyMap<string, string>} names
 */
function objectType(schema, names) {
  const { properties, additionalProperties, required = [] } = schema
  if (properties === undefined || Object.keys(properties).length === 0) {
    const values = typeof additionalProperties === "object" ? typeOf(additionalProperties, names) : "unknown"
    return `{ readonly [name: string]: ${values} }`
  }
  const fields = Object.entries(properties).map(([name, one]) =>
    field(name, required.includes(name), one, names),
  )
  return `{ ${fields.join("; ")} }`
}

/**
 * @param {string} name
 * @param {boolean} isRequired
 * @param {JsonSchema} schema
 * @param {ReadonlyMap<string, string>} [names]
 */
function field(name, isRequired, schema, names) {
  const key = /^[a-z_$][\w$]*$/i.test(name) ? name : JSON.stringify(name)
  const type = typeOf(schema ?? {}, names)
  return isRequired
    ? `readonly ${key}: ${type}`
    : `readonly ${key}?: ${type === "unknown" ? type : `${type} | undefined`}`
}

/**
 * @param {readonly [string, unknown]} a
 * @param {readonly [string, unknown]} b
 */
function byName([a], [b]) {
  return a < b ? -1 : 1
}

if (process.argv[1] === import.meta.filename) {
  for (const [path, text] of clientTypes(await openApi())) writeFileSync(path, text)
}
