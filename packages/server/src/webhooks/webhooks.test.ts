/** Webhooks, with a real receiver on this machine that verifies them with the reference implementation. */
import { createServer as createHttpServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import { type Clock, memoryStore, node, Runtime, type Store, workflow } from "@superstep/engine"
import { manualClock } from "@superstep/engine/testing"
import { Webhook as Verifier } from "standardwebhooks"
import { expect, onTestFinished, test } from "vitest"
import { apiKeys, createKey } from "../auth/api-keys.ts"
import { createServer } from "../server.ts"
import { DELIVERY } from "./webhooks.ts"

const greet = workflow("greet")
  .start(node("greet", (name: string) => `Hello ${name}`))
  .build()
const ask = workflow("ask")
  .start(node("ask", async (text: string, ctx) => await ctx.ask<string>(text)))
  .build()

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly event: { readonly type: string; readonly data: Readonly<Record<string, unknown>> }
}

/** Answers with these statuses, one after another, and then with 204. */
async function receiver(...statuses: (number | { readonly location: string })[]) {
  const received: Received[] = []
  let arrived = () => {}
  const http = createHttpServer((request, response) => {
    let body = ""
    request.on("data", (chunk) => {
      body += chunk
    })
    request.on("end", () => {
      received.push({ headers: request.headers, body, event: JSON.parse(body) })
      const status = statuses.shift() ?? 204
      if (typeof status === "number") response.writeHead(status)
      else response.writeHead(307, status)
      response.end()
      arrived()
    })
  })
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => void http.close())
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/hook`
  return {
    url,
    received,
    async until(count: number): Promise<readonly Received[]> {
      while (received.length < count) {
        await new Promise<void>((resolve) => {
          arrived = resolve
        })
      }
      return received
    },
  }
}

interface Serve {
  readonly store?: Store
  readonly allow?: string[]
  readonly clock?: Clock
}

function serve({ store = memoryStore(), allow = ["127.0.0.1"], clock }: Serve = {}) {
  const runtime = new Runtime({ store, workflows: [greet, ask], clock })
  onTestFinished(() => runtime.close())
  const problems: unknown[] = []
  const server = createServer({
    runtime,
    workflows: [greet, ask] as never,
    auth: apiKeys(store),
    webhooks: { allow },
    onProblem: (error) => problems.push(error),
  })
  onTestFinished(() => server.drain())
  const keyOf = async (options = {}) =>
    (await createKey(store, { name: "test", role: "admin", ...options }, "test")).secret
  const admin = keyOf()
  return {
    runtime,
    store,
    problems,
    keyOf,
    async ask(method: string, path: string, body?: unknown, key?: string) {
      const headers = {
        authorization: `Bearer ${key ?? (await admin)}`,
        ...(body !== undefined && { "content-type": "application/json" }),
      }
      const text = body === undefined ? {} : { body: JSON.stringify(body) }
      const response = await server.fetch(new Request(`http://local${path}`, { method, headers, ...text }))
      // biome-ignore lint/suspicious/noExplicitAny: each test knows what it asked for.
      return { status: response.status, data: (await response.json().catch(() => undefined)) as any }
    },
  }
}

/** Resolves when the run has ended. */
async function ended(runtime: Runtime, runId: string): Promise<string> {
  return (await runtime.get(runId).result).status
}

const ENDED = { events: ["run.ended"] }

test("an event is delivered as a Standard Webhook, with ids and a status, and nothing that the run computed", async () => {
  const { url, until } = await receiver()
  const api = serve()
  const created = await api.ask("POST", "/v1/webhooks", { url, ...ENDED })
  expect(created.status).toBe(201)
  expect(created.data.secret).toMatch(/^whsec_/)
  await api.ask("POST", "/v1/workflows/greet/runs", { input: "Ada", runId: "r1", labels: { shop: "1" } })
  const [got] = await until(1)
  const verified = new Verifier(created.data.secret).verify(
    (got as Received).body,
    (got as Received).headers as Record<string, string>,
  )
  expect(verified).toEqual({
    type: "run.ended",
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    data: { run: "r1", workflow: "greet", status: "completed", labels: { shop: "1" } },
  })
  expect((got as Received).body).not.toContain("Ada")
  for (const path of ["/v1/webhooks", `/v1/webhooks/${created.data.id}`]) {
    expect(JSON.stringify((await api.ask("GET", path)).data)).not.toContain("whsec_")
  }
})

test("a webhook gets the events of its types, workflows and labels only, and questions as well as runs", async () => {
  const { url, until, received } = await receiver()
  const api = serve()
  const only = { workflows: ["ask"], labels: { shop: "1" } }
  await api.ask("POST", "/v1/webhooks", { url, events: ["request.opened", "request.closed"], ...only })
  await api.ask("POST", "/v1/workflows/greet/runs", { input: "x", labels: { shop: "1" } })
  await api.ask("POST", "/v1/workflows/ask/runs", { input: "other?", labels: { shop: "2" } })
  await api.ask("POST", "/v1/workflows/ask/runs", { input: "ours?", labels: { shop: "1" }, runId: "q" })
  await api.ask("POST", "/v1/runs/q/requests/r1/answer", { value: "yes", by: "ada" })
  await until(2)
  const byType = received.map(({ event }) => event).sort((a, b) => (a.type < b.type ? 1 : -1))
  expect(byType).toMatchObject([
    { type: "request.opened", data: { run: "q", request: "r1" } },
    { type: "request.closed", data: { run: "q", request: "r1", outcome: "answered", by: "ada" } },
  ])
})

test("a webhook of a tenant gets events of that tenant only", async () => {
  const [ours, theirs] = [await receiver(), await receiver()]
  const api = serve()
  const [a, b] = [await api.keyOf({ tenant: "a" }), await api.keyOf({ tenant: "b" })]
  await api.ask("POST", "/v1/webhooks", { url: ours.url, ...ENDED }, a)
  await api.ask("POST", "/v1/webhooks", { url: theirs.url, ...ENDED }, b)
  const started = await api.ask("POST", "/v1/workflows/greet/runs", { input: "secret of b" }, b)
  const run = await api.ask("POST", "/v1/workflows/greet/runs", { input: "x" }, a)
  expect((await ours.until(1))[0]?.event.data.run).toBe(run.data.id)
  expect((await theirs.until(1))[0]?.event.data.run).toBe(started.data.id)
  expect([ours.received.length, theirs.received.length]).toEqual([1, 1])
})

test("deliveries are in no list, count, bulk action or subscription of users, unless they are asked for", async () => {
  const { url, until } = await receiver()
  const api = serve()
  const events: string[] = []
  await api.runtime.on("run.ended", { consumer: "mine" }, ({ workflow: name }) => void events.push(name))
  await api.ask("POST", "/v1/webhooks", { url, ...ENDED })
  await api.ask("POST", "/v1/workflows/greet/runs", { input: "x" })
  await until(1)
  const [delivery] = await api.runtime.runs({ workflow: DELIVERY })
  expect(await ended(api.runtime, delivery?.runId as string)).toBe("completed")
  const { data } = await api.ask("GET", "/v1/runs?limit=1")
  expect(data.runs.map((run: { workflow: string }) => run.workflow)).toEqual(["greet"])
  expect(data.next).toBeUndefined()
  const filter = { status: ["completed"] }
  const bulk = await api.ask("POST", "/v1/runs/bulk", { action: "delete", filter, dryRun: true })
  expect(bulk.data.results).toHaveLength(1)
  expect((await api.ask("GET", `/v1/runs?workflow=${DELIVERY}`)).data.runs).toHaveLength(1)
  // The event of a run that ends after the delivery.
  await api.ask("POST", "/v1/workflows/greet/runs", { input: "y" })
  await expect.poll(() => events).toEqual(["greet", "greet"])
})

test("a failed delivery is tried again with the same id; its log has each attempt", async () => {
  const clock = manualClock()
  const { url, received: got } = await receiver(500, 503)
  const api = serve({ clock })
  const { data: webhook } = await api.ask("POST", "/v1/webhooks", { url, ...ENDED })
  await api.ask("POST", "/v1/workflows/greet/runs", { input: "x" })
  while (got.length < 3) {
    await clock.advance(1_000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(new Set(got.map(({ headers }) => headers["webhook-id"])).size).toBe(1)
  expect(new Set(got.map(({ body }) => body)).size).toBe(1)
  const path = `/v1/webhooks/${webhook.id}/deliveries`
  const [delivery] = (await api.ask("GET", path)).data.deliveries
  await ended(api.runtime, delivery.id)
  const details = (await api.ask("GET", `${path}/${delivery.id}`)).data
  expect(details).toMatchObject({
    type: "run.ended",
    status: "delivered",
    message: got[0]?.headers["webhook-id"],
    body: got[0]?.body,
    attempts: [
      { error: expect.stringContaining("500") },
      { error: expect.stringContaining("503") },
      { at: expect.any(Number) },
    ],
  })
  expect((await api.ask("GET", `/v1/webhooks/${webhook.id}`)).data.failingSince).toBeUndefined()
})

test("a message can be sent again, with the id of the first; a ping tests the address", async () => {
  const { url, until } = await receiver()
  const api = serve()
  const { data: webhook } = await api.ask("POST", "/v1/webhooks", { url, ...ENDED })
  const ping = await api.ask("POST", `/v1/webhooks/${webhook.id}/ping`)
  expect(ping).toMatchObject({ status: 202, data: { type: "ping", status: "pending" } })
  expect((await until(1))[0]?.event.type).toBe("ping")
  const path = `/v1/webhooks/${webhook.id}/deliveries/${ping.data.id}/redeliver`
  const again = await api.ask("POST", path)
  expect(again.status).toBe(202)
  expect(again.data.id).not.toBe(ping.data.id)
  const got = await until(2)
  expect(got[1]?.headers["webhook-id"]).toBe(got[0]?.headers["webhook-id"])
  expect(got[1]?.body).toBe(got[0]?.body)
  expect((await api.ask("GET", `/v1/webhooks/${webhook.id}/deliveries`)).data.deliveries).toHaveLength(2)
})

test("after a rotation both secrets verify for the overlap, and only the new one without it", async () => {
  const { url, until } = await receiver()
  const api = serve()
  const { data: webhook } = await api.ask("POST", "/v1/webhooks", { url, ...ENDED })
  const ping = () => api.ask("POST", `/v1/webhooks/${webhook.id}/ping`)
  const isBy = (secret: string, { body, headers }: Received) => {
    try {
      new Verifier(secret).verify(body, headers as Record<string, string>)
      return true
    } catch {
      return false
    }
  }
  const rotated = await api.ask("POST", `/v1/webhooks/${webhook.id}/rotate`, { overlap: 60 })
  expect(rotated.data.secret).not.toBe(webhook.secret)
  await ping()
  const first = (await until(1))[0] as Received
  expect([webhook.secret, rotated.data.secret].map((one) => isBy(one, first))).toEqual([true, true])
  const last = await api.ask("POST", `/v1/webhooks/${webhook.id}/rotate`, { overlap: 0 })
  await ping()
  const second = (await until(2))[1] as Received
  expect([rotated.data.secret, last.data.secret].map((one) => isBy(one, second))).toEqual([false, true])
})

test("private addresses are refused when the connection is made, and redirects are not followed", async () => {
  const target = await receiver()
  const { url, until } = await receiver({ location: target.url })
  const closed = serve({ allow: [] })
  for (const bad of [target.url, "http://example.com/", "ftp://example.com", "https://a:b@example.com/"]) {
    expect((await closed.ask("POST", "/v1/webhooks", { url: bad, ...ENDED })).status, bad).toBe(422)
  }
  const port = new URL(target.url).port
  for (const name of ["localhost", "127.0.0.1", "[::ffff:127.0.0.1]", "169.254.169.254"]) {
    const { data } = await closed.ask("POST", "/v1/webhooks", { url: `https://${name}:${port}/`, ...ENDED })
    const ping = (await closed.ask("POST", `/v1/webhooks/${data.id}/ping`)).data
    expect(await ended(closed.runtime, ping.id), name).toBe("failed")
    const details = (await closed.ask("GET", `/v1/webhooks/${data.id}/deliveries/${ping.id}`)).data
    expect(details.error).toContain("not on the public internet")
  }
  const open = serve()
  const { data } = await open.ask("POST", "/v1/webhooks", { url, ...ENDED })
  await open.ask("POST", `/v1/webhooks/${data.id}/ping`)
  await until(1)
  await expect
    .poll(async () => (await open.ask("GET", `/v1/webhooks/${data.id}`)).data.failingSince)
    .toEqual(expect.any(Number))
  expect(target.received).toEqual([])
})

test("a webhook that is gone, or fails for five days, is disabled with the reason, and can be enabled again", async () => {
  const { url, until } = await receiver(410)
  const api = serve()
  const { data: webhook } = await api.ask("POST", "/v1/webhooks", { url, ...ENDED })
  const path = `/v1/webhooks/${webhook.id}`
  const gone = (await api.ask("POST", `${path}/ping`)).data
  expect(await ended(api.runtime, gone.id)).toBe("failed")
  expect((await api.ask("GET", path)).data).toMatchObject({
    enabled: false,
    disabled: { reason: expect.stringContaining("410") },
  })
  expect(api.problems).toEqual([expect.objectContaining({ code: "WEBHOOK_DISABLED" })])
  const refused = (await api.ask("POST", `${path}/ping`)).data
  expect(await ended(api.runtime, refused.id)).toBe("failed")
  expect((await until(1)).length).toBe(1)
  const enabled = (await api.ask("PATCH", path, { enabled: true })).data
  expect(enabled).toMatchObject({ enabled: true })
  expect(enabled.disabled).toBeUndefined()
  // It has been failing for five days when the next request fails.
  const record = await api.store.records.get("webhook", webhook.id)
  const failing = {
    ...(record?.value as object),
    url: "https://127.0.0.2/",
    failingSince: Date.now() - 5 * 86_400_000,
  }
  await api.store.records.put("webhook", webhook.id, failing, record?.version as number)
  const late = (await api.ask("POST", `${path}/ping`)).data
  expect(await ended(api.runtime, late.id)).toBe("failed")
  expect((await api.ask("GET", path)).data.disabled.reason).toContain("No request succeeded for 5 days")
})

test("a key for some workflows creates webhooks for those only", async () => {
  const api = serve()
  const key = await api.keyOf({ workflows: ["greet"] })
  const url = "https://example.com/"
  const more = await api.ask("POST", "/v1/webhooks", { url, ...ENDED, workflows: ["ask"] }, key)
  expect(more).toMatchObject({ status: 403, data: { code: "NOT_ALLOWED" } })
  const own = await api.ask("POST", "/v1/webhooks", { url, ...ENDED }, key)
  expect(own).toMatchObject({ status: 201, data: { workflows: ["greet"] } })
  const changed = await api.ask("PATCH", `/v1/webhooks/${own.data.id}`, { workflows: ["ask"] }, key)
  expect(changed.status).toBe(403)
})
