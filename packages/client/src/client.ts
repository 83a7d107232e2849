/** A client of the API: typed requests for every route, and methods for what programs do with runs. */
import { type EventOptions, eventsOf } from "./events.ts"
import type { RunEvent } from "./generated/events.ts"
import type { Request, Result, Routes, Run, Signal, Start, Workflow } from "./generated/routes.ts"
import { type ClientOptions, type Outgoing, Transport } from "./transport.ts"

export type Route = keyof Routes

/** What a route takes: `path`, `query` and `body`, as far as it has them. */
export type RouteInput<R extends Route> = Omit<Routes[R], "responses"> & {
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly signal?: AbortSignal | undefined
}

/** What a route returns, by status. */
export type RouteOutput<R extends Route> = {
  [Status in keyof Routes[R]["responses"]]: {
    readonly status: Status
    readonly data: Routes[R]["responses"][Status]
  }
}[keyof Routes[R]["responses"]]

type Arguments<R extends Route> =
  object extends RouteInput<R> ? [input?: RouteInput<R>] : [input: RouteInput<R>]

interface Abortable {
  readonly signal?: AbortSignal | undefined
}

interface Creating extends Abortable {
  /** A second request with the same key returns the first one's run. Default: a random one, so that a lost response is repeated. */
  readonly key?: string | undefined
}

export interface StartOptions extends Omit<Start, "input">, Abortable {
  /** A second start with the same key joins the first one's run. Default: a random one, so that a lost response is repeated. */
  readonly key?: string | undefined
}

export interface RunFilter extends Omit<NonNullable<Routes["GET /v1/runs"]["query"]>, Replaced>, Abortable {
  readonly status?: Run["status"] | readonly Run["status"][] | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
}
type Replaced = "status" | "label" | "cursor" | "limit"

export interface RequestFilter
  extends Omit<NonNullable<Routes["GET /v1/requests"]["query"]>, "cursor" | "limit">,
    Abortable {}

export interface Client {
  /** Sends a request to any route. Throws an ApiError for what the server refuses. */
  request<R extends Route>(route: R, ...input: Arguments<R>): Promise<RouteOutput<R>>
  workflows(options?: Abortable): Promise<readonly Workflow[]>
  /** Starts a run and returns when it is stored. */
  start(workflow: string, input: unknown, options?: StartOptions): Promise<RunHandle>
  /** Starts a run and returns its result, once it has ended or waits for a person. */
  run(workflow: string, input: unknown, options?: StartOptions): Promise<Result>
  /** A run that exists. Sends nothing. */
  get(run: string): RunHandle
  /** Runs, newest first, page by page. */
  list(filter?: RunFilter): AsyncGenerator<Run, void>
  /** Questions to people, oldest first, page by page. */
  requests(filter?: RequestFilter): AsyncGenerator<Request, void>
}

export interface RunHandle {
  readonly id: string
  show(options?: Abortable): Promise<Run>
  /** Waits until the run has ended, or waits for a person. */
  result(options?: Abortable): Promise<Result>
  /** Events from the first one, or after a number, until the run has ended. Reconnects by itself. */
  events(options?: EventOptions): AsyncGenerator<RunEvent, void>
  /** Status `cancelling`: the process that executes the run has not confirmed it yet. */
  cancel(reason?: string, options?: Abortable): Promise<RouteOutput<"POST /v1/runs/{run}/cancel">["data"]>
  /** Status `pausing`: the process that executes the run has not confirmed it yet. */
  pause(reason?: string, options?: Abortable): Promise<RouteOutput<"POST /v1/runs/{run}/pause">["data"]>
  /** Continues a paused run. Status `resuming`: the process that executes the run has not confirmed it yet. */
  resume(options?: Abortable): Promise<RouteOutput<"POST /v1/runs/{run}/resume">["data"]>
  respond(
    request: string,
    value: unknown,
    options?: Abortable & { readonly by?: string | undefined },
  ): Promise<"taken" | "stored">
  /** A second signal with the same `id` is ignored. Default: a random one, so that a lost response is repeated. */
  signal(
    name: string,
    value?: unknown,
    options?: Abortable & { readonly id?: string | undefined },
  ): Promise<"taken" | "stored">
  /** A new run that shares the past of this one up to a point. */
  fork(options?: Routes["POST /v1/runs/{run}/fork"]["body"] & Creating): Promise<RunHandle>
  /** A new run that runs the part again that failed. */
  retry(options?: Routes["POST /v1/runs/{run}/retry"]["body"] & Creating): Promise<RunHandle>
  /** A new run that runs again from the start, or from a later part on. */
  rerun(options?: Routes["POST /v1/runs/{run}/rerun"]["body"] & Creating): Promise<RunHandle>
  /** Deletes the run, which must have ended. */
  remove(options?: Abortable): Promise<void>
}

/** Seconds that the server may take to answer with a result. */
const WAIT = "wait=30"
const PAGE = 100

export function createClient(options: ClientOptions): Client {
  const transport = new Transport(options)

  const client: Client = {
    request: (route, ...[input]) => requestTo(transport, route, input),
    async workflows(call) {
      return (await client.request("GET /v1/workflows", call)).data.workflows
    },
    async start(workflow, input, call) {
      const { data } = await begin(workflow, input, "respond-async", call)
      return client.get(data.id)
    },
    async run(workflow, input, call) {
      const { status, data } = await begin(workflow, input, WAIT, call)
      return status === 200 ? data : await client.get(data.id).result({ signal: call?.signal })
    },
    get: (run) => handleOf(transport, client, run),
    async *list({ signal, status, labels = {}, ...filter } = {}) {
      const label = Object.entries(labels).map(([name, value]) => `${name}=${value}`)
      const query = { ...filter, label, status: status && [status].flat().join(","), limit: PAGE }
      let cursor: string | undefined
      do {
        const { data } = await client.request("GET /v1/runs", { query: { ...query, cursor }, signal })
        yield* data.runs
        cursor = data.next
      } while (cursor !== undefined)
    },
    async *requests({ signal, ...filter } = {}) {
      let cursor: string | undefined
      do {
        const query = { ...filter, limit: PAGE, cursor }
        const { data } = await client.request("GET /v1/requests", { query, signal })
        yield* data.requests
        cursor = data.next
      } while (cursor !== undefined)
    },
  }

  async function begin(workflow: string, input: unknown, prefer: string, call: StartOptions = {}) {
    const { key = randomKey(), signal, ...start } = call
    return await client.request("POST /v1/workflows/{workflow}/runs", {
      path: { workflow },
      body: { input, ...start },
      headers: { prefer, "idempotency-key": key },
      signal,
    })
  }
  return client
}

function handleOf(transport: Transport, client: Client, run: string): RunHandle {
  const path = { run }
  async function created(
    part: "fork" | "retry" | "rerun",
    { signal, key = randomKey(), ...body }: Creating & object = {},
  ): Promise<RunHandle> {
    const headers = { "idempotency-key": key }
    const { data } = await requestTo(transport, `POST /v1/runs/{run}/${part}`, {
      path,
      body,
      headers,
      signal,
    })
    return client.get(data.id)
  }
  return {
    id: run,
    async show(call) {
      return (await client.request("GET /v1/runs/{run}", { path, ...call })).data
    },
    async result(call) {
      for (;;) {
        const headers = { prefer: WAIT }
        const { status, data } = await client.request("GET /v1/runs/{run}/result", {
          path,
          headers,
          ...call,
        })
        if (status === 200) return data
        // The server has waited already, or is about to stop.
        await transport.pause(1, call?.signal)
      }
    },
    events: (call = {}) => eventsOf(transport, pathOf("/v1/runs/{run}/events", path), call),
    async cancel(reason, call) {
      return (await client.request("POST /v1/runs/{run}/cancel", { path, body: { reason }, ...call })).data
    },
    async pause(reason, call) {
      return (await client.request("POST /v1/runs/{run}/pause", { path, body: { reason }, ...call })).data
    },
    async resume(call) {
      return (await client.request("POST /v1/runs/{run}/resume", { path, body: {}, ...call })).data
    },
    async respond(request, value, { by, signal } = {}) {
      const { data } = await client.request("POST /v1/runs/{run}/requests/{request}/answer", {
        path: { run, request },
        body: { value, by },
        signal,
      })
      return data.delivery
    },
    async signal(name, value, { id = randomKey(), signal } = {}) {
      const body = { name, value, id }
      return (await client.request("POST /v1/runs/{run}/signal", { path, body, signal })).data.delivery
    },
    fork: (call) => created("fork", call),
    retry: (call) => created("retry", call),
    rerun: (call) => created("rerun", call),
    async remove(call) {
      await client.request("DELETE /v1/runs/{run}", { path, ...call })
    },
  }
}

/** Routes that have the same effect when they are sent twice, besides all that only read. */
const REPEATABLE: ReadonlySet<Route> = new Set<Route>([
  "POST /v1/runs/{run}/cancel",
  "POST /v1/runs/{run}/pause",
  "POST /v1/runs/{run}/resume",
  "POST /v1/runs/{run}/requests/{request}/answer",
])

async function requestTo<R extends Route>(
  transport: Transport,
  route: R,
  input: Outgoing & { readonly path?: Readonly<Record<string, string>> | undefined } = {},
): Promise<RouteOutput<R>> {
  const [method = "", template = ""] = route.split(" ")
  const { path, ...outgoing } = input
  const hasId = route === "POST /v1/runs/{run}/signal" && typeof (input.body as Signal).id === "string"
  const canRepeat =
    method === "GET" || REPEATABLE.has(route) || hasId || "idempotency-key" in (input.headers ?? {})
  const response = await transport.send(method, pathOf(template, path), outgoing, canRepeat)
  const isJson = response.headers.get("content-type")?.includes("json")
  const data: unknown = isJson ? await response.json() : undefined
  // The routes are generated from the server's, so its responses have these types.
  return { status: response.status, data } as RouteOutput<R>
}

function pathOf(template: string, values: Readonly<Record<string, string>> = {}): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""))
}

/** `crypto.randomUUID` is missing in pages that were not loaded over HTTPS. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
}
