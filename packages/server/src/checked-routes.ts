/**
 * Routes that declare what a request must have. A request is checked in one step, in the order query, path, headers, body.
 * The library's own checks are a middleware each, and the one of headers copies every header: together they cost more than the
 * rest of the route.
 */
import { OpenAPIHono, type RouteConfig } from "@hono/zod-openapi"
import type { Context, MiddlewareHandler, ValidationTargets } from "hono"
import { HTTPException } from "hono/http-exception"
import type { ZodObject, ZodType } from "zod"
import type { Env } from "./access.ts"
import { invalidRequest } from "./problem.ts"

/** What routes declare, of what the library would let them. */
interface Declared {
  readonly query?: ZodType
  readonly params?: ZodType
  readonly headers?: ZodObject
  readonly body?: { readonly content: { readonly "application/json"?: { readonly schema: ZodType } } }
}

/** One part of a request. */
interface Part {
  readonly target: keyof ValidationTargets
  readonly schema: ZodType
  read(c: Context): unknown
}

export class CheckedRoutes extends OpenAPIHono<Env> {
  /** Typed as the library's, which derives the types of handlers. */
  override readonly openapi = ((
    { middleware = [], hide = false, ...route }: RouteConfig,
    handler: MiddlewareHandler,
  ) => {
    if (!hide) this.openAPIRegistry.registerPath(route)
    const path = route.path.replaceAll(/\/{(.+?)}/g, "/:$1")
    const parts = partsOf((route.request ?? {}) as Declared)
    this.on([route.method], [path], ...[middleware].flat(), checked(parts, handler))
    return this
  }) as unknown as OpenAPIHono<Env>["openapi"]
}

function checked(parts: readonly Part[], handler: MiddlewareHandler): MiddlewareHandler {
  if (parts.length === 0) return handler
  return async (c, next) => {
    for (const { target, schema, read } of parts) {
      const value = read(c)
      const result = schema.safeParse(value instanceof Promise ? await value : value)
      if (!result.success) return invalidRequest({ target, ...result }, c)
      c.req.addValidatedData(target, result.data as object)
    }
    return await handler(c, next)
  }
}

function partsOf({ query, params, headers, body, ...others }: Declared): readonly Part[] {
  const parts: Part[] = []
  if (query !== undefined) parts.push({ target: "query", schema: query, read: queryOf })
  if (params !== undefined) parts.push({ target: "param", schema: params, read: (c) => c.req.param() })
  if (headers !== undefined) {
    const names = Object.keys(headers.shape)
    parts.push({ target: "header", schema: headers, read: (c) => headersOf(c, names) })
  }
  if (body !== undefined) {
    const { "application/json": json, ...otherTypes } = body.content
    if (json !== undefined) parts.push({ target: "json", schema: json.schema, read: jsonOf })
    Object.assign(others, otherTypes)
  }
  // A programming error: it would pass unchecked.
  for (const other of Object.keys(others)) throw new Error(`Routes cannot declare ${other}.`)
  return parts
}

function queryOf(c: Context): Record<string, string | string[] | undefined> {
  const all = Object.entries(c.req.queries())
  return Object.fromEntries(all.map(([name, values]) => [name, values.length === 1 ? values[0] : values]))
}

function headersOf(c: Context, names: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name of names) {
    const value = c.req.header(name)
    if (value !== undefined) found[name] = value
  }
  return found
}

const JSON_TYPE = /^application\/(?:[a-z.-]+\+)?json(?:;\s*[a-z\d-]+=[^;]+)*$/i

/** A request without a type has to have no body: what is required is missing then. */
async function jsonOf(c: Context): Promise<unknown> {
  const type = c.req.header("content-type")
  if (type ? !JSON_TYPE.test(type) : await hasBody(c))
    throw new HTTPException(415, { message: "Unsupported Media Type" })
  if (!type) return {}
  try {
    return await c.req.json()
  } catch {
    throw new HTTPException(400, { message: "Malformed JSON in request body" })
  }
}

/** A body with a length is not read: the rest of it may come late, or never. One without is in memory already, see `limitBody`. */
async function hasBody({ req }: Context): Promise<boolean> {
  const length = req.header("content-length")
  if (length !== undefined && req.header("transfer-encoding") === undefined) return Number(length) > 0
  return (await req.arrayBuffer()).byteLength > 0
}
