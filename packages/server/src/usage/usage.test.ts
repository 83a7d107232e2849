/** Usage by day, workflow, model and key, and statistics: each run counts once. */
import { memoryStore, node, Runtime, workflow } from "@superstep/engine"
import { expect, onTestFinished, test } from "vitest"
import { apiKeys } from "../auth/api-keys.ts"
import { served } from "../serve.test-support.ts"
import { createServer } from "../server.ts"

const greet = workflow("greet")
  .start(node("greet", (name: string) => `Hello ${name}`))
  .build()

interface Group {
  readonly runs?: { readonly completed: number; readonly failed: number; readonly limit: number }
  readonly usage: { readonly usd?: number; readonly inputTokens?: number }
  readonly [name: string]: unknown
}

interface Answer {
  readonly groups: readonly Group[]
  readonly total: Group
  readonly behind: number
}

type Counted = Pick<ReturnType<typeof served>, "ask">

/** Once everything is counted. */
async function usage(one: Counted, key: string | undefined, query = ""): Promise<Answer> {
  for (;;) {
    const answer = (await (await one.ask("GET", `/v1/usage?${query}`, { key })).json()) as Answer
    if (answer.behind === 0) return answer
    await new Promise((resolve) => setImmediate(resolve))
  }
}

async function spending() {
  const one = served()
  const admin = await one.key({ role: "admin" })
  const spend = async (tokens: number, key = admin) => {
    const options = { key, body: { input: tokens } }
    return (await (await one.ask("POST", "/v1/workflows/spend/runs", options)).json()) as { id: string }
  }
  return { ...one, admin, spend }
}

test("runs are counted by day and by workflow, with how they ended", async () => {
  const one = await spending()
  await one.spend(1_000)
  await one.spend(500)
  await one.ask("POST", "/v1/workflows/fail/runs", { key: one.admin, body: { input: "x" } })
  const today = new Date().toISOString().slice(0, 10)
  const { groups, total } = await usage(one, one.admin, "group=workflow,day")
  expect(groups).toEqual([
    { workflow: "fail", day: today, runs: { completed: 0, failed: 1, cancelled: 0, limit: 0 }, usage: {} },
    {
      workflow: "spend",
      day: today,
      runs: { completed: 2, failed: 0, cancelled: 0, limit: 0 },
      usage: { inputTokens: 1_500, usd: 1.5 },
    },
  ])
  expect(total).toMatchObject({ usage: { usd: 1.5 }, runs: { completed: 2, failed: 1 } })
  expect((await usage(one, one.admin, "to=2020-01-31")).groups).toEqual([])
  const byNode = await usage(one, one.admin, "group=workflow,node")
  expect(byNode.groups).toContainEqual({
    workflow: "spend",
    node: "spend",
    usage: { inputTokens: 1_500, usd: 1.5 },
  })
  expect(byNode.total.usage.usd).toBe(1.5)
  expect((await one.ask("GET", "/v1/usage?group=node,key", { key: one.admin })).status).toBe(422)
  expect((await one.ask("GET", "/v1/usage?group=colour", { key: one.admin })).status).toBe(422)
})

test("the first question counts what has ended before, and has the runs in flight that one may see", async () => {
  const ask = workflow("ask")
    .start(node("ask", (_: string, ctx) => ctx.ask("Really?")))
    .build()
  const one = served({ workflows: [ask, greet] as never })
  const [acme, other] = [await one.key({ tenant: "acme" }), await one.key({ tenant: "other" })]
  const start = (name: string, key: string) =>
    one.ask("POST", `/v1/workflows/${name}/runs`, { key, body: { input: "x" } })
  await start("greet", acme)
  await start("ask", acme)
  await start("ask", other)
  const get = async (key: string, query = "") =>
    await (await one.ask("GET", `/v1/usage?group=workflow${query}`, { key })).json()
  const inFlight = { queued: 0, running: 0, waiting: 1, paused: 0 }
  expect(await get(acme)).toMatchObject({ total: { runs: { completed: 1 } }, inFlight, behind: 0 })
  expect(await get(acme, "&workflow=greet")).toMatchObject({ inFlight: { waiting: 0 } })
  expect(await get(acme, `&key=${other.split("_")[1]}`)).toMatchObject({ inFlight: { waiting: 0 } })
})

test("usage is grouped by the key that started the runs, and a tenant sees its own", async () => {
  const one = await spending()
  const acme = await one.key({ role: "operator", tenant: "acme" })
  await one.spend(100)
  await one.spend(300, acme)
  const { groups } = await usage(one, one.admin, "group=key,tenant")
  const id = (key: string) => key.split("_")[1]
  expect(groups.map(({ key, tenant, usage: { inputTokens } }) => [key, tenant, inputTokens]).sort()).toEqual(
    [
      [id(one.admin), "", 100],
      [id(acme), "acme", 300],
    ].sort(),
  )
  expect((await usage(one, acme)).total.usage.inputTokens).toBe(300)
  const some = await one.key({ role: "viewer", workflows: ["greet"] })
  expect((await usage(one, some)).total.usage).toEqual({})
})

test("usage of models is separate from what is of no model", async () => {
  const asking = workflow("asking")
    .start(
      node("ask", async (text: string, ctx) => {
        ctx.use({ usd: 1 })
        return await ctx.step("model", () => text, {
          usage: () => ({ inputTokens: 10, usd: 0.5 }),
          source: () => ({ agent: "a", model: "large" }),
        })
      }),
    )
    .build()
  const runtime = new Runtime({ store: memoryStore(), workflows: [asking] })
  onTestFinished(() => runtime.close())
  const server = createServer({ runtime, workflows: [asking] })
  await runtime.start(asking, "x")
  const ask: Counted["ask"] = async (method, path) =>
    await server.fetch(new Request(`http://local${path}`, { method }))
  const { groups } = await usage({ ask }, undefined, "group=model")
  expect(groups).toEqual([
    { model: "", usage: { usd: 1 } },
    { model: "large", usage: { inputTokens: 10, usd: 0.5 } },
  ])
  const large = await usage({ ask }, undefined, "group=workflow&model=large")
  expect(large.total.usage).toEqual({ inputTokens: 10, usd: 0.5 })
})

test("a fork counts what it used itself, not the past that it shares", async () => {
  const store = memoryStore()
  const twice = workflow("twice")
    .chain(
      node("one", (n: number, ctx) => {
        ctx.use({ inputTokens: 100 })
        return n
      }),
      node("two", (n: number, ctx) => {
        ctx.use({ inputTokens: 7 })
        return n
      }),
    )
    .build()
  const runtime = new Runtime({ store, workflows: [twice] })
  onTestFinished(() => runtime.close())
  const server = createServer({ runtime, workflows: [twice], auth: apiKeys(store) })
  const { runId } = await runtime.start(twice, 1)
  const forked = await runtime.fork(runId, { at: { superstep: 1 } })
  await runtime.get(forked)
  const open = createServer({ runtime, workflows: [twice] })
  const ask: Counted["ask"] = async (method, path) =>
    await open.fetch(new Request(`http://local${path}`, { method }))
  const { total } = await usage({ ask }, undefined)
  expect(total).toMatchObject({ usage: { inputTokens: 114 }, runs: { completed: 2 } })
  const response = await ask("GET", "/v1/workflows/twice/statistics")
  const { nodes } = (await response.json()) as { nodes: { id: string; tasks: number; usage: object }[] }
  expect(nodes.sort((a, b) => (a.id < b.id ? -1 : 1))).toMatchObject([
    { id: "one", tasks: 1, usage: { inputTokens: 100 } },
    { id: "two", tasks: 2, usage: { inputTokens: 14 } },
  ])
  expect(server.isOpen).toBe(false)
})

test("an end that is delivered again counts once, and every server of the store counts", async () => {
  const one = await spending()
  await one.spend(100)
  await usage(one, one.admin)
  // As if the position had not been saved: a new consumer of the same name gets everything again.
  await one.runtime.close()
  await one.store.subscriptions.remove("superstep.usage")
  await one.store.subscriptions.add("superstep.usage", "beginning")
  const again = new Runtime({ store: one.store, workflows: [] })
  onTestFinished(() => again.close())
  const server = createServer({ runtime: again, workflows: [], auth: apiKeys(one.store) })
  const headers = { authorization: `Bearer ${one.admin}` }
  const ask: Counted["ask"] = async (method, path) =>
    await server.fetch(new Request(`http://local${path}`, { method, headers }))
  expect((await usage({ ask }, one.admin)).total).toMatchObject({
    runs: { completed: 1 },
    usage: { inputTokens: 100 },
  })
})

test("a server that is asked something else continues to count once usage was asked for", async () => {
  const one = await spending()
  await usage(one, one.admin)
  const second = new Runtime({ store: one.store, workflows: [] })
  onTestFinished(() => second.close())
  const server = createServer({ runtime: second, workflows: [] })
  await one.spend(100)
  await usage(one, one.admin)
  await one.runtime.close()
  await server.fetch(new Request("http://local/v1/runs"))
  expect((await second.consumers()).map(({ consumer }) => consumer)).toContain("superstep.usage")
})

test("statistics of a workflow have success, durations, cost and the last runs", async () => {
  const one = await spending()
  for (const tokens of [100, 200]) await one.spend(tokens)
  await usage(one, one.admin)
  const response = await one.ask("GET", "/v1/workflows/spend/statistics?days=1", { key: one.admin })
  expect(await response.json()).toMatchObject({
    runs: { completed: 2, failed: 0 },
    successRate: 1,
    p50: expect.any(Number),
    p95: expect.any(Number),
    usage: { inputTokens: 300 },
    nodes: [{ id: "spend", tasks: 2, failed: 0, usage: { inputTokens: 300 } }],
    last: [{ status: "completed" }, { status: "completed" }],
  })
  expect((await one.ask("GET", "/v1/workflows/none/statistics", { key: one.admin })).status).toBe(404)
})
