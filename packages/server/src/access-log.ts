/**
 * The access log: one record for each request, when its response begins. It has the route instead of the path, because
 * paths and queries may contain tokens, and the id of the principal instead of its key.
 */
import type { MiddlewareHandler } from "hono"
import { matchedRoutes } from "hono/route"
import type { Env } from "./access.ts"

export interface RequestLog {
  readonly method: string
  /** For example `/v1/runs/:run/events`; `/*` if there is none. */
  readonly route: string
  readonly status: number
  readonly milliseconds: number
  /** The id of the principal; absent if the request was not authenticated. */
  readonly principal?: string | undefined
}

export function accessLog(onRequest: (request: RequestLog) => void): MiddlewareHandler<Env> {
  return async (c, next) => {
    const began = performance.now()
    await next()
    onRequest({
      method: c.req.method,
      route: matchedRoutes(c).at(-1)?.path ?? "/*",
      status: c.res.status,
      milliseconds: Math.round((performance.now() - began) * 10) / 10,
      // Not set if the request was refused before.
      principal: (c.get("principal") as Env["Variables"]["principal"] | undefined)?.id,
    })
  }
}
