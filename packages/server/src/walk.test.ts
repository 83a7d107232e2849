/** Every route, as everybody who must not get through. See walk.test-support.ts. */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import { append, channel, memoryStore, node, Runtime, workflow } from "@superstep/engine"
import { afterEach, expect, test } from "vitest"
import { type Env, isVisible, needs, principalOf } from "./access.ts"
import { apiKeys, createKey } from "./auth/api-keys.ts"
import { problem } from "./problem.ts"
import { serverWith } from "./server.ts"
import type { Services } from "./services.ts"
import { type Ids, walk } from "./walk.test-support.ts"

const CANARY = "canary-of-tenant-a"
const CHAT = "chat-of-tenant-a"

const ask = workflow("ask")
  .start(node("ask", async (text: string, ctx) => `${text} ${await ctx.ask<string>(`Really ${text}?`)}`))
  .build()
const said = channel("said", append<string>(), { persist: true })
const echo = workflow("echo", { state: [said] })
  .start(
    node("echo", (text: string, ctx) => {
      ctx.state.write(said, [text])
      return text
    }),
  )
  .build()

const open: Runtime[] = []
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close()
})

/** A server on which the tenant "a" has something of each kind, and the ids of that. */
async function occupied(addMore: (app: OpenAPIHono<Env>, services: Services) => void = () => undefined) {
  const store = memoryStore()
  // A run that is unloaded is a change of its row: however long the walk takes, none is.
  const runtime = new Runtime({ store, workflows: [ask, echo], evictAfter: 3_600_000 })
  open.push(runtime)
  const workflows = [ask, echo] as never
  const server = serverWith({ runtime, workflows, auth: apiKeys(store), heartbeat: 5 }, addMore)
  const key = await createKey(store, { name: CANARY, role: "admin", tenant: "a" }, "test")
  const send = async (method: string, path: string, body: object) => {
    const response = await server.fetch(
      new Request(`http://local/v1${path}`, {
        method,
        headers: { "content-type": "application/json", authorization: `Bearer ${key.secret}` },
        body: JSON.stringify(body),
      }),
    )
    expect(response.status, path).toBe(200)
    return (await response.json()) as { id: string; requests: { id: string }[] }
  }
  const start = { input: CANARY, labels: { note: CANARY } }
  const thread = `thread-${CANARY}`
  const schedule = `schedule-${CANARY}`
  await send("POST", "/workflows/echo/runs", { ...start, thread })
  await send("PUT", `/schedules/${schedule}`, { workflow: "echo", cron: "0 3 1 1 *", input: CANARY })
  const { id: run, requests } = await send("POST", "/workflows/ask/runs", start)
  await server.fetch(
    new Request("http://local/v1/workflows/ask/chat", {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${key.secret}` },
      body: JSON.stringify({
        id: CHAT,
        messages: [{ role: "user", parts: [{ type: "text", text: CANARY }] }],
      }),
    }),
  )
  const create = async (path: string, body: unknown) => {
    const response = await server.fetch(
      new Request(`http://local${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${key.secret}` },
        body: JSON.stringify(body),
      }),
    )
    expect(response.status, path).toBeLessThan(300)
    return ((await response.json()) as { id: string }).id
  }
  const url = "https://example.com/hook"
  const events = ["run.quarantined"]
  const webhook = await create("/v1/webhooks", { url, events, description: CANARY, enabled: false })
  const link = await create(`/v1/runs/${run}/requests/${requests[0]?.id}/links`, { by: CANARY })
  const delivery = await create(`/v1/webhooks/${webhook}/ping`, undefined)
  // It changes by itself until it has ended.
  await runtime.get(delivery).result.catch(() => undefined)
  const IDS: Ids = {
    webhook,
    delivery,
    hook: await create("/v1/hooks", {
      name: CANARY,
      workflow: "ask",
      input: "$body",
      verify: { type: "standard" },
    }),
    link,
    // A token is a proof: this one is not.
    token: `${link}.0.${"A".repeat(43)}`,
    run,
    taskId: run,
    a: run,
    b: run,
    request: requests[0]?.id as string,
    key: key.id,
    workflow: "ask",
    definition: "ask",
    version: "1000007",
    alias: "beta-of-a",
    dialect: "steps",
    index: "docs-of-a",
    thread,
    schedule,
    model: "ask",
    response: `resp_${run}~0`,
    previous_response_id: `resp_${run}~0`,
    chat: CHAT,
    id: CHAT,
    threadId: CHAT,
    conversation: CHAT,
  }
  return { server, store, ids: IDS, canary: CANARY }
}

test("no route lets anybody through who must not get through", async () => {
  expect(await walk(await occupied())).toEqual([])
})

const params = z.object({ run: z.string() })
const any = { 200: { description: "Anything." } }

/** Routes that forget something, and what the walk says about each. */
const MISTAKES: Readonly<
  Record<string, readonly [RegExp, (app: OpenAPIHono<Env>, services: Services) => void]>
> = {
  "reads a run without asking whose it is": [
    /GET \/v1\/leak\/\{run\}: viewer of another tenant/,
    (app, { runtime }) =>
      app.openapi(
        createRoute({
          method: "get",
          path: "/v1/leak/{run}",
          ...needs("viewer"),
          request: { params },
          responses: any,
        }),
        async (c) => c.json((await runtime.store.run(c.req.valid("param").run)) ?? null),
      ),
  ],
  "tells a run of another tenant from none": [
    /GET \/v1\/leak\/\{run\}: viewer of another tenant/,
    (app, { runtime }) =>
      app.openapi(
        createRoute({
          method: "get",
          path: "/v1/leak/{run}",
          ...needs("viewer"),
          request: { params },
          responses: any,
        }),
        async (c) => {
          const row = await runtime.store.run(c.req.valid("param").run)
          if (row === undefined) return problem(404, "RUN_UNKNOWN", "There is no such run.")
          if (!isVisible(principalOf(c), row)) return problem(403, "NOT_ALLOWED", "It is not yours.")
          return c.json({})
        },
      ),
  ],
  "changes a run before it checks": [
    /something of the other tenant was changed/,
    (app, { runtime }) =>
      app.openapi(
        createRoute({
          method: "post",
          path: "/v1/leak/{run}",
          ...needs("operator"),
          request: { params },
          responses: any,
        }),
        async (c) => {
          await Promise.resolve(runtime.store.pin(c.req.valid("param").run, true))
          return problem(404, "RUN_UNKNOWN", "There is no such run.")
        },
      ),
  ],
  "lists runs of all tenants": [
    /GET \/v1\/leak: viewer of another tenant reads/,
    (app, { runtime }) =>
      app.openapi(
        createRoute({ method: "get", path: "/v1/leak", ...needs("viewer"), responses: any }),
        async (c) => c.json(await runtime.runs({})),
      ),
  ],
  "names no role": [
    /GET \/v1\/leak names no role/,
    (app) => app.openapi(createRoute({ method: "get", path: "/v1/leak", responses: any }), (c) => c.json({})),
  ],
  "names a role that it does not check": [
    /POST \/v1\/leak: the role viewer gets 200/,
    (app) =>
      app.openapi(
        createRoute({ method: "post", path: "/v1/leak", responses: any, ...{ "x-role": "admin" } }),
        (c) => c.json({}),
      ),
  ],
}

test.each(Object.entries(MISTAKES))("the walk finds a route that %s", async (_, [found, add]) => {
  expect(await walk(await occupied(add), "/v1/leak")).toContainEqual(expect.stringMatching(found))
})
