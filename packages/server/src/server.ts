/** The API of a runtime as one fetch handler: for Node, Hono, Next.js, Express, or a test. */
import { OpenAPIHono } from "@hono/zod-openapi"
import { type Runtime, type RuntimeOptions, SuperstepError } from "@superstep/engine"
import type { TrustCapability } from "@superstep/engine/definitions"
import type { Context } from "hono"
import { matchedRoutes } from "hono/route"
import { secureHeaders } from "hono/secure-headers"
import { type Authorize, type Env, OWNER, principalOf } from "./access.ts"
import { accessLog, type RequestLog } from "./access-log.ts"
import { addAuditRoutes } from "./audit.ts"
import { AuditLog, type AuditOptions } from "./audit-log.ts"
import { type Auth, anyOf } from "./auth/authenticate.ts"
import { addKeyRoutes } from "./auth/key-routes.ts"
import { overBudget } from "./auth/key-usage.ts"
import { limitBody } from "./body-limit.ts"
import { docsPage } from "./docs-page.ts"
import { Feeds } from "./feed.ts"
import { addInboxRoutes } from "./inbox.ts"
import { addManyRunsRoutes } from "./many-runs.ts"
import { invalidRequest, problem, problemOf } from "./problem.ts"
import { contentPolicy, crossOrigin, forgeryCheck } from "./protection.ts"
import { RateLimits } from "./rate-limit.ts"
import { addRunActionRoutes } from "./run-actions.ts"
import { addRunHistoryRoutes } from "./run-history.ts"
import { addRunRoutes } from "./runs.ts"
import type { Services, StartedWorkflow } from "./services.ts"
import { submittedOptions } from "./submitted.ts"

export interface ServerOptions {
  readonly runtime: Runtime
  /** What the API offers: the runtime's workflows, or some of them. */
  readonly workflows: RuntimeOptions["workflows"]
  /** Who sends a request, such as `apiKeys(store)`; of several, the first that knows. Absent: everybody may do everything. */
  readonly auth?: Auth | readonly Auth[] | undefined
  /** A check of your own for each request, after that of the role. */
  readonly authorize?: Authorize | undefined
  readonly audit?: AuditOptions | undefined
  /** What definitions that are sent to the server may use. Default: nothing outside of the workflow, see docs/security.md. */
  readonly allow?: readonly TrustCapability[] | undefined
  /** Origins whose pages may use the API, such as `https://app.example.com`. Default: none. */
  readonly cors?: readonly string[] | undefined
  /** Bytes that the body of a request may have. Default: 1 MB. */
  readonly maxBody?: number | undefined
  /** Milliseconds between heartbeats of a stream. Default: 15,000. */
  readonly heartbeat?: number | undefined
  /** Where the API is mounted, such as `/api`: requests have it in their path. Default: at the root. */
  readonly basePath?: string | undefined
  /** Called after each request, for an access log. */
  readonly onRequest?: ((request: RequestLog) => void) | undefined
  /** What went wrong inside the server. Default: a warning of the process. */
  readonly onProblem?: ((error: unknown) => void) | undefined
}

export interface Server {
  fetch(request: Request): Promise<Response>
  /** Nobody is authenticated: listen to this machine only. */
  readonly isOpen: boolean
  /** Ends all streams, whose clients connect again elsewhere; `/readyz` answers 503 from now on. */
  drain(): void
}

/** They say nothing about the workflows, runs or users of this server. */
const OPEN_PATHS = new Set(["/docs", "/healthz", "/openapi.json", "/readyz"])

export function createServer(options: ServerOptions): Server {
  return serverWith(options, () => undefined)
}

/** For tests: with more routes. */
export function serverWith(
  options: ServerOptions,
  addMore: (app: OpenAPIHono<Env>, services: Services) => void,
): Server {
  const { runtime, maxBody = 1_000_000, heartbeat = 15_000, cors = [], onRequest } = options
  const auth = typeof options.auth === "object" ? anyOf(options.auth) : options.auth
  const basePath = checkedBase(options.basePath)
  const report = options.onProblem ?? warn
  const draining = new AbortController()
  const services: Services = {
    runtime,
    // Their inputs are checked when a run starts.
    workflows: new Map(options.workflows.map((one) => [one.name, one as StartedWorkflow])),
    feeds: new Feeds(runtime),
    submitted: submittedOptions(options.allow),
    audit: new AuditLog(runtime.store, options.audit ?? {}, report),
    drain: draining.signal,
    heartbeat,
    report,
  }
  const app = new OpenAPIHono<Env>({ defaultHook: invalidRequest as never })
  const rateLimits = new RateLimits()
  if (onRequest !== undefined) app.use(accessLog(onRequest))
  app.use(secureHeaders())
  app.use(contentPolicy)
  if (cors.length > 0) app.use(crossOrigin(cors))
  app.use(limitBody(maxBody))
  if (auth !== undefined) app.use(services.audit.middleware)
  app.use(async (c, next) => {
    const principal = auth === undefined || OPEN_PATHS.has(c.req.path) ? OWNER : await auth(c.req.raw)
    if (principal === undefined) {
      const response = problem(401, "NOT_AUTHENTICATED", "Send a valid key: Authorization: Bearer <key>.")
      response.headers.set("www-authenticate", "Bearer")
      return response
    }
    c.set("principal", principal)
    c.set("check", (context, starts) => check(context, options, starts))
    const admission = rateLimits.admit(principal)
    if (admission?.refusal === undefined) await next()
    else c.res = admission.refusal
    for (const [name, value] of Object.entries(admission?.headers ?? {})) c.res.headers.set(name, value)
    return undefined
  })
  app.use(forgeryCheck)
  app.get("/healthz", (c) => c.json({ ok: true }))
  app.get("/readyz", (c) => (draining.signal.aborted ? c.json({ ok: false }, 503) : c.json({ ok: true })))
  addRunRoutes(app, services)
  addRunActionRoutes(app, services)
  addRunHistoryRoutes(app, services)
  addManyRunsRoutes(app, services)
  addInboxRoutes(app, services)
  addKeyRoutes(app, services)
  addAuditRoutes(app, services)
  addMore(app, services)
  const document = {
    openapi: "3.1.0",
    info: { title: "Superstep", version: "1", description: "Workflows over HTTP." },
    ...(basePath !== "" && { servers: [{ url: basePath }] }),
  }
  app.doc31("/openapi.json", document)
  app.get("/docs", () => docsPage(app.getOpenAPI31Document(document)))
  app.notFound((c) => problem(404, "NOT_FOUND", `There is nothing at ${c.req.method} ${c.req.path}.`))
  app.onError((error) => problemOf(error, report))
  return {
    fetch: mounted(basePath, async (request) => await app.fetch(request)),
    isOpen: auth === undefined,
    drain: () => draining.abort(),
  }
}

/** What `needs` checks beside the role. */
async function check(
  c: Context<Env>,
  { runtime, authorize }: ServerOptions,
  starts: boolean,
): Promise<Response | undefined> {
  const principal = principalOf(c)
  const route = matchedRoutes(c).at(-1)?.path ?? "/*"
  const access = { method: c.req.method, route, params: c.req.param() as Record<string, string> }
  if (authorize !== undefined && (await authorize(principal, access)) !== true) {
    return problem(403, "NOT_ALLOWED", "You are not allowed to do this.")
  }
  return starts ? await overBudget(runtime, principal) : undefined
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error))
}

function checkedBase(path = ""): string {
  const base = path.replace(/\/$/, "")
  if (/^(?:\/[\w.~-]+)*$/.test(base)) return base
  throw new SuperstepError("OPTION_INVALID", `basePath: "${path}" is no path such as /api.`)
}

/** Serves a handler of root paths under a base path, which addresses in responses then have too. */
function mounted(base: string, handle: Server["fetch"]): Server["fetch"] {
  if (base === "") return handle
  return async (request) => {
    const url = new URL(request.url)
    if (!url.pathname.startsWith(`${base}/`)) {
      return problem(404, "NOT_FOUND", `The API is under ${base}/.`)
    }
    url.pathname = url.pathname.slice(base.length)
    const response = await handle(new Request(url, request))
    const location = response.headers.get("location")
    if (location?.startsWith("/")) response.headers.set("location", `${base}${location}`)
    return response
  }
}
