/** The API by its fetch handler: what a client sends, and what it gets. */
import { memoryStore, node, Runtime, workflow } from "@superstep/engine"
import { afterEach, expect, test } from "vitest"
import { createServer, type Server } from "./server.ts"

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

function serve(): { server: Server; runtime: Runtime } {
  const runtime = new Runtime({ store: memoryStore(), workflows: [greet, ask] })
  open.push(runtime)
  return { server: createServer({ runtime, workflows: [greet, ask] as never, heartbeat: 5 }), runtime }
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

test("draining ends open streams with a request to connect again", async () => {
  const { server } = serve()
  const { id } = (await (await post(server, "/v1/workflows/ask/runs", { input: 1 })).json()) as { id: string }
  const stream = await get(server, `/v1/runs/${id}/events`)
  server.drain()
  expect(await stream.text()).toContain('event: end\ndata: {"reason":"reconnect"}')
  expect((await get(server, "/readyz")).status).toBe(503)
})
