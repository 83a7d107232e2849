/** What a client reads of the past of runs. */
import { append, channel, memoryStore, node, pastEvents, Runtime, replay, workflow } from "@superstep/engine"
import { emptyView, foldEvents, type OutlineData, RunOutline, withoutEnded } from "@superstep/engine/protocol"
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

test("a channel is traced to its task, and the ledger has what a fork would do again", async () => {
  const { server, id } = await serve()
  expect((await get(server, `/v1/runs/${id}/provenance?channel=log`)).body).toMatchObject({
    run: id,
    value: ["packed lamp"],
    sources: [
      { seq: 1, kind: "start", value: [] },
      { seq: 2, kind: "task", value: ["packed lamp"], task: { node: "pack", input: "lamp", from: [] } },
    ],
  })
  const inner = await get(server, `/v1/runs/${id}/provenance?output=0&path=wash%232`)
  expect(inner.body).toMatchObject({ value: "lamp, rinsed", sources: [{ task: { node: "rinse" } }] })
  for (const query of ["?channel=lost", "?output=0", ""]) {
    expect((await get(server, `/v1/runs/${id}/provenance${query}`)).status, query).toBe(422)
  }
  expect((await get(server, `/v1/runs/${id}/ledger?at=0`)).body).toMatchObject({
    run: id,
    seq: 1,
    effects: [],
  })
  expect((await get(server, `/v1/runs/${id}/ledger`)).status).toBe(422)
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
    `runs/${id}/provenance?channel=log`,
    `runs/${id}/ledger?at=0`,
  ]
  for (const path of [...paths, `compare?a=${id}&b=${id}`]) {
    expect((await get(server, `/v1/${path}`, { authorization: "bob" })).status, path).toBe(404)
  }
})

test("a run is read around a point: its view and outline there, and its events in pages", async () => {
  const { server, runtime, id } = await serve()
  const all = await pastEvents(runtime.store, id)
  const view = async (query: string) => (await get(server, `/v1/runs/${id}/view${query}`)).body as never
  for (let at = 0; at <= all.length; at++) {
    const expected = withoutEnded(foldEvents(emptyView(), all.slice(0, at)))
    expect(await view(`?at=${at}`), `at ${at}`).toEqual(
      JSON.parse(JSON.stringify({ length: all.length, view: expected })),
    )
  }
  const { outline } = (await view("?outline=true")) as { outline: OutlineData }
  expect(RunOutline.from(outline).tasks.map(({ node }) => node)).toEqual(["pack", "wash", "rinse", "ship"])

  const page = async (query: string) =>
    (await get(server, `/v1/runs/${id}/events/page${query}`)).body as unknown as {
      events: { seq: number; type: string }[]
      more: boolean
      length: number
    }
  const seqs = async (query: string) => (await page(query)).events.map(({ seq }) => seq)
  expect(await seqs("?after=2&limit=3")).toEqual([3, 4, 5])
  expect(await seqs("?before=6&limit=2")).toEqual([4, 5])
  expect(await page("")).toEqual(JSON.parse(JSON.stringify({ events: all, length: all.length, more: false })))
  expect(await page("?limit=2")).toMatchObject({ more: true })
  const rinse = await page(`?task=1&path=${encodeURIComponent("wash#2")}`)
  const washed = await page("?types=task.started&text=LAMP, rinsed")
  expect(rinse.events.map(({ type }) => type)).toEqual(["task.started", "task.finished", "output"])
  expect(washed.events).toHaveLength(1)

  const usage = async () => (await get(server, `/v1/usage/runs?run=${id}&run=none`)).body
  expect(await usage()).toEqual({ runs: [{ run: id, tokens: 3, nodes: ["ship"] }] })

  // The run continues, and what was read before is continued too.
  await runtime.signal(id, "shipped", "today")
  await runtime.get(id).result
  expect(await view("")).toMatchObject({ view: { status: "completed", outputs: ["lamp, rinsed today"] } })
  expect(await usage()).toEqual({ runs: [{ run: id, tokens: 3, nodes: [] }] })
})
