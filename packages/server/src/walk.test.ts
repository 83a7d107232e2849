/** Every route, as everybody who must not get through. See walk.test-support.ts. */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import { memoryStore, node, Runtime, workflow } from "@superstep/engine"
import { afterEach, expect, test } from "vitest"
import { type Env, isVisible, needs, principalOf } from "./access.ts"
import { apiKeys, createKey } from "./auth/api-keys.ts"
import { problem } from "./problem.ts"
import { serverWith } from "./server.ts"
import type { Services } from "./services.ts"
import { type Ids, walk } from "./walk.test-support.ts"

const CANARY = "canary-of-tenant-a"

const ask = workflow("ask")
  .start(node("ask", async (text: string, ctx) => `${text} ${await ctx.ask<string>(`Really ${text}?`)}`))
  .build()
const echo = workflow("echo")
  .start(node("echo", (text: string) => text))
  .build()

const open: Runtime[] = []
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close()
})

/** A server on which the tenant "a" has something of each kind, and the ids of that. */
async function occupied(addMore: (app: OpenAPIHono<Env>, services: Services) => void = () => undefined) {
  const store = memoryStore()
  const runtime = new Runtime({ store, workflows: [ask, echo] })
  open.push(runtime)
  const workflows = [ask, echo] as never
  const server = serverWith({ runtime, workflows, auth: apiKeys(store), heartbeat: 5 }, addMore)
  const key = await createKey(store, { name: CANARY, role: "admin", tenant: "a" }, "test")
  const start = async (name: string) => {
    const response = await server.fetch(
      new Request(`http://local/v1/workflows/${name}/runs`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${key.secret}` },
        body: JSON.stringify({ input: CANARY, labels: { note: CANARY } }),
      }),
    )
    expect(response.status, name).toBe(200)
    return (await response.json()) as { id: string; requests: { id: string }[] }
  }
  await start("echo")
  const { id: run, requests } = await start("ask")
  const IDS: Ids = {
    run,
    a: run,
    b: run,
    request: requests[0]?.id as string,
    key: key.id,
    workflow: "ask",
    definition: "ask",
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
  expect(await walk(await occupied(add))).toContainEqual(expect.stringMatching(found))
})
