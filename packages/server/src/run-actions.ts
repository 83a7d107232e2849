/** Routes that change a run: cancel it, pause it, signal it, and make another run of its past. */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import { hasEnded, isSuperstepError, SuperstepError } from "@superstep/engine"
import type { Context } from "hono"
import { type Env, needs, principalOf, tenantName, visibleRun } from "./access.ts"
import { preferredWait, runData } from "./runs.ts"
import {
  body,
  boundsSchema,
  failure,
  forkSchema,
  rerunSchema,
  runParam,
  runSchema,
  signalSchema,
} from "./schemas.ts"
import type { Services } from "./services.ts"

/** Seconds that a request waits for the process that executes the run. */
const ANSWER_WAIT = 5
const UPDATE_WAIT = 30

const prefer = z.object({ prefer: z.string().optional() })
/** As for starting a run. */
const idempotent = z.object({ "idempotency-key": z.string().min(1).max(200).optional() })
const json = <T extends z.ZodType>(schema: T, required = true) => ({
  required,
  content: { "application/json": { schema } },
})

export function addRunActionRoutes(app: OpenAPIHono<Env>, services: Services): void {
  addCancelRoute(app, services)
  addPauseRoutes(app, services)
  addSignalRoutes(app, services)
  addForkRoutes(app, services)
}

function addCancelRoute(app: OpenAPIHono<Env>, services: Services): void {
  const { runtime } = services
  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/runs/{run}/cancel",
      ...needs("operator"),
      summary: "Cancel a run",
      description:
        "Answers 200 when the cancellation is journaled. If the process that executes the run does not answer within 5 seconds, or as long as `Prefer: wait=N` says, answers 202: the cancellation is stored, and that process carries it out.",
      request: {
        params: runParam,
        headers: prefer,
        body: json(z.object({ reason: z.string().max(1_000).optional() }).strict(), false),
      },
      responses: {
        200: body(runSchema, "Cancelled, and journaled."),
        202: body(runSchema.extend({ status: z.literal("cancelling") }), "Stored, and not journaled yet."),
        404: failure("No such run."),
        409: failure("It has ended."),
      },
    }),
    async (c) => {
      const { run } = c.req.valid("param")
      const row = await visibleRun(c, services, run)
      if (hasEnded(row)) throw new SuperstepError("RUN_OVER", `Run "${run}" is ${row.status}.`, { run })
      const timeout = preferredWait(c.req.valid("header").prefer, ANSWER_WAIT) * 1_000
      const delivery = await runtime.cancel(run, c.req.valid("json")?.reason, { timeout })
      const shown = runData(principalOf(c), await visibleRun(c, services, run))
      return delivery === "taken"
        ? c.json(shown, 200)
        : c.json({ ...shown, status: "cancelling" as const }, 202)
    },
  )
}

function addPauseRoutes(app: OpenAPIHono<Env>, services: Services): void {
  const { runtime } = services
  const byMail =
    "Answers 200 when that is journaled, also if there was nothing to do. If the process that executes the run does not answer within 5 seconds, or as long as `Prefer: wait=N` says, answers 202: that process carries it out when it reads its mail."
  const failures = { 404: failure("No such run."), 409: failure("It has ended, or is quarantined.") }

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/runs/{run}/pause",
      ...needs("operator"),
      summary: "Pause a run",
      description: `A paused run starts no task, model call or tool call. What executes finishes. ${byMail}`,
      request: {
        params: runParam,
        headers: prefer,
        body: json(z.object({ reason: z.string().max(1_000).optional() }).strict(), false),
      },
      responses: {
        200: body(runSchema, "Paused, and journaled."),
        202: body(runSchema.extend({ status: z.literal("pausing") }), "Stored, and not journaled yet."),
        ...failures,
      },
    }),
    async (c) => {
      const { runId } = await visibleRun(c, services, c.req.valid("param").run)
      const by = principalOf(c).id
      const timeout = preferredWait(c.req.valid("header").prefer, ANSWER_WAIT) * 1_000
      const delivery = await runtime.pause(runId, { reason: c.req.valid("json")?.reason, by, timeout })
      const shown = runData(principalOf(c), await visibleRun(c, services, runId))
      return delivery === "taken" ? c.json(shown, 200) : c.json({ ...shown, status: "pausing" as const }, 202)
    },
  )

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/runs/{run}/resume",
      ...needs("operator"),
      summary: "Resume a paused run",
      description: `What arrived meanwhile takes effect. A run that is not paused stays as it is. ${byMail}`,
      request: { params: runParam, headers: prefer, body: json(z.object({}).strict(), false) },
      responses: {
        200: body(runSchema, "Resumed, and journaled."),
        202: body(runSchema.extend({ status: z.literal("resuming") }), "Stored, and not journaled yet."),
        ...failures,
      },
    }),
    async (c) => {
      const { runId } = await visibleRun(c, services, c.req.valid("param").run)
      const timeout = preferredWait(c.req.valid("header").prefer, ANSWER_WAIT) * 1_000
      const delivery = await runtime.resume(runId, { by: principalOf(c).id, timeout })
      const shown = runData(principalOf(c), await visibleRun(c, services, runId))
      return delivery === "taken"
        ? c.json(shown, 200)
        : c.json({ ...shown, status: "resuming" as const }, 202)
    },
  )
}

function addSignalRoutes(app: OpenAPIHono<Env>, services: Services): void {
  const { runtime } = services

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/runs/{run}/signal",
      ...needs("operator"),
      summary: "Send a signal to a run",
      description: "The run takes a signal with the same `id` once: send it again when in doubt.",
      request: { params: runParam, body: json(signalSchema) },
      responses: {
        200: body(
          z.object({ delivery: z.enum(["taken", "stored"]) }),
          "Durable: `taken` by the run, or `stored` until a process executes it.",
        ),
        404: failure("No such run."),
        409: failure("It has ended."),
        422: failure("The value does not match the schema of the wait."),
        429: failure("The run buffers as many signals as it can."),
      },
    }),
    async (c) => {
      const { runId } = await visibleRun(c, services, c.req.valid("param").run)
      const { name, value, id } = c.req.valid("json")
      return c.json({ delivery: await runtime.signal(runId, name, value, { id }) }, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/runs/{run}/update",
      ...needs("operator"),
      summary: "Send a signal to a run, and get the reply",
      description:
        "Waits for the reply, up to 30 seconds or as long as `Prefer: wait=N` says. Then it answers 202: send the same `id` again to wait on.",
      request: { params: runParam, headers: prefer, body: json(signalSchema) },
      responses: {
        200: body(z.object({ id: z.string(), reply: z.unknown() }), "The reply of the handler."),
        202: body(z.object({ id: z.string() }), "The run has the update, and has not replied yet."),
        404: failure("No such run."),
        409: failure("It has ended without a reply."),
        422: failure("The value does not match the schema of the wait."),
        429: failure("The run buffers as many signals as it can."),
      },
    }),
    async (c) => {
      const { runId } = await visibleRun(c, services, c.req.valid("param").run)
      const { name, value, id = crypto.randomUUID() } = c.req.valid("json")
      const timeout = preferredWait(c.req.valid("header").prefer, UPDATE_WAIT) * 1_000
      try {
        return c.json({ id, reply: await runtime.update(runId, name, value, { id, timeout }) }, 200)
      } catch (error) {
        if (!isSuperstepError(error, "UPDATE_TIMEOUT")) throw error
        return c.json({ id }, 202)
      }
    },
  )
}

function addForkRoutes(app: OpenAPIHono<Env>, services: Services): void {
  const { runtime } = services
  const responses = {
    201: body(runSchema, "The new run; `Location` has its address."),
    404: failure("No such run."),
    409: failure("The run has nothing to continue from at that point, or the key belongs to another run."),
    422: failure("No such point, or a value that the run does not accept."),
  }
  /** A second request with the same key returns the run of the first one. */
  function keyOf(c: Context<Env>): string | undefined {
    return tenantName(principalOf(c), c.req.header("idempotency-key"))
  }
  /** A new run has the labels of its origin, and so its tenant. */
  async function newRun(c: Context<Env>, runId: string) {
    c.header("location", `/v1/runs/${encodeURIComponent(runId)}`)
    return runData(principalOf(c), await visibleRun(c, services, runId))
  }

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/runs/{run}/fork",
      ...needs("operator", { starts: true }),
      summary: "Create a run that shares the past of this one up to a point",
      description:
        "`patch` changes the state or agents, or answers questions that were open at that point, or starts anew with another input. Without `at`: where the questions of `patch.answers` were open, or the last checkpoint.",
      request: { params: runParam, headers: idempotent, body: json(forkSchema, false) },
      responses,
    }),
    async (c) => {
      const row = await visibleRun(c, services, c.req.valid("param").run)
      const { at, patch, ...bounds } = c.req.valid("json") ?? {}
      const labels = await services.catalog.copyLabels(principalOf(c), row)
      const made = await runtime.fork(row.runId, {
        at,
        ...patch,
        ...bounds,
        labels,
        by: principalOf(c).id,
        key: keyOf(c),
      })
      return c.json(await newRun(c, made), 201)
    },
  )

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/runs/{run}/rerun",
      ...needs("operator", { starts: true }),
      summary: "Run a run again, from its start or from a later part on",
      request: { params: runParam, headers: idempotent, body: json(rerunSchema, false) },
      responses,
    }),
    async (c) => {
      const row = await visibleRun(c, services, c.req.valid("param").run)
      const { from = FROM_START, ...bounds } = c.req.valid("json") ?? {}
      const labels = await services.catalog.copyLabels(principalOf(c), row)
      return c.json(
        await newRun(c, await runtime.rerun(row.runId, { from, ...bounds, labels, key: keyOf(c) })),
        201,
      )
    },
  )

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/runs/{run}/retry",
      ...needs("operator", { starts: true }),
      summary: "Run the part of a run again that failed or reached a limit",
      request: { params: runParam, headers: idempotent, body: json(boundsSchema, false) },
      responses: { ...responses, 409: failure("The run has not failed, or the key belongs to another run.") },
    }),
    async (c) => {
      const row = await visibleRun(c, services, c.req.valid("param").run)
      const labels = await services.catalog.copyLabels(principalOf(c), row)
      return c.json(
        await newRun(c, await runtime.rerun(row.runId, { ...c.req.valid("json"), labels, key: keyOf(c) })),
        201,
      )
    },
  )
}

/** Everything after the input. */
export const FROM_START = { superstep: 1 } as const
