/** The API by its fetch handler: what a client sends, and what it gets. */
import { connect } from "node:net"
import { memoryStore, node, Runtime, workflow } from "@superstep/engine"
import { agent } from "@superstep/engine/agents"
import { scriptedModel } from "@superstep/engine/models"
import { tool } from "@superstep/engine/tools"
import { afterEach, expect, onTestFinished, test, vi } from "vitest"
import { type Principal, ROLES } from "./access.ts"
import { listen } from "./listen.ts"
import { createServer, type Server, type ServerOptions } from "./server.ts"

const greet = workflow("greet")
  .start(node("greet", (name: string) => `Hello ${name}`))
  .build()
const ask = workflow("ask")
  .start(node("ask", async (_: unknown, ctx) => `You said ${await ctx.ask<string>("What?")}`))
  .build()

const open: Runtime[] = []
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close()
})

function serve(auth?: ServerOptions["auth"]): { server: Server; runtime: Runtime } {
  const runtime = new Runtime({ store: memoryStore(), workflows: [greet, ask] })
  open.push(runtime)
  return { server: createServer({ runtime, workflows: [greet, ask], heartbeat: 5, auth }), runtime }
}

function post(server: Server, path: string, body: unknown, headers: Record<string, string> = {}) {
  return server.fetch(
    new Request(`http://local${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    }),
  )
}
const get = (server: Server, path: string, headers: Record<string, string> = {}) =>
  server.fetch(new Request(`http://local${path}`, { headers }))

test("a run is started and awaited in one request", async () => {
  const { server } = serve()
  const response = await post(server, "/v1/workflows/greet/runs", { input: "Ada" })
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ status: "completed", outputs: ["Hello Ada"] })
})

test("a run that is not awaited has an address, and ends there", async () => {
  const { server } = serve()
  const started = await post(
    server,
    "/v1/workflows/greet/runs",
    { input: "Ada" },
    { prefer: "respond-async" },
  )
  expect(started.status).toBe(202)
  const address = started.headers.get("location") as string
  const text = await (await get(server, `${address}/events`)).text()
  expect(text).toContain("event: run.finished")
  expect(text.trimEnd().split("\n\n").at(-1)).toBe(
    'event: end\ndata: {"reason":"ended","status":"completed"}',
  )
})

test("a question is listed, answered with the right value, and not twice", async () => {
  const { server } = serve()
  const { id } = (await (await post(server, "/v1/workflows/ask/runs", { input: 1 })).json()) as { id: string }
  const { requests } = (await (await get(server, "/v1/requests")).json()) as { requests: { id: string }[] }
  const answer = `/v1/runs/${id}/requests/${requests[0]?.id}/answer`
  expect((await post(server, answer, { value: "yes" })).status).toBe(200)
  const events = await (await get(server, `/v1/runs/${id}/events?types=output`)).text()
  expect(events).toContain("You said yes")
  expect((await post(server, answer, { value: "no" })).status).toBe(409)
})

test("a tool that an answer always allows is not asked for again in the run, at any node", async () => {
  const pay = tool({ name: "pay", description: "Pays.", approval: "always", run: () => "paid" })
  const model = (name: string) => scriptedModel([{ tool_calls: [{ name: "pay" }] }, `${name} is done`])
  const clerk = (name: string) => agent({ name, model: model(name), tools: [pay] })
  const desk = workflow("desk").chain(clerk("ada"), clerk("bob")).build()
  const runtime = new Runtime({ store: memoryStore(), workflows: [desk] })
  open.push(runtime)
  const server = createServer({ runtime, workflows: [desk] })
  const started = await (await post(server, "/v1/workflows/desk/runs", { input: "go" })).json()
  const { id, requests } = started as { id: string; requests: { id: string }[] }
  const answer = `/v1/runs/${id}/requests/${requests[0]?.id}/answer`
  expect((await post(server, answer, { value: { approve: true, always: true } })).status).toBe(200)
  const events = await (await get(server, `/v1/runs/${id}/events?types=output`)).text()
  expect(events).toContain("bob is done")
})

test("the same Idempotency-Key joins the run; with another input it is refused", async () => {
  const { server } = serve()
  const key = { "idempotency-key": "k" }
  const first = await (await post(server, "/v1/workflows/greet/runs", { input: "Ada" }, key)).json()
  expect(await (await post(server, "/v1/workflows/greet/runs", { input: "Ada" }, key)).json()).toEqual(first)
  expect((await post(server, "/v1/workflows/greet/runs", { input: "Bob" }, key)).status).toBe(409)
})

test("a stream that is joined again after any event misses and repeats nothing", async () => {
  const { server } = serve()
  const { id } = (await (await post(server, "/v1/workflows/greet/runs", { input: "Ada" })).json()) as {
    id: string
  }
  const idsAfter = async (after: number) => {
    const text = await (await get(server, `/v1/runs/${id}/events`, { "last-event-id": `${after}` })).text()
    return [...text.matchAll(/^id: (\d+)$/gm)].map(([, number]) => Number(number))
  }
  const all = await idsAfter(0)
  expect(all).toEqual(all.map((_, index) => index + 1))
  for (const after of all) expect(await idsAfter(after)).toEqual(all.slice(after))
})

test("mistakes are problems with a status, a code and a place", async () => {
  const { server } = serve()
  const problems = [
    [await get(server, "/v1/runs/none"), 404, "RUN_UNKNOWN"],
    [await get(server, "/v1/runs?status=done"), 422, "REQUEST_INVALID"],
    [await post(server, "/v1/workflows/none/runs", { input: 1 }), 404, "WORKFLOW_UNKNOWN"],
    [await post(server, "/v1/workflows/greet/runs", { inptu: 1 }), 422, "REQUEST_INVALID"],
    [await get(server, "/v2"), 404, "NOT_FOUND"],
  ] as const
  for (const [response, status, code] of problems) {
    expect(response.headers.get("content-type")).toBe("application/problem+json")
    expect(await response.json()).toMatchObject({ status, code })
    expect(response.status).toBe(status)
  }
})

test("a body that is not JSON, a field that is missing and a filter that does not exist are named", async () => {
  const { server } = serve()
  const path = "/v1/workflows/greet/runs"
  const headers = { "content-type": "application/json" }
  const cut = new Request(`http://local${path}`, { method: "POST", headers, body: '{"input": ' })
  const refused = await server.fetch(cut)
  expect(refused.status).toBe(400)
  expect(await refused.json()).toMatchObject({
    code: "REQUEST_INVALID",
    detail: expect.stringContaining("JSON"),
  })
  expect(await (await post(server, path, {})).json()).toMatchObject({
    code: "REQUEST_INVALID",
    detail: "body.input: Required.",
  })
  for (const list of ["/v1/runs?workflw=greet", "/v1/requests?workflw=greet"]) {
    const response = await get(server, list)
    expect(response.status).toBe(422)
    expect(await response.text()).toContain("workflw")
  }
})

test("a route that exists with other methods lists them", async () => {
  const { server } = serve()
  const used = await server.fetch(new Request("http://local/v1/runs/a/events", { method: "PUT" }))
  expect([used.status, used.headers.get("allow")]).toEqual([405, "GET"])
  expect(await used.json()).toMatchObject({
    code: "METHOD_NOT_ALLOWED",
    detail: "/v1/runs/a/events has no PUT. Use GET.",
  })
  expect((await get(server, "/v1/workflows/greet/runs")).headers.get("allow")).toBe("POST")
  expect((await get(server, "/v1/runs/a/none")).status).toBe(404)
})

test("problems use no words of the library that found them", async () => {
  const { server } = serve()
  const path = "/v1/workflows/greet/runs"
  const detailOf = async (response: Response) => ((await response.json()) as { detail: string }).detail
  expect(await detailOf(await get(server, "/v1/runs?limit=abc"))).toBe("query.limit: must be a number")
  expect(await detailOf(await post(server, path, { input: 1, thread: "" }))).toBe(
    "body.thread: must not be empty",
  )
  expect(await detailOf(await post(server, path, []))).toBe("body: expected object, received array")
  expect(await detailOf(await post(server, path, { input: 1, runId: "a\n" }))).toBe(
    "body.runId: must have no control characters or lone surrogates",
  )
})

test("a list whose place is gone is refused instead of ending early", async () => {
  const { server, runtime } = serve()
  for (const runId of ["a", "b", "c"]) await runtime.start(greet, "Ada", { runId })
  const page = (cursor: string) => get(server, `/v1/runs?limit=1&cursor=${cursor}`)
  expect(await (await page("c")).json()).toMatchObject({ runs: [{ id: "b" }], next: "b" })
  await runtime.remove("b")
  const gone = await page("b")
  expect(gone.status).toBe(422)
  expect(await gone.json()).toMatchObject({
    code: "OPTION_INVALID",
    detail: expect.stringContaining("first page"),
  })
})

test("the address of the server leads to the page that describes it, without a key", async () => {
  const { server } = serve(() => undefined)
  const response = await get(server, "/")
  expect([response.status, response.headers.get("location")]).toEqual([302, "/docs"])
})

test("a server is ready while its store answers in time", async () => {
  const { server, runtime } = serve()
  const ready = async () => (await get(server, "/readyz")).status
  expect(await ready()).toBe(200)
  const holders = vi.spyOn(runtime.store, "holders")
  onTestFinished(() => void vi.restoreAllMocks())
  holders.mockImplementationOnce(() => Promise.reject(new Error("away")))
  expect(await ready()).toBe(503)
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  onTestFinished(() => void vi.useRealTimers())
  holders.mockImplementationOnce(() => new Promise(() => undefined))
  const late = [ready(), ready()]
  await expect.poll(() => vi.getTimerCount()).toBe(1)
  vi.advanceTimersByTime(2_000)
  expect(await Promise.all(late)).toEqual([503, 503])
  vi.useRealTimers()
  expect([(await get(server, "/healthz")).status, await ready()]).toEqual([200, 200])
})

test("draining ends open streams with a request to connect again", async () => {
  const { server } = serve()
  const { id } = (await (await post(server, "/v1/workflows/ask/runs", { input: 1 })).json()) as { id: string }
  const stream = await get(server, `/v1/runs/${id}/events`)
  server.drain()
  expect(await stream.text()).toContain('event: end\ndata: {"reason":"reconnect"}')
  expect((await get(server, "/readyz")).status).toBe(503)
})

test("a request that waits for a run is answered without its result when the time is up or the server drains", async () => {
  const finish: ((text: string) => void)[] = []
  const slow = workflow("slow")
    .start(node("slow", () => new Promise<string>((resolve) => finish.push(resolve))))
    .build()
  const runtime = new Runtime({ store: memoryStore(), workflows: [slow] })
  open.push(runtime)
  const server = createServer({ runtime, workflows: [slow] })
  const start = (prefer: string) => post(server, "/v1/workflows/slow/runs", { input: 1 }, { prefer })
  const late = await start("wait=1")
  expect([late.status, late.headers.get("location")]).toEqual([202, expect.stringMatching(/^\/v1\/runs\//)])
  const waiting = start("wait=60")
  await expect.poll(() => finish.length).toBe(2)
  server.drain()
  expect((await waiting).status).toBe(202)
  for (const one of finish) one("done")
})

const people: Record<string, Principal> = {
  ada: { id: "ada", role: "operator", tenant: "a" },
  bob: { id: "bob", role: "operator", tenant: "b" },
  eve: { id: "eve", role: "viewer" },
}
const as = (name: string) => ({ authorization: name })

test("a principal sees what belongs to its tenant, and nothing else", async () => {
  const { server } = serve((request) => people[request.headers.get("authorization") ?? ""])
  const key = { "idempotency-key": "same" }
  const ofAda = await post(server, "/v1/workflows/ask/runs", { input: 1 }, { ...as("ada"), ...key })
  const ofBob = await post(server, "/v1/workflows/ask/runs", { input: 2 }, { ...as("bob"), ...key })
  const { id: ada } = (await ofAda.json()) as { id: string }
  const { id: bob } = (await ofBob.json()) as { id: string }
  expect(ada).not.toBe(bob)
  const idsOf = async (name: string, path: string, list: string) => {
    const page = (await (await get(server, path, as(name))).json()) as Record<
      string,
      { id: string; run?: string }[]
    >
    return page[list]?.map(({ id, run }) => run ?? id)
  }
  expect(await idsOf("ada", "/v1/runs", "runs")).toEqual([ada])
  expect(await idsOf("bob", "/v1/requests", "requests")).toEqual([bob])
  expect((await idsOf("eve", "/v1/runs", "runs"))?.sort()).toEqual([ada, bob].sort())
  for (const path of ["", "/events", "/result"]) {
    expect((await get(server, `/v1/runs/${bob}${path}`, as("ada"))).status).toBe(404)
  }
  const listed = (await (await get(server, "/v1/requests", as("bob"))).json()) as {
    requests: { id: string }[]
  }
  const answer = `/v1/runs/${bob}/requests/${listed.requests[0]?.id}/answer`
  expect((await post(server, answer, { value: "x" }, as("ada"))).status).toBe(404)
  expect((await post(server, `/v1/runs/${bob}/cancel`, {}, as("ada"))).status).toBe(404)
  expect((await post(server, answer, { value: "x" }, as("bob"))).status).toBe(200)
})

test("a route needs its role, and every request somebody who is known", async () => {
  const { server } = serve((request) => people[request.headers.get("authorization") ?? ""])
  expect((await post(server, "/v1/workflows/greet/runs", { input: "x" }, as("eve"))).status).toBe(403)
  expect((await get(server, "/v1/runs")).status).toBe(401)
  expect((await get(server, "/healthz")).status).toBe(200)
})

test("every route of the API says which role it needs", async () => {
  const { server } = serve()
  const { paths } = (await (await get(server, "/openapi.json")).json()) as {
    paths: Record<string, Record<string, { "x-role"?: string }>>
  }
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, route]) => [`${method} ${path}`, route["x-role"]] as const),
  )
  expect(routes.length).toBeGreaterThan(5)
  const isSigned = (route: string) => /^\w+ \/(hooks|links)\//.test(route)
  for (const [route, role] of routes) expect(isSigned(route) ? ["none"] : ROLES, route).toContain(role)
})

test("a server without authentication listens to this machine only", async () => {
  const { server } = serve()
  await expect(listen(server, { host: "0.0.0.0", port: 0 })).rejects.toMatchObject({ code: "OPTION_INVALID" })
  const listening = await listen(server, { port: 0 })
  expect((await fetch(`${listening.url}/healthz`)).status).toBe(200)
  await listening.close()
})

test("a server that closes does not wait for connections without a request", async () => {
  const { server } = serve()
  const listening = await listen(server, { port: 0 })
  const idle = connect(listening.port, "127.0.0.1")
  await new Promise((resolve) => idle.once("connect", resolve))
  expect((await fetch(`${listening.url}/healthz`)).status).toBe(200)
  const closed = new Promise((resolve) => idle.once("close", resolve))
  // With a grace that no test waits for.
  await listening.close({ grace: 1_000_000 })
  await closed
})

test("a body that is too large is refused, whether it says its size or not", async () => {
  const { server } = serve()
  const text = JSON.stringify({ input: "x".repeat(1_000_001) })
  const chunks = () => new Response(text).body
  const sent = [
    { body: text, headers: { "content-length": `${text.length}` } },
    { body: chunks(), headers: {}, duplex: "half" },
    { body: chunks(), headers: { "content-length": "1", "transfer-encoding": "chunked" }, duplex: "half" },
  ]
  for (const init of sent) {
    const request = new Request("http://local/v1/workflows/greet/runs", {
      method: "POST",
      ...init,
      headers: { "content-type": "application/json", ...init.headers },
    } as RequestInit)
    const response = await server.fetch(request)
    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ code: "BODY_TOO_LARGE" })
  }
})
