/** What a client that means harm sends: values that break parsers, ids of others, labels of the server. */
import { node, workflow } from "@superstep/engine"
import { expect, test } from "vitest"
import { served } from "./serve.test-support.ts"

const echo = workflow("echo")
  .start(node("echo", (value: unknown) => value))
  .build()
const ask = workflow("ask")
  .start(node("ask", (_: string, ctx) => ctx.ask("Really?")))
  .build()

async function attacked() {
  const problems: unknown[] = []
  const onProblem = (error: unknown) => problems.push(error)
  const { ask: send, key, store, server } = served({ workflows: [echo, ask] as never, onProblem })
  const keys = { a: await key({ tenant: "a" }), b: await key({ tenant: "b" }) }
  /** The status, and the body without the id that was sent. */
  const get = async (path: string, sent: string, tenant: keyof typeof keys = "b") => {
    const response = await send("GET", path + encodeURIComponent(sent), { key: keys[tenant] })
    return [
      response.status,
      (await response.text()).replaceAll(decodeURIComponent(sent).split("/")[0] ?? "", ""),
    ]
  }
  const post = async (path: string, body: unknown, tenant: keyof typeof keys = "a") => {
    const response = await send("POST", path, { key: keys[tenant], body })
    return { status: response.status, data: (await response.json()) as Record<string, unknown> }
  }
  const raw = async (path: string, body: string) => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${keys.a}` }
    return (await server.fetch(new Request(`http://local${path}`, { method: "POST", headers, body }))).status
  }
  return { send, keys, store, get, post, raw, problems }
}

test("a cursor that is another tenant's answers as one that nobody has", async () => {
  const { get, post } = await attacked()
  await post("/v1/workflows/ask/runs", { input: "x", runId: "order-7" })
  for (const runId of ["b1", "b2"]) await post("/v1/workflows/ask/runs", { input: "x", runId }, "b")
  const theirs = await get("/v1/requests?cursor=", "tenant%3Aa%3Aorder-7/r1")
  expect(theirs).toEqual(await get("/v1/requests?cursor=", "tenant%3Aa%3Aorder-8/r1"))
  expect(theirs[0]).toBe(422)
  const page = await get("/v1/requests?limit=1&cursor=", "tenant%3Ab%3Ab1/r1")
  expect(page).toEqual([200, expect.stringContaining('"run":"tenant:b:b2"')])

  const { data: hook } = await post("/v1/webhooks", { url: "https://example.com", events: ["run.ended"] })
  const { data: own } = await post("/v1/webhooks", { url: "https://example.com", events: ["run.ended"] }, "b")
  const { data: delivery } = await post(`/v1/webhooks/${hook.id}/ping`, {})
  const { data: ping } = await post(`/v1/webhooks/${own.id}/ping`, {}, "b")
  const deliveries = `/v1/webhooks/${own.id}/deliveries?cursor=`
  expect(await get(deliveries, String(delivery.id))).toEqual(await get(deliveries, "webhook-none"))
  expect(await get(deliveries, String(ping.id))).toEqual([200, '{"deliveries":[]}'])
})

test.each(["%zz/r1", "%E0%A4%A/r1", "%00/r1", "x/"])("the cursor %j is refused", async (cursor) => {
  const { send, keys, problems } = await attacked()
  const response = await send("GET", `/v1/requests?cursor=${encodeURIComponent(cursor)}`, { key: keys.a })
  expect([response.status, problems]).toEqual([422, []])
})

test("values that are nested too deeply, and names that no address can have, are refused and leave nothing", async () => {
  const { raw, post, store, problems } = await attacked()
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`
  await post("/v1/workflows/ask/runs", { input: "x", runId: "order-7" })
  const run = "/v1/runs/tenant%3Aa%3Aorder-7"
  for (const [path, body] of [
    ["/v1/workflows/echo/runs", `{"input":${deep}}`],
    ["/v1/workflows/echo/runs", '{"input":{"__proto__":{"polluted":1}}}'],
    ["/v1/workflows/echo/runs", '{"input":1,"runId":"\\ud800"}'],
    [`${run}/requests/r1/answer`, `{"value":${deep}}`],
    [`${run}/signal`, `{"name":"paid","value":${deep}}`],
  ] as const) {
    expect([await raw(path, body), path]).toEqual([422, path])
  }
  expect(problems).toEqual([])
  expect((await store.runs({})).map(({ runId }) => runId)).toEqual(["tenant:a:order-7"])
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
})

test("labels that are the server's own are refused, also where protocols take them", async () => {
  const { post } = await attacked()
  for (const name of [
    "superstep.tenant",
    "superstep.key",
    "superstep.version",
    "superstep.chat",
    "superstep.webhook",
  ]) {
    const labels = { [name]: "tenant:b:chat" }
    expect((await post("/v1/workflows/echo/runs", { input: 1, labels })).status, name).toBe(422)
    const metadata = await post("/v1/responses", { model: "echo", input: "x", metadata: labels })
    expect(metadata.status, name).toBe(422)
  }
})
