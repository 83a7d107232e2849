/** Questions that are passed on, and links that answer one without a login. */
import { memoryStore, node, Runtime, type Store, workflow } from "@superstep/engine"
import { expect, onTestFinished, test, vi } from "vitest"
import { z } from "zod"
import { createServer } from "../server.ts"

const approve = workflow("approve")
  .start(
    node("approve", (amount: number, ctx) =>
      ctx.ask({
        prompt: `Pay <b>$${amount}</b>?`,
        data: { amount, note: "<script>alert(1)</script>" },
        schema: z.enum(["yes", "no"]),
      }),
    ),
  )
  .build()
const details = workflow("details")
  .start(
    node("details", (_: number, ctx) =>
      ctx.ask({
        prompt: "Who?",
        schema: z.object({ name: z.string(), age: z.int(), vip: z.boolean(), note: z.string().optional() }),
      }),
    ),
  )
  .build()
const free = workflow("free")
  .start(node("free", (_: number, ctx) => ctx.ask<string>("What?")))
  .build()
const nested = workflow("nested")
  .start(node("nested", (_: number, ctx) => ctx.ask({ prompt: "?", schema: z.array(z.array(z.string())) })))
  .build()
const all = [approve, details, free, nested]

function serve(store: Store = memoryStore()) {
  const runtime = new Runtime({ store, workflows: all })
  onTestFinished(() => runtime.close())
  const server = createServer({ runtime, workflows: all as never })
  onTestFinished(() => server.drain())
  const fetch = (method: string, url: string, body?: string, type?: string) =>
    server.fetch(
      new Request(new URL(url, "http://local"), {
        method,
        ...(body !== undefined && { body, headers: { "content-type": type ?? "application/json" } }),
      }),
    )
  const send = (url: string, form: Record<string, string>) =>
    fetch("POST", url, new URLSearchParams(form).toString(), "application/x-www-form-urlencoded")
  return {
    runtime,
    fetch,
    send,
    async asked(name: string, options: object = {}, runId = name) {
      const flow = all.find((one) => one.name === name) as typeof approve
      await runtime.start(flow, 7, { runId })
      const body = JSON.stringify(options)
      const response = await fetch("POST", `/v1/runs/${runId}/requests/r1/links`, body)
      // biome-ignore lint/suspicious/noExplicitAny: each test knows what it asked for.
      return { status: response.status, data: (await response.json()) as any }
    },
    outputs: async (runId: string) => (await runtime.get(runId).result).outputs,
  }
}

test("a link shows the question with a button for each choice, and the button answers it", async () => {
  const { asked, fetch, send, outputs, runtime } = serve()
  const { status, data } = await asked("approve", { by: "ada@example.com" })
  expect(status).toBe(201)
  const page = await fetch("GET", data.url)
  const html = await page.text()
  expect(html).toContain("Pay &lt;b&gt;$7&lt;/b&gt;?")
  expect(html).not.toContain("<script")
  expect(html.match(/<button/g)).toHaveLength(2)
  expect(page.headers.get("content-security-policy")).toMatch(/default-src 'none'.*form-action 'self'/)
  expect(page.headers.get("referrer-policy")).toBe("no-referrer")
  const done = await send(data.url, { choice: "0" })
  expect(done.status).toBe(200)
  expect(await done.text()).toContain("Your answer is recorded")
  expect(await outputs("approve")).toEqual(["yes"])
  const [answered] = await runtime.requests({ runId: "approve", outcome: ["answered"] })
  expect(answered?.by).toBe("ada@example.com")
})

test("reading a link answers nothing, however often programs look at it", async () => {
  const { asked, fetch, runtime } = serve()
  const { data } = await asked("approve", { values: ["yes"] })
  for (const method of ["GET", "HEAD", "GET"]) expect((await fetch(method, data.url)).status).toBe(200)
  expect((await fetch("GET", `${data.url}?choice=0`)).status).toBe(200)
  expect(await runtime.requests()).toHaveLength(1)
})

test("a link that is used twice at the same time answers once", async () => {
  const { asked, send, outputs } = serve()
  const { data } = await asked("approve")
  const answers = await Promise.all(["0", "1", "0", "1"].map((choice) => send(data.url, { choice })))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409])
  expect(await outputs("approve")).toHaveLength(1)
  expect((await send(data.url, { choice: "0" })).status).toBe(409)
})

test("a link that is changed, expired or revoked answers nothing", async () => {
  const { asked, fetch, send, runtime } = serve()
  const { data } = await asked("approve", { expires: 60 })
  const forged = data.url.replace(/.$/, data.url.endsWith("A") ? "B" : "A")
  expect((await send(forged, { choice: "0" })).status).toBe(404)
  const later = data.url.replace(/\.([0-9a-z]+)\./, ".zzzzzzzz.")
  expect((await send(later, { choice: "0" })).status).toBe(404)
  vi.useFakeTimers({ now: Date.now() + 61_000, toFake: ["Date"] })
  onTestFinished(() => void vi.useRealTimers())
  expect((await send(data.url, { choice: "0" })).status).toBe(410)
  vi.useRealTimers()
  const path = `/v1/runs/approve/requests/r1/links`
  expect((await fetch("DELETE", `${path}/${data.id}`)).status).toBe(204)
  expect((await send(data.url, { choice: "0" })).status).toBe(404)
  const { links } = (await (await fetch("GET", path)).json()) as { links: object[] }
  expect(links).toMatchObject([{ id: data.id, revokedAt: expect.any(Number) }])
  expect(JSON.stringify(links)).not.toContain(data.url.split(".").at(-1))
  expect(await runtime.requests()).toHaveLength(1)
})

test("a link offers only the values that it was created with, which the question must allow", async () => {
  const { asked, fetch, send, runtime } = serve()
  expect((await asked("approve", { values: ["maybe"] })).status).toBe(422)
  const { data } = await asked("approve", { values: ["no"] })
  expect((await (await fetch("GET", data.url)).text()).match(/<button/g)).toHaveLength(1)
  expect((await send(data.url, { choice: "1" })).status).toBe(422)
  expect(await runtime.requests()).toHaveLength(1)
})

test("simple types are a form; what does not fit is refused and can be corrected", async () => {
  const { asked, fetch, send, outputs } = serve()
  const { data } = await asked("details")
  const html = await (await fetch("GET", data.url)).text()
  expect(html).toMatch(/<textarea[^>]*name="value\.name"/)
  expect(html).toMatch(/<input type="number" step="1" name="value\.age" required>/)
  const wrong = await send(data.url, { "value.name": "Ada", "value.age": "many" })
  expect(wrong.status).toBe(422)
  expect(await wrong.text()).toContain("not valid")
  expect((await send(data.url, { "value.name": "Ada", "value.age": "36", "value.vip": "on" })).status).toBe(
    200,
  )
  expect(await outputs("details")).toEqual([{ name: "Ada", age: 36, vip: true }])
})

test("a question without a schema takes text, and one without a simple form needs values", async () => {
  const { asked, send, outputs } = serve()
  const { data } = await asked("free")
  expect((await send(data.url, { value: "a lamp" })).status).toBe(200)
  expect(await outputs("free")).toEqual(["a lamp"])
  expect(await asked("nested")).toMatchObject({ status: 422, data: { code: "OPTION_INVALID" } })
  expect((await asked("nested", { values: [[["a"]], []] })).status).toBe(201)
})

test("a link works on another server of the store, after the first one is closed", async () => {
  const store = memoryStore()
  const first = serve(store)
  const { data } = await first.asked("approve")
  await first.runtime.close()
  const second = serve(store)
  expect((await second.fetch("GET", data.url)).status).toBe(200)
  expect((await second.send(data.url, { choice: "1" })).status).toBe(200)
  expect(await second.outputs("approve")).toEqual(["no"])
})

test("a question is passed on: the inbox, the events and the history say to whom, by whom, and why", async () => {
  const { asked, fetch, runtime } = serve()
  const { data } = await asked("approve")
  const opened: (string | undefined)[] = []
  await runtime.on("request.opened", { consumer: "c" }, ({ to }) => void opened.push(to))
  const body = JSON.stringify({ to: "finance", note: "Too much for me." })
  const passed = await fetch("POST", "/v1/runs/approve/requests/r1/escalate", body)
  expect(await passed.json()).toEqual({ delivery: "taken" })
  const list = async (to: string) =>
    ((await (await fetch("GET", `/v1/requests?to=${to}`)).json()) as { requests: object[] }).requests
  expect(await list("finance")).toMatchObject([
    { id: "r1", outcome: "open", request: { to: "finance", note: "Too much for me.", escalatedBy: "owner" } },
  ])
  await expect.poll(() => opened).toEqual(["finance"])
  expect(await (await fetch("GET", data.url)).text()).toContain("Too much for me.")
  const [asked1] = (await runtime.history("approve")).requests
  expect(asked1).toMatchObject({ to: "finance" })
  await runtime.respond("approve", "r1", "yes")
  const late = await fetch("POST", "/v1/runs/approve/requests/r1/escalate", body)
  expect(late.status).toBe(409)
})
