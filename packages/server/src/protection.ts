/**
 * What protects browsers and their users. No origin may read responses unless it is allowed by name. Requests that change
 * something must be ones that a page of another site cannot send by itself: with a key, or with a body of JSON. Cookies are
 * never read.
 */
import { SuperstepError } from "@superstep/engine"
import type { MiddlewareHandler } from "hono"
import { cors } from "hono/cors"
import type { Env } from "./access.ts"
import { problem } from "./problem.ts"

const MAX_AGE = 600

/** For a response that does not bring its own: it may load nothing, and be shown in no frame. */
const POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Origins such as `https://app.example.com`. Throws OPTION_INVALID. */
export function crossOrigin(origins: readonly string[]): MiddlewareHandler<Env> {
  for (const origin of origins) {
    if (URL.canParse(origin) && new URL(origin).origin === origin) continue
    const text = `cors: "${origin}" is no origin such as https://app.example.com.`
    throw new SuperstepError("OPTION_INVALID", text)
  }
  return cors({
    origin: [...origins],
    allowMethods: ["GET", "POST", "PUT", "PATCH", "DELETE"],
    allowHeaders: ["authorization", "content-type", "idempotency-key", "last-event-id", "prefer"],
    exposeHeaders: ["location", "ratelimit", "ratelimit-policy", "retry-after"],
    maxAge: MAX_AGE,
  })
}

/** Refuses what a page of another site could make a browser send: of the methods that change something, that is POST. */
export const forgeryCheck: MiddlewareHandler<Env> = async (c, next) => {
  if (c.req.method !== "POST" || c.req.header("authorization") !== undefined) return await next()
  const type = c.req.header("content-type")?.split(";")[0]?.trim().toLowerCase()
  if (type === "application/json" || type?.endsWith("+json")) return await next()
  return problem(
    415,
    "CONTENT_TYPE_INVALID",
    "Send a request that changes something with Content-Type: application/json, or with a key.",
  )
}

export const contentPolicy: MiddlewareHandler<Env> = async (c, next) => {
  await next()
  if (!c.res.headers.has("content-security-policy")) c.res.headers.set("content-security-policy", POLICY)
  if (!c.res.headers.has("cache-control")) c.res.headers.set("cache-control", "no-store")
}
