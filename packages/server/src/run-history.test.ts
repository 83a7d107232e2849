/** What a client reads of the past of runs. */
import { append, channel, memoryStore, node, Runtime, replay, workflow } from "@superstep/engine"
import { afterEach, expect, test } from "vitest"
import type { Principal } from "./access.ts"
import { createServer, type Server } from "./server.ts"

const log = channel("log", append<string>())
const wash = workflow("wash")
  .start(node("rinse", (item: string) => `${item}, rinsed`))
  .build()
const parcel = workflow("parcel", { state: [log] })
  .chain(
    node("pack", async (item: string, ctx) => {
      ctx.state.write(log, [`packed ${item}`])
      ctx.use({ inputTokens: 3 })
      return item
    }),
    node("wash", async (item: string, ctx) => (await ctx.call(wash, item))[0] as string),
    node("ship", async (item: string, ctx) => `${item} ${await ctx.waitFor<string>("shipped")}`),
  )
  .build()

const open: Runtime[] = []
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close()
})

const people: Record<string, Principal> = {
  ada: { id: "ada", role: "author", tenant: "a" },
  bob: { id: "bob", role: "author", tenant: "b" },
}

async function serve() {
  const runtime = new Runtime({ store: memoryStore(), workflows: [parcel, wash] })
  open.push(runtime)
  const server = createServer({
    runtime,
    workflows: [parcel, wash] as never,
    auth: (request) => people[request.headers.get("authorization") ?? "ada"],
  })
  const lamp = runtime.start(parcel, "lamp", { labels: { "superstep.tenant": "a", shop: "1" } })
  await lamp.result
  return { runtime, server, id: lamp.id }
}

async function get(server: Server, path: string, headers: Record<string, string> = {}) {
  const response = await server.fetch(new Request(`http://local${path}`, { headers }))
  return { status: response.status, headers: response.headers, body: (await response.json()) as never }
}

test("the state of a run is read now, at a superstep, at a record, and in a sub-workflow", async () => {
  const { server, id } = await serve()
  const state = async (query: string) => (await get(server, `/v1/runs/${id}/state${query}`)).body
  expect(await state("")).toMatchObject({
    status: "waiting",
    superstep: 3,
    state: { log: ["packed lamp"] },
    waits: [{ name: "shipped" }],
    signals: [],
  })
  expect(await state("?at=0")).toMatchObject({ superstep: 1, state: { log: [] }, tasks: [{ node: "pack" }] })
  expect(await state("?at=seq:1")).toMatchObject({ seq: 1, state: { log: [] } })
  expect(await state("?path=wash%232")).toMatchObject({ outputs: ["lamp, rinsed"] })
  for (const query of ["?at=9", "?at=seq:999", "?at=end", "?path=none%231"]) {
    expect(await state(query)).toMatchObject({ status: 422 })
  }
})

test("a diff has the channels that changed, and the tasks in between", async () => {
  const { server, id } = await serve()
  expect((await get(server, `/v1/runs/${id}/diff?from=0&to=1`)).body).toMatchObject({
    from: { seq: 1 },
    changes: [{ key: "log", before: [], after: ["packed lamp"] }],
    finished: [{ node: "pack" }],
  })
  expect((await get(server, `/v1/runs/${id}/diff?from=0`)).status).toBe(422)
})

test("cost is by node, and a fixture replays without the server's labels", async () => {
  const { server, id } = await serve()
  expect((await get(server, `/v1/runs/${id}/cost`)).body).toMatchObject({
    usage: { inputTokens: 3 },
    byNode: { pack: { inputTokens: 3 } },
    byModel: {},
    byAgent: {},
  })
  const { headers, body } = await get(server, `/v1/runs/${id}/export`)
  expect(headers.get("content-disposition")).toBe(`attachment; filename="${id}.json"`)
  expect(body).toMatchObject({ runId: id, labels: { shop: "1" } })
  expect(JSON.stringify(body)).not.toContain("superstep.tenant")
  expect(await replay(body, parcel)).toMatchObject({ same: true, runId: id })
})

test("a route is explained, edge by edge", async () => {
  const { server, id } = await serve()
  expect((await get(server, `/v1/runs/${id}/why?task=1`)).body).toEqual({
    run: id,
    task: 1,
    node: "pack",
    seq: 2,
    messages: [
      {
        value: "lamp",
        isOutput: false,
        edges: [{ kind: "single", to: "wash", taken: true, reason: "it has no condition" }],
      },
    ],
  })
  expect((await get(server, `/v1/runs/${id}/why?task=9`)).body).toMatchObject({ code: "TASK_UNKNOWN" })
})

test("two runs are compared, part by part", async () => {
  const { runtime, server, id } = await serve()
  const chair = runtime.start(parcel, "chair", { labels: { "superstep.tenant": "a" } })
  await chair.result
  const { body } = await get(server, `/v1/compare?a=${id}&b=${chair.id}`)
  expect(body).toMatchObject({ a: id, b: chair.id, same: false })
  const { differences } = body as { differences: { what: string; a: unknown; b: unknown }[] }
  expect(differences[0]).toEqual({ what: "input", a: "lamp", b: "chair" })
  expect(differences).toContainEqual({ what: "state.log", a: ["packed lamp"], b: ["packed chair"] })
  expect((await get(server, `/v1/compare?a=${id}&b=${id}`)).body).toMatchObject({
    same: true,
    differences: [],
  })
})

test("the past of a run belongs to its tenant", async () => {
  const { server, id } = await serve()
  const paths = [
    `runs/${id}/state`,
    `runs/${id}/diff?from=0&to=1`,
    `runs/${id}/cost`,
    `runs/${id}/export`,
    `runs/${id}/why?task=1`,
  ]
  for (const path of [...paths, `compare?a=${id}&b=${id}`]) {
    expect((await get(server, `/v1/${path}`, { authorization: "bob" })).status, path).toBe(404)
  }
})
