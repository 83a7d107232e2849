/**
 * An OpenAPI 3 document: read from JSON or YAML, its references followed. A document is written by strangers:
 * references to other files or hosts are refused, and what grows without end is cut.
 */
import { parse } from "yaml"
import { type Json, SuperstepError } from "../core/index.ts"

export type JsonObject = { readonly [key: string]: Json | undefined }

export interface OpenApiDocument {
  readonly root: JsonObject
  /** Follows `$ref`, also several in a row. */
  follow(value: Json | undefined): JsonObject | undefined
}

const MAX_CHARS = 10_000_000
const MAX_REFS = 20

export function openApiDocument(source: string | JsonObject): OpenApiDocument {
  const root = typeof source === "string" ? parseText(source) : source
  const version = root.openapi
  if (typeof version !== "string" || !version.startsWith("3.")) {
    const found = typeof root.swagger === "string" ? `Swagger ${root.swagger}` : "something else"
    throw invalid(`it is ${found}; a document with "openapi: 3.x" is needed`)
  }
  if (!isObject(root.paths)) throw invalid("it has no paths")
  return {
    root,
    follow(value) {
      let found: Json | undefined = value
      for (let count = 0; isObject(found) && typeof found.$ref === "string"; count++) {
        if (count >= MAX_REFS) throw invalid(`the reference ${found.$ref} leads in circles`)
        found = lookUp(root, found.$ref)
      }
      return isObject(found) ? found : undefined
    },
  }
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function parseText(text: string): JsonObject {
  if (text.length > MAX_CHARS) throw invalid(`it has more than ${MAX_CHARS} characters`)
  let value: Json
  try {
    // YAML's own limit on aliases keeps a small text from becoming a large value. JSON is YAML, but slower as such.
    value = text.trimStart().startsWith("{") ? JSON.parse(text) : parse(text)
  } catch (cause) {
    throw invalid(
      `it cannot be read: ${cause instanceof Error ? (cause.message.split("\n")[0] ?? "") : ""}`,
      cause,
    )
  }
  if (!isObject(value)) throw invalid("it is no object")
  return value
}

function lookUp(root: JsonObject, ref: string): Json | undefined {
  if (!ref.startsWith("#/")) throw invalid(`the reference ${ref} leads out of the document`)
  return ref
    .slice(2)
    .split("/")
    .map((part) => decode(part).replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<Json | undefined>((value, key) => {
      if (Array.isArray(value)) return value[Number(key)]
      return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
    }, root)
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export function invalid(reason: string, cause?: unknown): SuperstepError {
  return new SuperstepError("OPENAPI_INVALID", `The OpenAPI document cannot be used: ${reason}.`, {
    ...(cause === undefined ? {} : { cause }),
    retryable: false,
  })
}
