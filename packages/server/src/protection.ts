/**
 * What protects browsers and their users. No origin may read responses unless it is allowed by name. Requests that change
 * something must be ones that a page of another site cannot send by itself: with a key, or with a body of JSON. Cookies are
 * never read.
 */
import { SuperstepError } from "@superstep/engine"
import type { Context, MiddlewareHandler } from "hono"
import { cors } from "hono/cors"
import type { Env } from "./access.ts"
import { problem } from "./problem.ts"

const MAX_AGE = 600

/** For a response that does not bring its own: it may load nothing, and be shown in no frame. */
const POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/**
 * For every response; of the last two, one that a response brings itself counts. Strict-Transport-Security is left to the proxy
 * that terminates TLS: it holds for the whole host.
 */
const HEADERS = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "content-security-policy": POLICY,
  "cache-control": "no-store",
}
const REPLACEABLE = new Set(["content-security-policy", "cache-control"])

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
export function forgeryRefusal({ req }: Context): Response | undefined {
  if (req.method !== "POST" || req.header("authorization") !== undefined) return undefined
  const type = req.header("content-type")?.split(";")[0]?.trim().toLowerCase()
  if (type === "application/json" || type?.endsWith("+json")) return undefined
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

const isProtected = new WeakSet<Response>()

/**
 * A response with a JSON body and all protective headers, for routes that are asked often: in a response that is finished, they
 * take longer than everything else that the middlewares do.
 */
export function protectedJson(data: unknown, status: number, headers: Record<string, string> = {}): Response {
  const all = { "content-type": "application/json", ...HEADERS, ...headers }
  const response = new Response(JSON.stringify(data), { status, headers: all })
  isProtected.add(response)
  return response
}

export const protectiveHeaders: MiddlewareHandler<Env> = async (c, next) => {
  await next()
  if (isProtected.has(c.res)) return
  const { headers } = c.res
  for (const [name, value] of Object.entries(HEADERS))
    if (!REPLACEABLE.has(name) || !headers.has(name)) headers.set(name, value)
}
