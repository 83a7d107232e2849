/** Batches, bulk actions and replays. */
import { memoryStore, node, Runtime, workflow } from "@superstep/engine"
import { afterEach, expect, test } from "vitest"
import { z } from "zod"
import type { Principal } from "./access.ts"
import { createServer, type Server } from "./server.ts"

let price = 2
const buy = workflow("buy")
  .chain(
    node({ id: "price", input: z.number(), run: (n: number) => n * price }),
    node("pay", (n: number) => {
      if (n > 100) throw new Error("too expensive")
      return n
    }),
  )
  .build()
const ask = workflow("ask")
  .start(node("ask", async (_: unknown, ctx) => await ctx.ask<string>("What?")))
  .build()

const open: Runtime[] = []
afterEach(async () => {
  price = 2
  for (const runtime of open.splice(0)) await runtime.close()
})

const people: Record<string, Principal> = {
  ada: { id: "ada", role: "author", tenant: "a" },
  bob: { id: "bob", role: "author", tenant: "b" },
}

function serve(): { server: Server; runtime: Runtime } {
  const runtime = new Runtime({ store: memoryStore(), workflows: [buy, ask] })
  open.push(runtime)
  const auth = (request: Request) => people[request.headers.get("authorization") ?? "ada"]
  return { server: createServer({ runtime, workflows: [buy, ask] as never, auth }), runtime }
}

interface Result {
  readonly id: string
  readonly outcome?: string
  readonly run: never
  readonly report: { readonly same: boolean }
  readonly problem?: { readonly code: string }
}

async function post(server: Server, path: string, body: unknown, who = "ada") {
  const headers = { "content-type": "application/json", authorization: who }
  const request = new Request(`http://local${path}`, { method: "POST", headers, body: JSON.stringify(body) })
  const response = await server.fetch(request)
  const data = (await response.json()) as {
    results: Result[]
    more: boolean
    next?: string
    same: boolean
    code: string
  }
  return { status: response.status, ...data }
}

/** Ids of new runs that have ended, or wait, oldest first. */
async function started(server: Server, runtime: Runtime, name: string, inputs: unknown[], who = "ada") {
  const runs = inputs.map((input) => ({ input }))
  const { results } = await post(server, `/v1/workflows/${name}/runs/batch`, { runs }, who)
  const ids = results.map(({ run }) => (run as { id: string }).id)
  for (const id of ids) await runtime.get(id).result
  return ids
}

test("a batch starts every run that it can, and says why not for the others", async () => {
  const { server, runtime } = serve()
  const { status, results } = await post(server, "/v1/workflows/buy/runs/batch", {
    runs: [{ input: 1, key: "k" }, { input: "x" }, { input: 1, key: "k" }, { input: 2, runId: "mine" }],
  })
  expect(status).toBe(200)
  expect(results.map(({ problem }) => problem?.code)).toEqual([
    undefined,
    "INPUT_INVALID",
    undefined,
    undefined,
  ])
  expect(results[3]).toMatchObject({ run: { id: "tenant:a:mine" } })
  expect(results[2]).toMatchObject({ run: { id: (results[0] as { run: { id: string } }).run.id } })
  expect(await runtime.runs()).toHaveLength(2)
  expect((await post(server, "/v1/workflows/none/runs/batch", { runs: [{ input: 1 }] })).status).toBe(404)
  expect((await post(server, "/v1/workflows/buy/runs/batch", { runs: [] })).status).toBe(422)
})

test("a dry run lists what an action would be for, and changes nothing", async () => {
  const { server, runtime } = serve()
  const [, failed] = await started(server, runtime, "buy", [1, 99])
  const dry = await post(server, "/v1/runs/bulk", {
    action: "retry",
    filter: { workflow: "buy" },
    dryRun: true,
  })
  expect(dry).toMatchObject({ status: 200, more: false, results: [{ id: failed, status: "failed" }] })
  expect(dry.results[0]).not.toHaveProperty("outcome")
  expect(await runtime.runs()).toHaveLength(2)
})

test("bulk actions page through the runs of a filter, with a result for each", async () => {
  const { server, runtime } = serve()
  const failed = await started(server, runtime, "buy", [90, 91, 92])
  price = 1
  const retry = { action: "retry", filter: { status: ["failed"] }, limit: 2 }
  const first = await post(server, "/v1/runs/bulk", retry)
  expect(first).toMatchObject({ more: true, next: failed[1] })
  const rest = await post(server, "/v1/runs/bulk", { ...retry, cursor: first.next })
  expect(rest).toMatchObject({ more: false, results: [{ id: failed[0], outcome: "created" }] })
  const made = [...first.results, ...rest.results].map(({ run }) => run as string)
  for (const id of made) expect(await runtime.store.run(id)).toMatchObject({ forkOf: { seq: 2 } })
  for (const id of made) await runtime.get(id).result
  const rerun = await post(server, "/v1/runs/bulk", {
    action: "rerun",
    filter: { workflow: "buy" },
    limit: 1,
  })
  expect((await runtime.get(rerun.results[0]?.run as never)).outputs).toEqual([90])

  let left = true
  while (left) {
    const gone = await post(server, "/v1/runs/bulk", {
      action: "delete",
      filter: { workflow: "buy" },
      limit: 3,
    })
    expect(gone.results.map(({ outcome }) => outcome)).toEqual(gone.results.map(() => "deleted"))
    left = gone.more
  }
  expect(await runtime.runs()).toEqual([])
})

test("a run that cannot be deleted has a problem, and those after it are still reached", async () => {
  const { server, runtime } = serve()
  const [old, origin] = (await started(server, runtime, "ask", [1, 2])) as [string, string]
  await runtime.fork(origin)
  for (const id of [old, origin]) await runtime.cancel(id)
  const remove = { action: "delete", filter: { workflow: "ask" }, limit: 1 }
  const first = await post(server, "/v1/runs/bulk", remove)
  expect(first).toMatchObject({
    more: true,
    next: origin,
    results: [{ id: origin, problem: { code: "RUN_KEPT" } }],
  })
  expect(await post(server, "/v1/runs/bulk", { ...remove, cursor: first.next })).toMatchObject({
    more: false,
    results: [{ id: old, outcome: "deleted" }],
  })
})

test("a bulk cancellation is for runs of the caller's tenant that have not ended", async () => {
  const { server, runtime } = serve()
  const [mine] = await started(server, runtime, "ask", [1])
  const [other] = await started(server, runtime, "ask", [1], "bob")
  const cancel = { action: "cancel", filter: { workflow: "ask" }, reason: "enough" }
  expect((await post(server, "/v1/runs/bulk", cancel)).results).toMatchObject([
    { id: mine, status: "waiting", outcome: "cancelled" },
  ])
  expect(await runtime.store.run(other as string)).toMatchObject({ status: "waiting" })
  expect(await post(server, "/v1/runs/bulk", { ...cancel, filter: {} })).toMatchObject({ status: 422 })
  const ended = { ...cancel, filter: { status: ["completed"] } }
  expect(await post(server, "/v1/runs/bulk", ended)).toMatchObject({ status: 422, code: "OPTION_INVALID" })
})

test("recorded runs are replayed against the workflow as it is now", async () => {
  const { server, runtime } = serve()
  const ids = await started(server, runtime, "buy", [1, 2])
  const [foreign] = await started(server, runtime, "buy", [3], "bob")
  expect(await post(server, "/v1/replay", { definition: "buy", last: 1 })).toMatchObject({
    status: 200,
    same: true,
    more: true,
    results: [{ run: ids[1], report: { same: true } }],
  })
  price = 3
  const changed = await post(server, "/v1/replay", { definition: "buy", runs: [ids[0], foreign] })
  expect(changed).toMatchObject({
    same: false,
    more: false,
    results: [
      { run: ids[0], report: { same: false, outputs: { before: [2], after: [3] } } },
      { run: foreign, problem: { code: "RUN_UNKNOWN" } },
    ],
  })
  expect((await post(server, "/v1/replay", { definition: "none", last: 1 })).status).toBe(404)
  expect((await post(server, "/v1/replay", { definition: "buy" })).status).toBe(422)
})

test("runs are listed and acted on by when they were created", async () => {
  const { server, runtime } = serve()
  const ids = await started(server, runtime, "buy", [1, 2])
  const list = async (query: string) => {
    const headers = { authorization: "ada" }
    const response = await server.fetch(new Request(`http://local/v1/runs?${query}`, { headers }))
    const { runs = [] } = (await response.json()) as { runs?: { id: string; createdAt: number }[] }
    return { status: response.status, runs }
  }
  const { runs } = await list("")
  const times = runs.map(({ createdAt }) => createdAt)
  const [first, last] = [Math.min(...times), Math.max(...times)]
  expect((await list(`since=${first}&until=${last + 1}`)).runs).toHaveLength(ids.length)
  expect((await list(`since=${last + 1}`)).runs).toEqual([])
  expect((await list(`until=${first}`)).runs).toEqual([])
  expect((await list("since=yesterday")).status).toBe(422)
  const dry = async (filter: object) =>
    (await post(server, "/v1/runs/bulk", { action: "delete", filter, dryRun: true })).results.length
  expect([await dry({ since: first }), await dry({ since: last + 1 }), await dry({ until: first })]).toEqual([
    2, 0, 0,
  ])
})
