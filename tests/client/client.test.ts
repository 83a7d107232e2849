/** The client against a real server on a real port. */
import { ApiError, type ClientOptions, createClient } from "@superstep/client"
import { type RunView, watch } from "@superstep/client/watch"
import { createServer, listen } from "@superstep/server"
import { memoryStore, node, Runtime, workflow } from "superstep"
import { expect, onTestFinished, test } from "vitest"
import { all } from "./all.test-support.ts"

const greet = workflow("greet")
  .start(node("greet", (name: string) => `Hello ${name}`))
  .build()
const ask = workflow("ask")
  .start(node("ask", async (_: unknown, ctx) => `You said ${await ctx.ask<string>("What?")}`))
  .build()

const wait = workflow("wait")
  .start(node("wait", async (_: unknown, ctx) => `Got ${await ctx.waitFor("go")}`))
  .build()

async function connect(options: Partial<ClientOptions> = {}) {
  const runtime = new Runtime({ store: memoryStore(), workflows: [greet, ask, wait] })
  const listening = await listen(createServer({ runtime, workflows: [greet, ask, wait] as never }), {
    port: 0,
  })
  onTestFinished(async () => {
    await listening.close({ grace: 0 })
    await runtime.close()
  })
  return createClient({ url: listening.url, retry: { delay: 1, maxDelay: 1 }, ...options })
}

test("a run is started, awaited, shown, listed and deleted", async () => {
  const client = await connect()
  expect((await client.workflows()).map(({ name }) => name)).toEqual(["greet", "ask", "wait"])
  const result = await client.run("greet", "Ada", { labels: { team: "a" } })
  expect(result).toMatchObject({ status: "completed", outputs: ["Hello Ada"] })
  const run = await client.start("greet", "Bob")
  expect((await run.result()).outputs).toEqual(["Hello Bob"])
  expect(await run.show()).toMatchObject({ id: run.id, workflow: "greet", status: "completed" })
  const listed = await all(client.list({ labels: { team: "a" }, status: ["completed", "failed"] }))
  expect(listed.map(({ id }) => id)).toEqual([result.id])
  await run.remove()
  await expect(run.show()).rejects.toMatchObject({ code: "RUN_UNKNOWN", status: 404 })
})

test("lists continue over pages", async () => {
  const client = await connect()
  for (let i = 0; i < 101; i++) await client.start("greet", `${i}`)
  expect(await all(client.list())).toHaveLength(101)
})

test("a question is listed and answered, and the answer is awaited", async () => {
  const client = await connect()
  const { id, status } = await client.run("ask", null)
  expect(status).toBe("waiting")
  const [question] = await all(client.requests({ run: id }))
  const run = client.get(id)
  const last = all(watch(run))
  expect(await run.respond(question?.id as string, "yes")).toBe("taken")
  const view = (await last).at(-1) as RunView
  expect(view).toMatchObject({ status: "completed", outputs: ["You said yes"] })
  expect((await run.result()).outputs).toEqual(["You said yes"])
  const twice = await run.respond(question?.id as string, "no").catch((error: unknown) => error)
  expect(twice).toBeInstanceOf(ApiError)
  expect(twice).toMatchObject({ status: 409, attempts: 1 })
})

test("a run is cancelled", async () => {
  const client = await connect()
  const { id } = await client.run("ask", null)
  expect(await client.get(id).cancel("enough")).toMatchObject({ status: "cancelled" })
  await expect(client.get(id).cancel()).rejects.toMatchObject({ code: "RUN_OVER", run: id })
})

test("a run is paused and resumed", async () => {
  const client = await connect()
  const { id } = await client.run("ask", null)
  expect(await client.get(id).pause("lunch")).toMatchObject({ status: "paused" })
  expect((await client.get(id).result()).status).toBe("paused")
  expect(await client.get(id).resume()).toMatchObject({ id })
  expect((await client.get(id).result()).status).toBe("waiting")
})

test("a start whose response is lost is sent again, and joins its run", async () => {
  let lost = 0
  const client = await connect({
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      if (init.method !== "POST" || ++lost > 2) return response
      throw new TypeError("fetch failed")
    },
  })
  expect((await client.run("greet", "Ada")).outputs).toEqual(["Hello Ada"])
  expect(lost).toBe(3)
  expect(await all(client.list())).toHaveLength(1)
})

test("a server that is busy is asked again, a request that is wrong is not", async () => {
  let sent = 0
  const busy = new Response(JSON.stringify({ code: "STORE_AWAY", detail: "Later." }), {
    status: 503,
    headers: { "retry-after": "0" },
  })
  const client = await connect({
    fetch: async (url, init) => (++sent <= 2 ? busy.clone() : await fetch(url, init)),
  })
  await client.workflows()
  expect(sent).toBe(3)
  await expect(client.request("GET /v1/runs", { query: { status: "done" } })).rejects.toMatchObject({
    code: "REQUEST_INVALID",
    problems: [{ in: "query.status" }],
  })
  expect(sent).toBe(4)
  const always = createClient({
    url: "http://localhost",
    retry: { attempts: 3, delay: 1 },
    fetch: async () => busy.clone(),
  })
  await expect(always.workflows()).rejects.toMatchObject({ code: "STORE_AWAY", attempts: 3 })
})

test("each request has the key", async () => {
  const sent: unknown[] = []
  const client = await connect({
    key: async () => "secret",
    fetch: async (url, init) => {
      sent.push(new Headers(init.headers).get("authorization"))
      return await fetch(url, init)
    },
  })
  await client.workflows()
  expect(sent).toEqual(["Bearer secret"])
})

test("a run is signalled, run again and forked", async () => {
  const client = await connect()
  const run = await client.start("wait", null)
  await run.result()
  expect(await run.signal("go", "it")).toBe("taken")
  for await (const event of run.events()) if (event.type === "output") expect(event.value).toBe("Got it")
  const greeting = client.get((await client.run("greet", "Ada")).id)
  expect((await (await greeting.rerun()).result()).outputs).toEqual(["Hello Ada"])
  expect((await (await greeting.fork()).show()).forkOf?.run).toBe(greeting.id)
  await expect(greeting.retry()).rejects.toBeInstanceOf(ApiError)
})
