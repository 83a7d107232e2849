import { memoryStore, node, Runtime, workflow } from "@superstep/engine"
import { expect, onTestFinished, test } from "vitest"
import { apiKeys, createKey } from "./auth/api-keys.ts"
import { createServer, type Server, type ServerOptions } from "./server.ts"
import type { StudioFiles } from "./studio.ts"

const text = (body: string) => new TextEncoder().encode(body)
const studio: StudioFiles = {
  page: '<!doctype html><base href="/studio/" /><script type="module" src="./assets/a-1.js"></script>',
  files: new Map([
    ["assets/a-1.js", { body: text("1"), type: "text/javascript; charset=utf-8", isImmutable: true }],
    ["icon.svg", { body: text("<svg/>"), type: "image/svg+xml", isImmutable: false }],
  ]),
}
const double = node("double", (n: number) => n * 2)
const twice = workflow("twice").start(double).build()
const caller = workflow("caller")
  .start(node("call", async (n: number, ctx) => await ctx.call(twice, n)))
  .build()

function serverWith(
  options: Partial<ServerOptions> = {},
  store = memoryStore(),
): Server & { store: typeof store } {
  const workflows = [twice, caller]
  const runtime = new Runtime({ store, workflows })
  onTestFinished(() => runtime.close())
  return { ...createServer({ runtime, workflows, studio, ...options }), store }
}

const get = (server: Server, path: string, headers: Record<string, string> = {}) =>
  server.fetch(new Request(`http://localhost${path}`, { headers }))

test("every address of the studio is its page, with a policy for files of this origin only", async () => {
  const server = serverWith()
  for (const path of ["/studio/", "/studio/runs/storks-1?at=3"]) {
    const response = await get(server, path)
    expect(await response.text()).toBe(studio.page)
    expect(response.headers.get("content-type")).toBe("text/html; charset=UTF-8")
    expect(response.headers.get("cache-control")).toBe("no-cache")
    const policy = response.headers.get("content-security-policy") ?? ""
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
    expect(policy).not.toContain("unsafe")
  }
  expect((await get(server, "/")).headers.get("location")).toBe("/studio/")
})

test("files with a hash are kept forever, others are checked, and files of an older version are missing", async () => {
  const server = serverWith()
  const asset = await get(server, "/studio/assets/a-1.js")
  expect([await asset.text(), asset.headers.get("cache-control")]).toEqual([
    "1",
    "public, max-age=31536000, immutable",
  ])
  expect((await get(server, "/studio/icon.svg")).headers.get("cache-control")).toBe("no-cache")
  expect((await get(server, "/studio/assets/a-0.js")).status).toBe(404)
})

test("the page knows where the server is mounted", async () => {
  const server = serverWith({ basePath: "/api" })
  expect(await (await get(server, "/api/studio/runs")).text()).toContain('<base href="/api/studio/"')
  expect((await get(server, "/api/")).headers.get("location")).toBe("/api/studio/")
})

test("the files need no key, and everything that they show does", async () => {
  const store = memoryStore()
  const server = serverWith({ auth: apiKeys(store) }, store)
  expect((await get(server, "/studio/")).status).toBe(200)
  expect((await get(server, "/v1/me")).status).toBe(401)
  const { id, secret } = await createKey(store, { name: "ci", role: "viewer" }, "test")
  const me = await get(server, "/v1/me", { authorization: `Bearer ${secret}` })
  expect(await me.json()).toMatchObject({
    role: "viewer",
    authenticated: true,
    id: expect.stringContaining(id),
  })
})

test("without a studio there is none", async () => {
  expect((await get(serverWith({ studio: undefined }), "/studio/")).status).toBe(404)
})

test("graphs of workflows and of runs are data, with those of called workflows", async () => {
  const server = serverWith()
  expect(await (await get(server, "/v1/workflows/twice/graph")).json()).toMatchObject({
    graph: { name: "twice", nodes: [{ id: "double", kind: "node" }] },
  })
  expect((await get(server, "/v1/workflows/none/graph")).status).toBe(404)
  const headers = { "content-type": "application/json" }
  const body = JSON.stringify({ input: 2, runId: "r" })
  await server.fetch(
    new Request("http://localhost/v1/workflows/caller/runs", { method: "POST", headers, body }),
  )
  expect(await (await get(server, "/v1/runs/r/graph")).json()).toMatchObject({
    graph: { name: "caller" },
    called: { twice: { name: "twice" } },
  })
})
