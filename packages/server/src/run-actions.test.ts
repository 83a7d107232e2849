/** What a client does to a run: signal, update, fork, rerun, retry, cancel. */
import {
  channel,
  memoryStore,
  node,
  pastEvents,
  Runtime,
  replace,
  type Store,
  workflow,
} from "@superstep/engine"
import { afterEach, expect, test } from "vitest"
import type { Principal } from "./access.ts"
import { createServer, type Server } from "./server.ts"

const cart = workflow("cart")
  .start(
    node("cart", async (_: unknown, ctx) => {
      const items: string[] = []
      for (;;) {
        const { value, reply } = await ctx.waitForUpdate<string>("add")
        if (value === "done") return items
        items.push(value)
        if (value !== "silent") await reply(items.length)
      }
    }),
  )
  .build()
const shipment = workflow("shipment")
  .start(node("ship", async (item: string, ctx) => `${item} ${await ctx.waitFor<string>("shipped")}`))
  .build()

const tone = channel("tone", replace<string>("plain"))
let isBroken = false
const letter = workflow("letter", { state: [tone] })
  .chain(
    node("draft", (name: string) => `Dear ${name}`),
    node("check", (text: string) => {
      if (isBroken) throw new Error("broken")
      return text
    }),
    node("send", async (text: string, ctx) => {
      const answer = await ctx.ask<string>("Send it?")
      return `${text}, ${ctx.state.get(tone)}: ${answer}`
    }),
  )
  .build()

const workflows = [cart, shipment, letter]
const open: Runtime[] = []
afterEach(async () => {
  isBroken = false
  for (const runtime of open.splice(0)) await runtime.close()
})

const people: Record<string, Principal> = {
  ada: { id: "ada", role: "operator", tenant: "a" },
  bob: { id: "bob", role: "operator", tenant: "b" },
  carl: { id: "carl", role: "operator", tenant: "a", key: { id: "key-2" } },
}

function runtimeOn(store: Store): Runtime {
  const runtime = new Runtime({ store, workflows })
  open.push(runtime)
  return runtime
}

function serve(runtime = runtimeOn(memoryStore())): Server {
  return createServer({
    runtime,
    workflows: workflows as never,
    auth: (request) => people[request.headers.get("authorization") ?? "ada"],
  })
}

async function post(server: Server, path: string, body: unknown, headers: Record<string, string> = {}) {
  const request = { method: "POST", headers: { "content-type": "application/json", ...headers } }
  const response = await server.fetch(
    new Request(`http://local${path}`, { ...request, body: JSON.stringify(body) }),
  )
  return { status: response.status, headers: response.headers, body: (await response.json()) as never }
}

async function started(server: Server, name: string, input: unknown): Promise<string> {
  const { body } = await post(server, `/v1/workflows/${name}/runs`, { input })
  return (body as { id: string }).id
}

async function resultOf(server: Server, id: string) {
  const response = await server.fetch(new Request(`http://local/v1/runs/${id}/result`))
  return (await response.json()) as { status: string; outputs: unknown[]; requests: { id: string }[] }
}

test("a signal reaches the run once, however often it is sent", async () => {
  const runtime = runtimeOn(memoryStore())
  const server = serve(runtime)
  const id = await started(server, "shipment", "lamp")
  const signal = { name: "shipped", value: "today", id: "evt_1" }
  expect(await post(server, `/v1/runs/${id}/signal`, signal)).toMatchObject({
    status: 200,
    body: { delivery: "taken" },
  })
  expect(await runtime.get(id).result).toMatchObject({ outputs: ["lamp today"] })
  expect((await post(server, `/v1/runs/${id}/signal`, signal)).status).toBe(200)
  expect(await post(server, `/v1/runs/${id}/signal`, { ...signal, id: "evt_2" })).toMatchObject({
    status: 409,
    body: { code: "RUN_OVER" },
  })
  expect((await post(server, `/v1/runs/${id}/signal`, { name: "" })).status).toBe(422)
})

test("an update returns the handler's reply, or the id to wait on with", async () => {
  const server = serve()
  const id = await started(server, "cart", null)
  const update = `/v1/runs/${id}/update`
  const lamp = { name: "add", value: "lamp", id: "click-1" }
  expect((await post(server, update, lamp)).body).toEqual({ id: "click-1", reply: 1 })
  expect((await post(server, update, lamp)).body).toEqual({ id: "click-1", reply: 1 })
  const late = await post(server, update, { name: "add", value: "silent" }, { prefer: "wait=0" })
  expect(late).toMatchObject({ status: 202, body: { id: expect.any(String) } })
  expect((await post(server, update, { name: "add", value: "done" })).status).toBe(409)
})

test("a run that failed is retried from the failure, or rerun from its start", async () => {
  const runtime = runtimeOn(memoryStore())
  const server = serve(runtime)
  isBroken = true
  const id = await started(server, "letter", "Ada")
  expect((await resultOf(server, id)).status).toBe("failed")
  isBroken = false
  for (const [action, seq] of [
    ["retry", 2],
    ["rerun", 1],
  ] as const) {
    const { status, headers, body } = await post(server, `/v1/runs/${id}/${action}`, {})
    const run = (body as { id: string }).id
    expect(status).toBe(201)
    expect(headers.get("location")).toBe(`/v1/runs/${run}`)
    expect(body).toMatchObject({ forkOf: { run: id, seq } })
    await runtime.get(run).result
    expect((await resultOf(server, run)).status).toBe("waiting")
    expect((await post(server, `/v1/runs/${run}/retry`, {})).body).toMatchObject({ code: "RUN_NOT_FAILED" })
  }
  const unknown = await post(server, `/v1/runs/${id}/rerun`, { from: { node: "nope" } })
  expect(unknown).toMatchObject({ status: 422, body: { code: "NODE_UNKNOWN" } })
})

test("a fork continues from a point with other state and other answers", async () => {
  const runtime = runtimeOn(memoryStore())
  const server = serve(runtime)
  const id = await started(server, "letter", "Ada")
  const [request] = (await resultOf(server, id)).requests
  await post(server, `/v1/runs/${id}/requests/${request?.id}/answer`, { value: "yes" })
  expect((await runtime.get(id)).outputs).toEqual(["Dear Ada, plain: yes"])
  const kind = await post(server, `/v1/runs/${id}/fork`, {
    at: { superstep: 2 },
    patch: { state: { tone: "kind" } },
  })
  const fork = (kind.body as { id: string }).id
  await runtime.get(fork).result
  await post(server, `/v1/runs/${fork}/requests/r1/answer`, { value: "no" })
  expect((await runtime.get(fork)).outputs).toEqual(["Dear Ada, kind: no"])
  const other = await post(server, `/v1/runs/${id}/fork`, { patch: { answers: { r1: "never" } } })
  expect((await runtime.get((other.body as { id: string }).id)).outputs).toEqual(["Dear Ada, plain: never"])
  const bad = [{ at: { superstep: 9 } }, { at: 2 }, { patch: { state: { colour: 1 } } }, { labels: {} }]
  for (const body of bad) expect((await post(server, `/v1/runs/${id}/fork`, body)).status).toBe(422)
})

test("what is made of a run belongs to its tenant, and nobody else can touch it", async () => {
  const server = serve()
  isBroken = true
  const id = await started(server, "letter", "Ada")
  const bob = { authorization: "bob" }
  for (const action of ["signal", "update", "fork", "rerun", "retry", "cancel"]) {
    const body = action === "signal" || action === "update" ? { name: "x" } : {}
    expect(await post(server, `/v1/runs/${id}/${action}`, body, bob)).toMatchObject({ status: 404 })
  }
  const { body } = await post(server, `/v1/runs/${id}/retry`, {})
  const made = `/v1/runs/${(body as { id: string }).id}`
  const statusFor = async (headers: Record<string, string>) =>
    (await server.fetch(new Request(`http://local${made}`, { headers }))).status
  expect([await statusFor({}), await statusFor(bob)]).toEqual([200, 404])
  const chosen = await post(server, "/v1/workflows/letter/runs", { input: "x", runId: "mine" })
  expect(chosen).toMatchObject({ status: 200, body: { id: "tenant:a:mine" } })
})

test("a run that is made of another one counts for the key that makes it", async () => {
  const runtime = runtimeOn(memoryStore())
  const server = serve(runtime)
  const id = await started(server, "letter", "Ada")
  for (const action of ["fork", "rerun"]) {
    const { body } = await post(server, `/v1/runs/${id}/${action}`, {}, { authorization: "carl" })
    const row = await runtime.store.run((body as { id: string }).id)
    expect(row?.labels).toEqual({ "superstep.tenant": "a", "superstep.key": "key-2" })
  }
})

test("a cancellation that is not journaled in time is answered with 202, and carried out", async () => {
  const store = memoryStore()
  const worker = new Runtime({ store, workflows, machine: "another" })
  open.push(worker)
  const server = serve(runtimeOn(store))
  const run = worker.start(shipment, "lamp", { labels: { "superstep.tenant": "a" } })
  await run.result
  const late = await post(server, `/v1/runs/${run.id}/cancel`, {}, { prefer: "respond-async" })
  expect(late).toMatchObject({ status: 202, body: { id: run.id, status: "cancelling" } })
  for await (const _ of run.events());
  expect(await run.result).toMatchObject({ status: "cancelled" })
  expect((await post(server, `/v1/runs/${run.id}/cancel`, {})).status).toBe(409)
})

test("a run is paused and resumed: 200 when journaled, 202 while its process does not answer", async () => {
  const store = memoryStore()
  const runtime = runtimeOn(store)
  const server = serve(runtime)
  const run = runtime.start(letter, "Ada", { labels: { "superstep.tenant": "a" } })
  await run.result
  const path = `/v1/runs/${run.id}`
  const paused = await post(server, `${path}/pause`, { reason: "audit" })
  expect([paused.status, paused.body]).toMatchObject([200, { status: "paused" }])
  expect((await post(server, `${path}/pause`, {})).status).toBe(200)
  expect((await post(server, `${path}/pause`, {}, { authorization: "bob" })).status).toBe(404)
  const { events } = await eventsOf(runtime, run.id)
  expect(events.at(-1)).toMatchObject({ type: "run.paused", reason: "audit", by: "ada" })
  expect((await post(server, `${path}/resume`, {})).body).toMatchObject({ status: "waiting" })
  const other = serve(runtimeOn(store))
  const late = await post(other, `${path}/pause`, {}, { prefer: "wait=0" })
  expect([late.status, late.body]).toMatchObject([202, { status: "pausing" }])
  await runtime.cancel(run.id)
  expect((await post(server, `${path}/resume`, {})).status).toBe(409)
})

async function eventsOf(runtime: Runtime, id: string) {
  return { events: await pastEvents(runtime.store, id) }
}

test("a fork, a rerun and a retry with the same idempotency key are one run", async () => {
  const runtime = runtimeOn(memoryStore())
  const server = serve(runtime)
  isBroken = true
  const run = runtime.start(letter, "Ada", { labels: { "superstep.tenant": "a" } })
  await run.result
  isBroken = false
  const ids = new Set<string>()
  for (const [action, body] of [
    ["fork", { at: { superstep: 1 }, patch: { state: { tone: "warm" } } }],
    ["rerun", {}],
    ["retry", {}],
  ] as const) {
    const ask = async (sent: unknown, key: string = action) =>
      await post(server, `/v1/runs/${run.id}/${action}`, sent, { "idempotency-key": key })
    const [first, second] = [await ask(body), await ask(body)]
    expect([first.status, second.status]).toEqual([201, 201])
    const { id } = first.body as { id: string }
    expect(second.body).toMatchObject({ id })
    expect((await ask(body, `${action} again`)).body).not.toMatchObject({ id })
    ids.add(id)
  }
  expect(ids.size).toBe(3)
  const other = { at: { superstep: 1 }, patch: { state: { tone: "cold" } } }
  const refused = await post(server, `/v1/runs/${run.id}/fork`, other, { "idempotency-key": "fork" })
  expect([refused.status, refused.body]).toMatchObject([409, { code: "KEY_TAKEN" }])
})
