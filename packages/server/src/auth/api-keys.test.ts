/** API keys: what they prove, and what they allow. */
import { node, Runtime, workflow } from "@superstep/engine"
import { expect, test, vi } from "vitest"
import { served } from "../serve.test-support.ts"
import { createKey } from "./api-keys.ts"

const held = workflow("held")
  .start(node("held", (_: null) => null))
  .build()

const START = "/v1/workflows/greet/runs"

test("a key is shown once, and the store has only its hash", async () => {
  const { ask, key, store } = served()
  const admin = await key({})
  const created = await ask("POST", "/v1/keys", { key: admin, body: { name: "ci", role: "operator" } })
  expect(created.status).toBe(201)
  const { id, secret, prefix } = (await created.json()) as { id: string; secret: string; prefix: string }
  expect(secret).toMatch(/^ss_[0-9a-f]{16}_[\w-]{43}$/)
  expect(secret.startsWith(`${prefix}_`)).toBe(true)
  const proof = secret.slice(prefix.length + 1)
  for (const path of ["/v1/keys", `/v1/keys/${id}`, "/v1/audit"]) {
    const text = await (await ask("GET", path, { key: admin })).text()
    expect(text).toContain(id.slice(0, path === "/v1/audit" ? 0 : 16))
    expect(text).not.toContain(proof)
  }
  expect(JSON.stringify(await store.records.list("api-key"))).not.toContain(proof)
  expect((await ask("POST", START, { key: secret, body: { input: "Ada" } })).status).toBe(200)
})

test("a key that has expired or is revoked no longer works, from the next request on", async () => {
  const { ask, key, store } = served()
  const admin = await key({})
  expect((await ask("GET", "/v1/runs", { key: await key({ expiresAt: Date.now() - 1 }) })).status).toBe(401)
  const { id, secret } = await createKey(store, { name: "x", role: "viewer" }, "test")
  expect((await ask("GET", "/v1/runs", { key: secret })).status).toBe(200)
  expect((await ask("DELETE", `/v1/keys/${id}`, { key: admin })).status).toBe(200)
  expect((await ask("GET", "/v1/runs", { key: secret })).status).toBe(401)
  expect((await ask("POST", `/v1/keys/${id}/rotate`, { key: admin, body: {} })).status).toBe(409)
  expect(await (await ask("GET", `/v1/keys/${id}`, { key: admin })).json()).toMatchObject({
    revokedAt: expect.any(Number),
  })
})

test("a rotated key has a new secret; the old one works as long as the overlap", async () => {
  const { ask, key, store } = served()
  const admin = await key({})
  const { id, secret } = await createKey(store, { name: "x", role: "viewer" }, "test")
  const rotate = async (overlap: number) => {
    const response = await ask("POST", `/v1/keys/${id}/rotate`, { key: admin, body: { overlap } })
    return ((await response.json()) as { secret: string }).secret
  }
  const statusOf = async (one: string) => (await ask("GET", "/v1/runs", { key: one })).status
  const second = await rotate(60)
  expect([await statusOf(secret), await statusOf(second)]).toEqual([200, 200])
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 })
  try {
    expect([await statusOf(secret), await statusOf(second)]).toEqual([401, 200])
  } finally {
    vi.useRealTimers()
  }
  const third = await rotate(0)
  expect([await statusOf(second), await statusOf(third)]).toEqual([401, 200])
})

test("a key creates no key that is allowed more than itself", async () => {
  const { ask, key } = served()
  const tenant = await key({ tenant: "a" })
  const limited = await key({ workflows: ["greet"] })
  const create = async (by: string, more: object) =>
    await ask("POST", "/v1/keys", { key: by, body: { name: "x", role: "viewer", ...more } })
  expect((await create(tenant, { tenant: "b" })).status).toBe(403)
  expect(await (await create(tenant, {})).json()).toMatchObject({ tenant: "a" })
  expect((await create(limited, { workflows: ["greet", "spend"] })).status).toBe(403)
  expect(await (await create(limited, {})).json()).toMatchObject({ workflows: ["greet"] })
})

test("a key sees and starts only its workflows", async () => {
  const { ask, key } = served()
  const limited = await key({ workflows: ["greet"] })
  expect((await ask("POST", "/v1/workflows/spend/runs", { key: limited, body: { input: 1 } })).status).toBe(
    404,
  )
  const { workflows } = (await (await ask("GET", "/v1/workflows", { key: limited })).json()) as {
    workflows: { name: string }[]
  }
  expect(workflows.map(({ name }) => name)).toEqual(["greet"])
})

test.each([
  ["day", { tokens: 100 }],
  ["total", { usd: 0.1 }],
] as const)("a key whose budget per %s is used up starts no more runs", async (per, amount) => {
  const { ask, key, store } = served()
  const spender = await key({ role: "operator", budget: { per, ...amount } })
  const other = await key({ role: "operator" })
  const spend = async (by: string) =>
    await ask("POST", "/v1/workflows/spend/runs", { key: by, body: { input: 60 } })
  const counted = async (tokens: number) =>
    await expect
      .poll(async () => (await store.records.list("key-usage")).map(({ value }) => value))
      .toContainEqual(expect.objectContaining({ tokens }))
  expect((await spend(spender)).status).toBe(200)
  await counted(60)
  expect((await spend(spender)).status).toBe(200)
  await counted(120)
  const refused = await spend(spender)
  expect(refused.status).toBe(429)
  expect(await refused.json()).toMatchObject({ code: "KEY_BUDGET_USED_UP" })
  expect((await ask("GET", "/v1/runs", { key: spender })).status).toBe(200)
  expect((await spend(other)).status).toBe(200)
  if (per === "total") return
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 86_400_000 })
  try {
    expect((await spend(spender)).status).toBe(200)
  } finally {
    vi.useRealTimers()
  }
})

test("the budget of a key is raised, and a key that is paused starts no runs until it is resumed", async () => {
  const { ask, key } = served()
  const admin = await key({ role: "admin" })
  const spender = await key({ role: "operator", budget: { per: "total", tokens: 100 } })
  const id = spender.split("_")[1]
  const spend = async () =>
    (await ask("POST", "/v1/workflows/spend/runs", { key: spender, body: { input: 120 } })).status
  const show = async () =>
    (await (await ask("GET", `/v1/keys/${id}`, { key: admin })).json()) as { used: object }
  const change = async (body: object) => (await ask("PATCH", `/v1/keys/${id}`, { key: admin, body })).status
  expect((await show()).used).toEqual({ usd: 0, tokens: 0 })
  expect(await spend()).toBe(200)
  await expect.poll(async () => (await show()).used).toMatchObject({ tokens: 120 })
  expect(await spend()).toBe(429)
  expect(await change({ budget: { per: "total", tokens: 500 } })).toBe(200)
  expect(await spend()).toBe(200)
  expect(await change({ paused: true })).toBe(200)
  const refused = await ask("POST", "/v1/workflows/spend/runs", { key: spender, body: { input: 1 } })
  expect(await refused.json()).toMatchObject({ code: "KEY_PAUSED" })
  expect((await ask("GET", "/v1/runs", { key: spender })).status).toBe(200)
  expect(await change({ paused: false })).toBe(200)
  expect(await spend()).toBe(200)
  expect(await change({ budget: null })).toBe(200)
  expect(await show()).not.toHaveProperty("budget")
  expect(await change({ budget: { per: "day" } })).toBe(422)
})

test("a key starts as many runs a day, and has as many active ones, as its quota says", async () => {
  const { ask, key, store } = served()
  const limited = await key({ role: "operator", quota: { runsPerDay: 2 } })
  const start = async (by: string) =>
    await ask("POST", "/v1/workflows/greet/runs", { key: by, body: { input: "x" } })
  for (const runs of [1, 2]) {
    expect((await start(limited)).status).toBe(200)
    await expect
      .poll(async () => (await store.records.list("key-usage")).map(({ value }) => value))
      .toContainEqual(expect.objectContaining({ runs }))
  }
  const refused = await start(limited)
  expect(refused.status).toBe(429)
  expect(await refused.json()).toMatchObject({ code: "KEY_QUOTA_USED_UP" })
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
  expect((await ask("GET", "/v1/runs", { key: limited })).status).toBe(200)
  const single = await key({ role: "operator", quota: { concurrentRuns: 1 } })
  const [id] = (await store.records.list("api-key")).flatMap(({ id, value }) =>
    (value as { quota?: { concurrentRuns?: number } }).quota?.concurrentRuns === 1 ? [id] : [],
  )
  expect((await start(single)).status).toBe(200)
  const elsewhere = new Runtime({ store, workflows: [held], recover: false })
  await elsewhere.enqueue(held, null, { labels: { "superstep.key": id as string } })
  expect((await start(single)).status).toBe(429)
  await elsewhere.close()
})

test("a key sends as many requests as its rate limit says, and learns what is left", async () => {
  const { ask, key } = served()
  const limited = await key({ rateLimit: { requests: 2, seconds: 60 } })
  const first = await ask("GET", "/v1/runs", { key: limited })
  expect(first.headers.get("ratelimit-policy")).toBe('"key";q=2;w=60')
  expect(first.headers.get("ratelimit")).toMatch(/^"key";r=1;t=(60|59)$/)
  expect((await ask("GET", "/v1/runs", { key: limited })).status).toBe(200)
  const refused = await ask("GET", "/v1/runs", { key: limited })
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 })
  try {
    expect((await ask("GET", "/v1/runs", { key: limited })).status).toBe(200)
  } finally {
    vi.useRealTimers()
  }
})

test("a fork counts in the budget of its key without the past that it shares", async () => {
  const { ask, key, store } = served()
  const spender = await key({ role: "operator", budget: { per: "total", tokens: 1_000 } })
  const started = await ask("POST", "/v1/workflows/spend/runs", { key: spender, body: { input: 60 } })
  const { id } = (await started.json()) as { id: string }
  const counted = async (tokens: number) =>
    await expect
      .poll(async () => (await store.records.list("key-usage")).map(({ value }) => value))
      .toContainEqual(expect.objectContaining({ tokens }))
  await counted(60)
  // After the record in which the task used them, and before the run ended.
  const past = await store.read(id, 0)
  expect(past.at(-1)?.entry.type).toBe("task.finished")
  const forked = await ask("POST", `/v1/runs/${id}/rerun`, { key: spender, body: {} })
  expect(forked.status).toBe(201)
  await counted(120)
})
