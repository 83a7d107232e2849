/** Routes of schedules. The ids of a tenant's schedules have its prefix, and their runs its label, as those that it starts. */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import { type ScheduleInfo, type ScheduleOptions, SuperstepError } from "@superstep/engine"
import type { Context } from "hono"
import {
  type Env,
  maySee,
  needs,
  ownLabels,
  ownName,
  type Principal,
  principalOf,
  tenantLabels,
  tenantName,
} from "./access.ts"
import { visibleWorkflow } from "./runs.ts"
import { body, failure, pageSchema } from "./schemas.ts"
import type { Services } from "./services.ts"

const PAGE = 200
const MAX_PREVIEW = 1_000

const time = z.number().int().openapi({ description: "Milliseconds since 1970-01-01 UTC." })
const json = z.unknown().openapi({ description: "Any JSON value." })
const milliseconds = z.number().int().min(0).optional()

const cron = z
  .string()
  .max(200)
  .openapi({ description: "5 fields, or 6 with seconds first.", example: "0 3 1 1 *" })
const timeZone = z.string().max(100).optional()
const every = z.number().int().min(1_000).openapi({ description: "Milliseconds." })

/** Exactly one of `cron`, `every` and `at` says when. */
const timed = <T extends z.ZodRawShape>(shape: T) =>
  z.union([
    z.object({ cron, timeZone, jitter: milliseconds, ...shape }).strict(),
    z.object({ every, startAt: time.optional(), jitter: milliseconds, ...shape }).strict(),
    z.object({ at: time, jitter: milliseconds, ...shape }).strict(),
  ])

const timing = {
  cron: cron.optional(),
  timeZone,
  every: every.optional(),
  startAt: time.optional(),
  at: time.optional(),
  jitter: milliseconds,
}

const optionsSchema = timed({
  workflow: z.string(),
  input: json.optional(),
  overlap: z.enum(["skip", "queue", "cancel-previous", "allow"]).optional(),
  catchUp: z.enum(["none", "last", "all"]).optional(),
  maxCatchUp: z.number().int().min(1).max(1_000).optional(),
  queue: z.string().max(200).optional(),
  priority: z.number().int().min(-1_000).max(1_000).optional(),
  labels: z.record(z.string(), z.string()).optional(),
}).openapi("ScheduleOptions")

const fireSchema = z.object({
  plannedAt: time.optional(),
  at: time,
  outcome: z.enum(["started", "skipped", "failed"]),
  run: z.string().optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
})

const timesSchema = z.array(z.object({ plannedAt: time, startsAt: time }))

const scheduleSchema = z
  .object({
    id: z.string(),
    workflow: z.string(),
    ...timing,
    input: json.optional(),
    overlap: z.string(),
    catchUp: z.string(),
    maxCatchUp: z.number().int(),
    queue: z.string().optional(),
    priority: z.number().int().optional(),
    labels: z.record(z.string(), z.string()).optional(),
    isDeclared: z.boolean().openapi({ description: "Its workflow declares it." }),
    isPaused: z.boolean(),
    nextAt: time.optional(),
    last: fireSchema.optional(),
    missed: z.object({ from: time, to: time }).optional(),
    pending: z.number().int().openapi({ description: "Runs that were asked for, and do not exist yet." }),
    createdAt: time,
    updatedAt: time,
    next: timesSchema.optional().openapi({ description: "The next times; only where they are asked for." }),
  })
  .openapi("Schedule")

const scheduleParam = z.object({ schedule: z.string().min(1).max(500) })
const failures = { 404: failure("No such schedule."), 422: failure("It is not valid.") }
const bodyOf = <T extends z.ZodType>(schema: T) => ({
  required: true,
  content: { "application/json": { schema } },
})

export function addScheduleRoutes(app: OpenAPIHono<Env>, services: Services): void {
  addSettingRoutes(app, services)
  addFiringRoutes(app, services)
}

/** Throws SCHEDULE_UNKNOWN, also for one of another tenant. */
async function visible(c: Context<Env>, { runtime }: Services, id: string): Promise<ScheduleInfo> {
  const found = await runtime.schedules.get(tenantName(principalOf(c), id))
  if (found !== undefined && maySee(principalOf(c), found.workflow)) return found
  throw unknown(id)
}

function unknown(id: string): SuperstepError {
  return new SuperstepError("SCHEDULE_UNKNOWN", `There is no schedule "${id}".`)
}

function dataOf(principal: Principal, { id, last, labels, tenant: _, ...info }: ScheduleInfo) {
  const { runId: run, ...fire } = last ?? {}
  return {
    id: ownName(principal, id) as string,
    ...info,
    labels: ownLabels(labels),
    ...(last !== undefined && { last: { ...fire, run } }),
  }
}

function addSettingRoutes(app: OpenAPIHono<Env>, services: Services): void {
  const { runtime } = services
  const { schedules } = runtime

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/schedules",
      ...needs("viewer"),
      summary: "List schedules by id, with their next times",
      request: {
        query: pageSchema.extend({
          cursor: z.string().max(600).optional(),
          workflow: z.string().optional(),
          next: z.coerce.number().int().min(0).max(100).default(0).openapi({
            description: "So many of the next times of each.",
          }),
        }),
      },
      responses: {
        200: body(
          z.object({ schedules: z.array(scheduleSchema), next: z.string().optional() }),
          "A page; `next` is the cursor of the next one.",
        ),
        422: failure("A parameter is not valid."),
      },
    }),
    async (c) => {
      const principal = principalOf(c)
      const { cursor, limit, workflow, next: count } = c.req.valid("query")
      const found = await page(principal, workflow, cursor, limit + 1)
      const shown = found.slice(0, limit)
      const data = await Promise.all(
        shown.map(async (one) => ({
          ...dataOf(principal, one),
          ...(count > 0 && { next: one.isPaused ? [] : await schedules.preview(one.id, count) }),
        })),
      )
      const next = found.length > limit ? data.at(-1)?.id : undefined
      return c.json({ schedules: data, next } as never, 200)
    },
  )

  async function page(
    principal: Principal,
    workflow: string | undefined,
    cursor: string | undefined,
    count: number,
  ): Promise<readonly ScheduleInfo[]> {
    const prefix = tenantName(principal, "")
    const visible: ScheduleInfo[] = []
    let after = cursor === undefined ? prefix : tenantName(principal, cursor)
    for (;;) {
      const rows = await schedules.list({ workflow, ...(after !== "" && { after }), limit: PAGE })
      const own = rows.filter(({ id }) => id.startsWith(prefix))
      visible.push(...own.filter((one) => maySee(principal, one.workflow)))
      const isLast = rows.length < PAGE || own.length < rows.length
      if (visible.length >= count || isLast) return visible.slice(0, count)
      after = rows.at(-1)?.id as string
    }
  }

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/schedules/{schedule}",
      ...needs("viewer"),
      summary: "Show a schedule",
      request: {
        params: scheduleParam,
        query: z.object({ next: z.coerce.number().int().min(0).max(MAX_PREVIEW).default(5) }),
      },
      responses: { 200: body(scheduleSchema, "With its next times."), 404: failure("No such schedule.") },
    }),
    async (c) => {
      const found = await visible(c, services, c.req.valid("param").schedule)
      const { next: count } = c.req.valid("query")
      const next = count === 0 || found.isPaused ? [] : await schedules.preview(found.id, count)
      return c.json({ ...dataOf(principalOf(c), found), next } as never, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "put",
      path: "/v1/schedules/{schedule}",
      ...needs("operator", { starts: true }),
      summary: "Create or change a schedule",
      description: "Exactly one of `cron`, `every` and `at` says when. A paused schedule stays paused.",
      request: { params: scheduleParam, body: bodyOf(optionsSchema) },
      responses: {
        200: body(scheduleSchema, "As it is now."),
        404: failure("No such workflow."),
        409: failure("Its workflow declares it, or it belongs to a workflow that you may not see."),
        422: failure("It never fires, or the workflow does not accept its input."),
      },
    }),
    async (c) => {
      const principal = principalOf(c)
      const { workflow: name, labels, ...options } = c.req.valid("json")
      const workflow = await visibleWorkflow(principal, services, name)
      const id = tenantName(principal, c.req.valid("param").schedule)
      const existing = await schedules.get(id)
      if (existing?.isDeclared || (existing !== undefined && !maySee(principal, existing.workflow))) {
        throw new SuperstepError(
          "SCHEDULE_TAKEN",
          `Schedule "${c.req.valid("param").schedule}" is declared by a workflow: choose another id, or change it there.`,
        )
      }
      const { tenant } = principal
      const set: ScheduleOptions = { ...options, id, labels: tenantLabels(principal, labels) }
      const info = await schedules.set(workflow as never, { ...set, ...(tenant && { tenant }) } as never)
      return c.json(dataOf(principal, info) as never, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/schedules/{schedule}",
      ...needs("operator"),
      summary: "Delete a schedule; its runs stay",
      request: { params: scheduleParam },
      responses: { 204: { description: "Deleted." }, 404: failure("No such schedule.") },
    }),
    async (c) => {
      const { id } = await visible(c, services, c.req.valid("param").schedule)
      await schedules.delete(id)
      return c.body(null, 204)
    },
  )

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/schedules/preview",
      ...needs("viewer"),
      summary: "The next times of a schedule that is not stored",
      request: {
        body: bodyOf(
          timed({ count: z.number().int().min(1).max(MAX_PREVIEW).default(10) }).openapi("SchedulePreview"),
        ),
      },
      responses: { 200: body(z.object({ times: timesSchema }), "In order."), 422: failures[422] },
    }),
    async (c) => {
      const { count, ...options } = c.req.valid("json")
      const times = await schedules.preview({ id: "preview", ...options }, count)
      return c.json({ times: [...times] }, 200)
    },
  )
}

function addFiringRoutes(app: OpenAPIHono<Env>, services: Services): void {
  const { schedules } = services.runtime

  for (const action of ["pause", "resume"] as const) {
    app.openapi(
      createRoute({
        method: "post",
        path: `/v1/schedules/{schedule}/${action}`,
        ...needs("operator"),
        summary:
          action === "pause"
            ? "Pause a schedule: it fires nothing until it is resumed"
            : "Resume a schedule: times that passed meanwhile are not made up for",
        request: { params: scheduleParam },
        responses: { 200: body(scheduleSchema, "As it is now."), 404: failure("No such schedule.") },
      }),
      async (c) => {
        const { id } = await visible(c, services, c.req.valid("param").schedule)
        return c.json(dataOf(principalOf(c), await schedules[action](id)) as never, 200)
      },
    )
  }

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/schedules/{schedule}/trigger",
      ...needs("operator", { starts: true }),
      summary: "Ask for a run now, besides the times of the schedule",
      request: { params: scheduleParam },
      responses: {
        202: body(z.object({ run: z.string() }), "The id that the run has, or will have."),
        ...failures,
      },
    }),
    async (c) => {
      const { id } = await visible(c, services, c.req.valid("param").schedule)
      return c.json({ run: await schedules.trigger(id) }, 202)
    },
  )

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/schedules/{schedule}/backfill",
      ...needs("operator", { starts: true }),
      summary: "Ask for a run of each past time in a range",
      description: "At most 1,000 times. A time that has a run keeps it.",
      request: {
        params: scheduleParam,
        body: bodyOf(
          z
            .object({
              from: time,
              to: time,
              dryRun: z.boolean().optional().openapi({ description: "Only list the times." }),
            })
            .strict()
            .openapi("Backfill"),
        ),
      },
      responses: { 202: body(z.object({ times: z.array(time) }), "The times that get runs."), ...failures },
    }),
    async (c) => {
      const { id } = await visible(c, services, c.req.valid("param").schedule)
      return c.json({ times: [...(await schedules.backfill(id, c.req.valid("json")))] }, 202)
    },
  )
}
