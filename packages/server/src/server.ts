/** The API of a runtime as one fetch handler: for Node, Hono, Next.js, Express, or a test. */
import { createRoute, type OpenAPIHono } from "@hono/zod-openapi"
import { type Runtime, type RuntimeOptions, SuperstepError } from "@superstep/engine"
import type { TrustCapability } from "@superstep/engine/definitions"
import type { Context } from "hono"
import { matchedRoutes } from "hono/route"
import { addAboutRoutes } from "./about.ts"
import { type Authorize, type Env, NOBODY, needs, OWNER, principalOf } from "./access.ts"
import { accessLog, type RequestLog } from "./access-log.ts"
import { addAuditRoutes } from "./audit.ts"
import { AuditLog, type AuditOptions } from "./audit-log.ts"
import { type Auth, anyOf } from "./auth/authenticate.ts"
import { addKeyRoutes } from "./auth/key-routes.ts"
import { overBudget } from "./auth/key-usage.ts"
import { limitBody } from "./body-limit.ts"
import { Catalog, type StartedWorkflow } from "./catalog.ts"
import { CheckedRoutes } from "./checked-routes.ts"
import { addDefinitionRoutes } from "./definitions/definition-routes.ts"
import { addPublishRoutes } from "./definitions/publish-routes.ts"
import { definitionsOf } from "./definitions/stored-definitions.ts"
import { docsPage } from "./docs-page.ts"
import { Feeds } from "./feed.ts"
import { addHookRoutes } from "./hooks/hook-routes.ts"
import { addInboxRoutes } from "./inbox.ts"
import { addIndexRoutes } from "./indexes.ts"
import { addLinkRoutes } from "./links/link-routes.ts"
import { addManyRunsRoutes } from "./many-runs.ts"
import { Metrics } from "./metrics.ts"
import { problem, problemOf } from "./problem.ts"
import { crossOrigin, forgeryRefusal, protectiveHeaders } from "./protection.ts"
import { addA2aRoutes } from "./protocols/a2a.ts"
import { addAgUiRoutes } from "./protocols/ag-ui.ts"
import { addAiSdkRoutes } from "./protocols/ai-sdk.ts"
import { addMcpRoutes } from "./protocols/mcp.ts"
import { addOpenAiChatRoutes } from "./protocols/openai-chat.ts"
import { OPENAI_PATHS, openAiErrors } from "./protocols/openai-errors.ts"
import { addOpenAiResponseRoutes } from "./protocols/openai-responses.ts"
import { RateLimits } from "./rate-limit.ts"
import { addRunActionRoutes } from "./run-actions.ts"
import { addRunHistoryRoutes } from "./run-history.ts"
import { addRunPastRoutes } from "./run-past.ts"
import { addRunRoutes } from "./runs.ts"
import { addScheduleRoutes } from "./schedules.ts"
import { failure } from "./schemas.ts"
import type { ServedIndexes } from "./served-indexes.ts"
import type { Services } from "./services.ts"
import { addStorageRoutes } from "./storage.ts"
import { STUDIO_PATH, type StudioFiles, studioHandler } from "./studio.ts"
import { submittedOptions } from "./submitted.ts"
import { addThreadRoutes } from "./threads.ts"
import { continueCounting } from "./usage/usage-records.ts"
import { addUsageRoutes } from "./usage/usage-routes.ts"
import { addWebhookRoutes } from "./webhooks/webhook-routes.ts"
import { type WebhooksOptions, webhooksOf } from "./webhooks/webhooks.ts"

export interface ServerOptions {
  readonly runtime: Runtime
  /** What the API offers: the runtime's workflows, or some of them. */
  readonly workflows: RuntimeOptions["workflows"]
  /** Who sends a request, such as `apiKeys(store)`; of several, the first that knows. Absent: everybody may do everything. */
  readonly auth?: Auth | readonly Auth[] | undefined
  /** A check of your own for each request, after that of the role. */
  readonly authorize?: Authorize | undefined
  readonly audit?: AuditOptions | undefined
  /** Definitions of `workflows` that are files: their texts are shown, and changed if there is a `save`. */
  readonly definitions?: DefinitionFiles | undefined
  /** What definitions that are sent to the server may use. Default: nothing outside of the workflow, see docs/security.md. */
  readonly allow?: readonly TrustCapability[] | undefined
  /** Document indexes that the API offers. Default: none. */
  readonly indexes?: ServedIndexes | undefined
  /** Origins whose pages may use the API, such as `https://app.example.com`. Default: none. */
  readonly cors?: readonly string[] | undefined
  /** Bytes that the body of a request may have. Default: 1 MB. */
  readonly maxBody?: number | undefined
  /** Milliseconds between heartbeats of a stream. Default: 15,000. */
  readonly heartbeat?: number | undefined
  /** Where the API is mounted, such as `/api`: requests have it in their path. Default: at the root. */
  readonly basePath?: string | undefined
  /** Serves the studio under `/studio/`: `loadStudio()` of @superstep/studio. Default: no studio. */
  readonly studio?: StudioFiles | undefined
  /** Where clients reach this server, such as `https://api.example.com`, for addresses of hooks and links. Default: as requests say. */
  readonly publicUrl?: string | undefined
  readonly webhooks?: WebhooksOptions | undefined
  /** Called after each request, for an access log. */
  readonly onRequest?: ((request: RequestLog) => void) | undefined
  /** What went wrong inside the server. Default: a warning of the process. */
  readonly onProblem?: ((error: unknown) => void) | undefined
}

export interface DefinitionFiles {
  readonly files: readonly { readonly name: string; readonly text: string }[]
  /** Writes what is published to its file. Absent: they are read-only over HTTP. */
  readonly save?: ((name: string, text: string) => Promise<void>) | undefined
}

export interface Server {
  fetch(request: Request): Promise<Response>
  /** Nobody is authenticated: listen to this machine only. */
  readonly isOpen: boolean
  /** Ends all streams, whose clients connect again elsewhere; `/readyz` answers 503 from now on. */
  drain(): void
}

/** Milliseconds: less than load balancers wait for an answer. */
const READY_TIMEOUT = 2_000
/** They say nothing about the workflows, runs or users of this server. */
const OPEN_PATHS = new Set(["/", "/docs", "/healthz", "/openapi.json", "/readyz"])
/** Requests to these bring their own proof: a signature. */
const SIGNED_PATHS = /^\/(?:hooks|links)\//

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
  const hasStudio = options.studio !== undefined
  const feeds = new Feeds(runtime)
  const webhooks = webhooksOf(runtime, options.webhooks ?? {}, report)
  const metrics = new Metrics(runtime, feeds, draining.signal)
  const definitions = definitionsOf(runtime, submittedOptions(options.allow), report)
  const { files = [], save } = options.definitions ?? {}
  const services: Services = {
    runtime,
    // Their inputs are checked when a run starts.
    catalog: new Catalog(runtime, options.workflows as readonly StartedWorkflow[], definitions),
    definitions,
    files: { texts: new Map(files.map(({ name, text }) => [name, text])), save },
    feeds,
    indexes: options.indexes,
    webhooks,
    metrics,
    address: addresses(options.publicUrl, basePath),
    audit: new AuditLog(runtime.store, options.audit ?? {}, report),
    drain: draining.signal,
    heartbeat,
    report,
    origins: cors,
    isOpen: auth === undefined,
  }
  const app = new CheckedRoutes()
  const rateLimits = new RateLimits()
  const checkAccess = accessCheck(options)
  if (onRequest !== undefined) app.use(accessLog(onRequest))
  app.use(metrics.middleware)
  app.use(protectiveHeaders)
  if (cors.length > 0) app.use(crossOrigin(cors))
  for (const path of OPENAI_PATHS) app.use(path, openAiErrors)
  app.use(limitBody(maxBody))
  if (auth !== undefined) app.use(services.audit.middleware)
  app.use(async (c, next) => {
    const isSigned = SIGNED_PATHS.test(c.req.path)
    const isOpen =
      auth === undefined || OPEN_PATHS.has(c.req.path) || (hasStudio && c.req.path.startsWith(STUDIO_PATH))
    const principal = isSigned ? NOBODY : isOpen ? OWNER : await auth(c.req.raw)
    if (principal === undefined) {
      const response = problem(401, "NOT_AUTHENTICATED", "Send a valid key: Authorization: Bearer <key>.")
      response.headers.set("www-authenticate", "Bearer")
      return response
    }
    c.set("principal", principal)
    c.set("check", checkAccess)
    const admission = rateLimits.admit(principal)
    const refusal = admission?.refusal ?? (isSigned ? undefined : forgeryRefusal(c))
    if (refusal === undefined) await next()
    else c.res = refusal
    if (admission === undefined) return undefined
    for (const [name, value] of Object.entries(admission.headers)) c.res.headers.set(name, value)
    return undefined
  })
  let isCounting = false
  app.use("/v1/*", (_, next) => {
    if (isCounting) return next()
    isCounting = true
    return continueCounting(runtime).catch(report).then(next)
  })
  app.get("/healthz", (c) => c.json({ ok: true }))
  const answers = storeCheck(runtime)
  app.get("/readyz", async (c) =>
    !draining.signal.aborted && (await answers()) ? c.json({ ok: true }) : c.json({ ok: false }, 503),
  )
  app.get("/", (c) => c.redirect(hasStudio ? STUDIO_PATH : "/docs"))
  if (options.studio !== undefined) app.get(`${STUDIO_PATH}*`, studioHandler(options.studio, basePath))
  addAboutRoutes(app, services)
  addRunRoutes(app, services)
  addRunActionRoutes(app, services)
  addRunHistoryRoutes(app, services)
  addRunPastRoutes(app, services)
  addManyRunsRoutes(app, services)
  addInboxRoutes(app, services)
  addDefinitionRoutes(app, services)
  addPublishRoutes(app, services)
  addScheduleRoutes(app, services)
  addThreadRoutes(app, services)
  addUsageRoutes(app, services)
  addIndexRoutes(app, services)
  addLinkRoutes(app, services)
  addWebhookRoutes(app, services)
  addHookRoutes(app, services)
  addKeyRoutes(app, services)
  addAuditRoutes(app, services)
  addStorageRoutes(app, services)
  addOpenAiChatRoutes(app, services)
  addOpenAiResponseRoutes(app, services)
  addAiSdkRoutes(app, services)
  addAgUiRoutes(app, services)
  addMcpRoutes(app, services)
  addA2aRoutes(app, services)
  addMetricsRoute(app, services)
  addMore(app, services)
  webhooks.begin(draining.signal)
  const document = {
    openapi: "3.1.0",
    info: { title: "Superstep", version: "1", description: "Workflows over HTTP." },
    ...(basePath !== "" && { servers: [{ url: basePath }] }),
  }
  app.doc31("/openapi.json", document)
  app.get("/docs", () => docsPage(app.getOpenAPI31Document(document)))
  app.notFound((c) => nothingAt(app, c.req.method, c.req.path))
  app.onError((error) => problemOf(error, report))
  return {
    fetch: mounted(basePath, async (request) => app.fetch(request)),
    isOpen: auth === undefined,
    drain: () => draining.abort(),
  }
}

/** A path that has routes for other methods is not unknown. */
function nothingAt({ routes }: OpenAPIHono<Env>, method: string, path: string): Response {
  const isHere = (route: string) =>
    new RegExp(`^${route.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/:[\w-]+/g, "[^/]+")}$`).test(path)
  const found = routes.filter((one) => one.method !== "ALL" && isHere(one.path)).map((one) => one.method)
  const methods = [...new Set(found)].sort().join(", ")
  if (methods === "") return problem(404, "NOT_FOUND", `There is nothing at ${method} ${path}.`)
  const response = problem(405, "METHOD_NOT_ALLOWED", `${path} has no ${method}. Use ${methods}.`)
  response.headers.set("allow", methods)
  return response
}

/** Whether the store answers in time. Requests at the same moment share one question, because anybody may send them. */
function storeCheck({ store }: Runtime): () => Promise<boolean> {
  let asked: Promise<boolean> | undefined
  async function ask(): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, READY_TIMEOUT, false)
    })
    const answer = async () => (await store.holders()) !== undefined
    try {
      return await Promise.race([answer(), late])
    } catch {
      return false
    } finally {
      clearTimeout(timer)
      asked = undefined
    }
  }
  return () => {
    asked ??= ask()
    return asked
  }
}

function addMetricsRoute(app: OpenAPIHono<Env>, { metrics }: Services): void {
  app.openapi(
    createRoute({
      method: "get",
      path: "/metrics",
      ...needs("viewer"),
      summary: "Metrics of this process, in the text format of Prometheus",
      responses: {
        200: { description: "Metrics.", content: { "text/plain": { schema: { type: "string" } } } },
        403: failure("The key is for a part of the server only."),
      },
    }),
    async (c) => {
      const { tenant, workflows } = principalOf(c)
      const isPart = tenant !== undefined || workflows !== undefined
      const text = "Metrics are about all tenants and workflows; this key is not."
      const headers = { "content-type": "text/plain; version=0.0.4; charset=utf-8" }
      const response = isPart
        ? problem(403, "NOT_ALLOWED", text)
        : new Response(await metrics.text(), { headers })
      return response as never
    },
  )
}

/** Under `publicUrl`, or where the request came in. Throws OPTION_INVALID. */
function addresses(publicUrl: string | undefined, basePath: string): Services["address"] {
  if (
    publicUrl !== undefined &&
    !/^https?:$/.test(URL.canParse(publicUrl) ? new URL(publicUrl).protocol : "")
  ) {
    const text = `publicUrl: "${publicUrl}" is not an address such as https://api.example.com.`
    throw new SuperstepError("OPTION_INVALID", text)
  }
  const base = publicUrl?.replace(/\/$/, "")
  return (request, path) => `${base ?? new URL(request.url).origin}${basePath}${path}`
}

/** What `needs` checks beside the role. */
function accessCheck({ runtime, authorize }: ServerOptions): Env["Variables"]["check"] {
  const budget = (c: Context<Env>, starts: boolean) =>
    starts ? overBudget(runtime, principalOf(c)) : undefined
  if (authorize === undefined) return budget
  return async (c, starts) => {
    const route = matchedRoutes(c).at(-1)?.path ?? "/*"
    const access = { method: c.req.method, route, params: c.req.param() as Record<string, string> }
    if ((await authorize(principalOf(c), access)) === true) return await budget(c, starts)
    return problem(403, "NOT_ALLOWED", "You are not allowed to do this.")
  }
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error))
}

function checkedBase(path = ""): string {
  const base = path.replace(/\/$/, "")
  if (/^(?:\/[\w.~-]+)*$/.test(base)) return base
  throw new SuperstepError("OPTION_INVALID", `basePath: "${path}" is not a path such as /api.`)
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
