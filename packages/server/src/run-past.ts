/**
 * Routes for pages that show long runs: the outline of a run, its view at an event, and its events in pages. What was read
 * of a run is kept while somebody looks at it, within a bound.
 */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import { hasEnded, RunPast, type StoredRun } from "@superstep/engine"
import { tasksOf } from "@superstep/engine/protocol"
import { type Env, isVisible, needs, principalOf, visibleRun } from "./access.ts"
import {
  body,
  eventPageSchema,
  failure,
  glanceSchema,
  pathSchema,
  runParam,
  runViewSchema,
  taskSchema,
} from "./schemas.ts"
import type { Services } from "./services.ts"

/** Events that are kept of all runs together; the run that was read last is kept whatever its length. */
const MAX_KEPT = 100_000
const MAX_RUNS = 32
/** Milliseconds after which nobody looks at a run any more. */
const MAX_AGE = 60_000

interface Kept {
  readonly past: RunPast
  /** A run that was removed and started again is another one. */
  readonly createdAt: number
  usedAt: number
}

class PastRuns {
  readonly #store: Services["runtime"]["store"]
  /** The least recently used first. */
  readonly #kept = new Map<string, Kept>()

  constructor(store: Services["runtime"]["store"]) {
    this.#store = store
  }

  async of({ runId, createdAt }: StoredRun): Promise<RunPast> {
    const known = this.#kept.get(runId)
    const kept =
      known?.createdAt === createdAt ? known : { past: new RunPast(this.#store, runId), createdAt, usedAt: 0 }
    kept.usedAt = Date.now()
    this.#kept.delete(runId)
    this.#kept.set(runId, kept)
    try {
      await kept.past.refresh()
    } catch (error) {
      this.#kept.delete(runId)
      throw error
    }
    this.#trim()
    return kept.past
  }

  #trim(): void {
    let events = 0
    for (const { past } of this.#kept.values()) events += past.length
    const now = Date.now()
    for (const [runId, { past, usedAt }] of this.#kept) {
      if (this.#kept.size === 1) return
      if (events <= MAX_KEPT && this.#kept.size <= MAX_RUNS && now - usedAt < MAX_AGE) return
      this.#kept.delete(runId)
      events -= past.length
    }
  }
}

/** What a list of runs shows of each, beyond its row. */
class Glances {
  readonly #pasts: PastRuns
  readonly #store: Services["runtime"]["store"]
  /** Of runs that have ended, the least recently added first. */
  readonly #ended = new Map<string, z.infer<typeof glanceSchema>>()

  constructor(store: Services["runtime"]["store"], pasts: PastRuns) {
    this.#store = store
    this.#pasts = pasts
  }

  async of(run: StoredRun): Promise<z.infer<typeof glanceSchema>> {
    const { runId, createdAt, seq } = run
    if (!hasEnded(run)) return glanceOf(runId, await this.#pasts.of(run))
    const key = `${runId} ${createdAt} ${seq}`
    const known = this.#ended.get(key)
    if (known !== undefined) return known
    const past = new RunPast(this.#store, runId)
    await past.refresh()
    const glance = glanceOf(runId, past)
    this.#ended.set(key, glance)
    const [oldest] = this.#ended.keys()
    if (this.#ended.size > MAX_GLANCES && oldest !== undefined) this.#ended.delete(oldest)
    return glance
  }
}

const MAX_GLANCES = 5_000
/** Runs of one request. */
const MAX_ASKED = 50
const MAX_NODES = 5

function glanceOf(run: string, past: RunPast): z.infer<typeof glanceSchema> {
  const view = past.viewAt(past.length)
  const { inputTokens = 0, outputTokens = 0, usd } = view.usage
  const nodes = new Set(tasksOf(view).map(({ node }) => node))
  return { run, tokens: inputTokens + outputTokens, usd, nodes: [...nodes].slice(0, MAX_NODES) }
}

const number = z.coerce.number().int().min(0).max(1e15)

export function addRunPastRoutes(app: OpenAPIHono<Env>, services: Services): void {
  const pasts = new PastRuns(services.runtime.store)

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/runs/{run}/view",
      ...needs("viewer"),
      summary: "A run at one of its events",
      description:
        "What the protocol folds from the events up to that one, without tasks that have ended: continue folding with the events that follow. With `outline=true` also what every task did and when, without values.",
      request: {
        params: runParam,
        query: z.object({
          at: number.optional().openapi({ description: "The number of an event. Default: the last one." }),
          outline: z.enum(["true", "false"]).optional(),
        }),
      },
      responses: { 200: body(runViewSchema, "The view."), 404: failure("No such run.") },
    }),
    async (c) => {
      const past = await pasts.of(await visibleRun(c, services, c.req.valid("param").run))
      const { at = past.length, outline } = c.req.valid("query")
      const view = past.viewAt(Math.min(at, past.length))
      const more = outline === "true" ? { outline: past.outline.toJSON() } : {}
      return c.json({ length: past.length, view, ...more } as never, 200)
    },
  )

  const glances = new Glances(services.runtime.store, pasts)
  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/usage/runs",
      ...needs("viewer"),
      summary: "What runs have used so far, and the nodes that they are at",
      request: {
        query: z.object({
          run: z
            .union([z.string(), z.array(z.string()).max(MAX_ASKED)])
            .openapi({ description: `Repeat it for more runs, up to ${MAX_ASKED}.` }),
        }),
      },
      responses: {
        200: body(z.object({ runs: z.array(glanceSchema) }), "Runs that do not exist are left out."),
      },
    }),
    async (c) => {
      const runs: z.infer<typeof glanceSchema>[] = []
      for (const id of [c.req.valid("query").run].flat()) {
        const row = await services.runtime.store.run(id)
        // A run that waits for a worker has no events yet.
        if (row !== undefined && row.seq > 0 && isVisible(principalOf(c), row))
          runs.push(await glances.of(row))
      }
      return c.json({ runs }, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/runs/{run}/events/page",
      ...needs("viewer"),
      summary: "A page of a run's events",
      description:
        "The first events after the number `after`, or with `before` the last ones below it. Events are journaled ones: live events are in the stream only.",
      request: {
        params: runParam,
        query: z.object({
          after: number.optional(),
          before: number.optional(),
          limit: z.coerce.number().int().min(1).max(1_000).default(200),
          types: z.string().max(2_000).optional().openapi({ description: "Separated by commas." }),
          text: z.string().max(200).optional().openapi({ description: "Contained in the event." }),
          task: taskSchema.optional(),
          path: pathSchema,
        }),
      },
      responses: { 200: body(eventPageSchema, "In order."), 404: failure("No such run.") },
    }),
    async (c) => {
      const past = await pasts.of(await visibleRun(c, services, c.req.valid("param").run))
      const { types, task, path, ...query } = c.req.valid("query")
      const page = past.page({
        ...query,
        types: types === undefined ? undefined : new Set(types.split(",")),
        task: task === undefined ? undefined : { path, id: task },
      })
      return c.json(page as never, 200)
    },
  )
}
