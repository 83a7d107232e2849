/** The request that an operation and its arguments come to. */
import { type Json, SuperstepError } from "../core/index.ts"
import type { ApiRequest } from "./api-call.ts"
import { encodeSegment, encodeText, queryPairs } from "./openapi-encoding.ts"
import type { Operation, Parameter } from "./openapi-operations.ts"

export type Args = Readonly<Record<string, Json | undefined>>

/** Where keys of the API go; they are put in after the model's arguments, so that none can take their place. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly secrets: readonly string[]
}

export function requestOf(
  operation: Operation,
  server: URL,
  args: Args,
  credentials: Credentials,
): ApiRequest {
  const url = addressOf(operation, server, args)
  for (const parameter of givenIn("query", operation, args)) {
    const value = args[parameter.argument] as Json
    for (const [name, text] of queryPairs(parameter.name, value, parameter))
      url.searchParams.append(name, text)
  }
  for (const [name, value] of Object.entries(credentials.query)) url.searchParams.set(name, value)
  const headers = givenIn("header", operation, args).map((parameter): [string, string] => {
    const value = args[parameter.argument]
    return [
      parameter.name.toLowerCase(),
      Array.isArray(value) ? value.map(encodeText).join(",") : encodeText(value),
    ]
  })
  const body = operation.body === undefined ? undefined : args[operation.body.argument]
  return {
    url: url.href,
    method: operation.method,
    headers: {
      ...Object.fromEntries(headers),
      ...(body === undefined ? {} : { "content-type": operation.body?.type ?? "" }),
      ...credentials.headers,
    },
    ...(body === undefined ? {} : { body: encodeBody(operation.body?.type ?? "", body) }),
    secrets: credentials.secrets,
  }
}

function addressOf(operation: Operation, server: URL, args: Args): URL {
  const parts = new Map(operation.parameters.filter((one) => one.in === "path").map((one) => [one.name, one]))
  const path = operation.path.replace(/\{([^{}]+)\}/g, (_, name: string) =>
    encodeSegment(name, args[parts.get(name)?.argument ?? ""]),
  )
  const base = server.pathname.replace(/(?<!\/)\/+$/, "")
  const url = new URL(`${server.origin}${base}${path}`)
  if (url.origin === server.origin && url.pathname.startsWith(base)) return url
  throw new SuperstepError("ADDRESS_REFUSED", `${operation.name} would leave ${server.host}.`, {
    retryable: false,
  })
}

function givenIn(where: Parameter["in"], operation: Operation, args: Args): readonly Parameter[] {
  return operation.parameters.filter((one) => one.in === where && args[one.argument] !== undefined)
}

function encodeBody(type: string, body: Json): string {
  if (type.startsWith("application/x-www-form-urlencoded")) {
    const fields =
      typeof body === "object" && body !== null && !Array.isArray(body) ? Object.entries(body) : []
    return new URLSearchParams(
      fields.map(([name, value]): [string, string] => [name, encodeText(value)]),
    ).toString()
  }
  return type.startsWith("text/") ? encodeText(body) : JSON.stringify(body)
}
