/** The API of a runtime as one fetch handler: for Node, Hono, Next.js, Express, or a test. */
import { OpenAPIHono } from "@hono/zod-openapi"
import type { Runtime } from "@superstep/engine"
import { bodyLimit } from "hono/body-limit"
import { secureHeaders } from "hono/secure-headers"
import { type Env, OWNER, type Principal } from "./access.ts"
import { Feeds } from "./feed.ts"
import { addInboxRoutes } from "./inbox.ts"
import { addManyRunsRoutes } from "./many-runs.ts"
import { invalidRequest, problem, problemOf } from "./problem.ts"
import { addRunActionRoutes } from "./run-actions.ts"
import { addRunHistoryRoutes } from "./run-history.ts"
import { addRunRoutes } from "./runs.ts"
import type { Services } from "./services.ts"

export interface ServerOptions {
  readonly runtime: Runtime
  /** What the API offers: the runtime's workflows, or some of them. */
  readonly workflows: readonly Parameters<Runtime["start"]>[0][]
  /** Who sends this request; undefined: nobody that is known. Absent: everybody may do everything. */
  readonly auth?: ((request: Request) => Principal | undefined | Promise<Principal | undefined>) | undefined
  /** Bytes that the body of a request may have. Default: 1 MB. */
  readonly maxBody?: number | undefined
  /** Milliseconds between heartbeats of a stream. Default: 15,000. */
  readonly heartbeat?: number | undefined
  /** What went wrong inside the server. Default: a warning of the process. */
  readonly onProblem?: ((error: unknown) => void) | undefined
}

export interface Server {
  fetch(request: Request): Promise<Response>
  /** Whether requests are authenticated: without that, listen to this machine only. */
  readonly isOpen: boolean
  /** Ends all streams, whose clients connect again elsewhere; `/readyz` answers 503 from now on. */
  drain(): void
}

const OPEN_PATHS = new Set(["/healthz", "/readyz"])

export function createServer(options: ServerOptions): Server {
  const { runtime, auth, maxBody = 1_000_000, heartbeat = 15_000 } = options
  const report = options.onProblem ?? warn
  const draining = new AbortController()
  const services: Services = {
    runtime,
    workflows: new Map(options.workflows.map((one) => [one.name, one])),
    feeds: new Feeds(runtime),
    drain: draining.signal,
    heartbeat,
    report,
  }
  const app = new OpenAPIHono<Env>({ defaultHook: invalidRequest as never })
  app.use(secureHeaders())
  app.use(bodyLimit({ maxSize: maxBody, onError: () => tooLarge(maxBody) }))
  app.use(async (c, next) => {
    const principal = auth === undefined || OPEN_PATHS.has(c.req.path) ? OWNER : await auth(c.req.raw)
    if (principal === undefined) {
      const response = problem(401, "NOT_AUTHENTICATED", "Send a valid key: Authorization: Bearer <key>.")
      response.headers.set("www-authenticate", "Bearer")
      return response
    }
    c.set("principal", principal)
    return await next()
  })
  app.get("/healthz", (c) => c.json({ ok: true }))
  app.get("/readyz", (c) => (draining.signal.aborted ? c.json({ ok: false }, 503) : c.json({ ok: true })))
  addRunRoutes(app, services)
  addRunActionRoutes(app, services)
  addRunHistoryRoutes(app, services)
  addManyRunsRoutes(app, services)
  addInboxRoutes(app, services)
  app.doc31("/openapi.json", {
    openapi: "3.1.0",
    info: { title: "Superstep", version: "1", description: "Workflows over HTTP." },
  })
  app.notFound((c) => problem(404, "NOT_FOUND", `There is nothing at ${c.req.method} ${c.req.path}.`))
  app.onError((error) => problemOf(error, report))
  return {
    async fetch(request) {
      return await app.fetch(request)
    },
    isOpen: auth === undefined,
    drain: () => draining.abort(),
  }
}

function tooLarge(limit: number): Response {
  return problem(413, "BODY_TOO_LARGE", `The body has more than ${limit} bytes.`)
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error))
}
