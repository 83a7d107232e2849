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

/** For every response. Strict-Transport-Security is left to the proxy that terminates TLS: it holds for the whole host. */
const ALWAYS = [
  ["cross-origin-opener-policy", "same-origin"],
  ["cross-origin-resource-policy", "same-origin"],
  ["referrer-policy", "no-referrer"],
  ["x-content-type-options", "nosniff"],
  ["x-frame-options", "DENY"],
] as const

/** Origins such as `https://app.example.com`. Throws OPTION_INVALID. */
export function crossOrigin(origins: readonly string[]): MiddlewareHandler<Env> {
  for (const origin of origins) {
    if (URL.canParse(origin) && new URL(origin).origin === origin) continue
    const text = `cors: "${origin}" is not an origin such as https://app.example.com.`
    throw new SuperstepError("OPTION_INVALID", text)
  }
  return cors({
    origin: [...origins],
    allowMethods: ["GET", "POST", "PUT", "PATCH", "DELETE"],
    allowHeaders: [
      "a2a-extensions",
      "a2a-version",
      "authorization",
      "content-type",
      "idempotency-key",
      "last-event-id",
      "mcp-method",
      "mcp-name",
      "mcp-protocol-version",
      "mcp-session-id",
      "prefer",
    ],
    exposeHeaders: ["location", "mcp-session-id", "ratelimit", "ratelimit-policy", "retry-after"],
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
    "A POST without a key needs Content-Type: application/json, which a page of another site cannot send.",
  )
}

const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])$/

/**
 * Refuses pages of origins that are not allowed, whatever they send. A page that reaches a local server under the name of its
 * own site (DNS rebinding) has the same origin as the server: where nobody is authenticated, that is not enough.
 */
export function originRefusal(
  { headers, url }: Request,
  { origins, isOpen }: { readonly origins: readonly string[]; readonly isOpen: boolean },
): Response | undefined {
  const origin = headers.get("origin")
  if (origin === null || origins.includes(origin)) return undefined
  const from = URL.canParse(origin) ? new URL(origin) : undefined
  if (from !== undefined && LOOPBACK.test(from.hostname)) return undefined
  if (!isOpen && from !== undefined && from.host === new URL(url).host) return undefined
  return problem(403, "NOT_ALLOWED", "Pages of this origin are not allowed. Add it to the server's cors.")
}

export const protectiveHeaders: MiddlewareHandler<Env> = async (c, next) => {
  await next()
  const { headers } = c.res
  for (const [name, value] of ALWAYS) headers.set(name, value)
  if (!headers.has("content-security-policy")) headers.set("content-security-policy", POLICY)
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store")
}
