/** Keys for an API as its security schemes ask for them, out of the environment at the moment of the call. */
import { SuperstepError } from "../core/index.ts"
import { type Environment, readVariable } from "./env-template.ts"
import { isObject, type JsonObject, type OpenApiDocument } from "./openapi-document.ts"
import type { Operation } from "./openapi-operations.ts"
import type { Credentials } from "./openapi-request.ts"

/** The environment variable with the key by the name of the scheme; `user:password` for HTTP basic. */
export type ApiAuth = Readonly<Record<string, { readonly env: string }>>

export function credentialsFor(
  document: OpenApiDocument,
  operation: Operation,
  auth: ApiAuth,
  env: Environment,
): Credentials {
  const schemes = operation.security.find((names) => names.every((name) => Object.hasOwn(auth, name)))
  if (schemes === undefined && operation.security.length > 0) {
    const wanted = operation.security.map((names) => names.join(" and ")).join(", or ")
    throw new SuperstepError(
      "KEY_MISSING",
      `${operation.name} needs the security scheme ${wanted}: give auth: { <scheme>: { env: "NAME" } }.`,
      { retryable: false },
    )
  }
  const headers: Record<string, string> = {}
  const query: Record<string, string> = {}
  const secrets: string[] = []
  for (const name of schemes ?? []) {
    const variable = auth[name]?.env ?? ""
    const value = readVariable(variable, env)
    secrets.push(variable)
    const place = placeOf(name, schemeOf(document, name), value)
    if (place.in === "query") query[place.name] = place.value
    else if (place.name === "cookie" && headers.cookie !== undefined) headers.cookie += `; ${place.value}`
    else headers[place.name] = place.value
  }
  return { headers, query, secrets }
}

interface KeyPlace {
  readonly in: "header" | "query"
  readonly name: string
  readonly value: string
}

function placeOf(name: string, scheme: JsonObject | undefined, value: string): KeyPlace {
  if (scheme?.type === "apiKey" && typeof scheme.name === "string") {
    if (scheme.in === "query") return { in: "query", name: scheme.name, value }
    if (scheme.in === "cookie") {
      return { in: "header", name: "cookie", value: `${scheme.name}=${encodeURIComponent(value)}` }
    }
    return { in: "header", name: scheme.name.toLowerCase(), value }
  }
  const kind = scheme?.type === "http" ? String(scheme.scheme).toLowerCase() : scheme?.type
  if (kind === "basic") {
    return { in: "header", name: "authorization", value: `Basic ${Buffer.from(value).toString("base64")}` }
  }
  if (kind === "bearer" || kind === "oauth2" || kind === "openIdConnect") {
    return { in: "header", name: "authorization", value: `Bearer ${value}` }
  }
  throw new SuperstepError(
    "OPENAPI_INVALID",
    `The security scheme "${name}" is of a kind that is not known here.`,
    {
      retryable: false,
    },
  )
}

function schemeOf(document: OpenApiDocument, name: string): JsonObject | undefined {
  const { components } = document.root
  const schemes = isObject(components) ? components.securitySchemes : undefined
  return isObject(schemes) && Object.hasOwn(schemes, name) ? document.follow(schemes[name]) : undefined
}
