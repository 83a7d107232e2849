import { memoryStore, node, Runtime, workflow } from "@superstep/engine"
import { expect, onTestFinished, test } from "vitest"
import { served } from "./serve.test-support.ts"

const HOUR = 3_600_000

async function scheduling() {
  const one = served()
  const operator = await one.key({ role: "operator" })
  const send = async (method: string, path: string, body?: unknown, key = operator) => {
    const response = await one.ask(method, `/v1/schedules${path}`, {
      key,
      ...(body !== undefined && { body }),
    })
    const text = await response.text()
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) }
  }
  return { ...one, operator, send }
}

test("a schedule is created, listed with its next times, changed, paused, resumed and deleted", async () => {
  const { send } = await scheduling()
  const set = await send("PUT", "/nightly", { workflow: "greet", cron: "0 3 * * *", input: "Ada" })
  expect(set).toMatchObject({ status: 200, body: { id: "nightly", workflow: "greet", isPaused: false } })
  const listed = await send("GET", "?next=2")
  expect(listed.body.schedules[0].next).toHaveLength(2)
  expect(listed.body.schedules[0].next[1].plannedAt - listed.body.schedules[0].next[0].plannedAt).toBe(
    24 * HOUR,
  )
  expect(
    (await send("PUT", "/nightly", { workflow: "greet", every: HOUR, input: "Bob" })).body,
  ).toMatchObject({
    every: HOUR,
    input: "Bob",
  })
  expect((await send("POST", "/nightly/pause")).body).toMatchObject({ isPaused: true })
  expect((await send("GET", "/nightly")).body).toMatchObject({ isPaused: true, next: [] })
  expect((await send("POST", "/nightly/resume")).body.nextAt).toBeGreaterThan(0)
  expect((await send("DELETE", "/nightly")).status).toBe(204)
  expect((await send("GET", "/nightly")).body).toMatchObject({ status: 404, code: "SCHEDULE_UNKNOWN" })
})

test("a run is asked for now, and for each past time of a range", async () => {
  const { send, runtime } = await scheduling()
  await send("PUT", "/hourly", { workflow: "greet", every: HOUR, input: "Ada" })
  const { status, body } = await send("POST", "/hourly/trigger")
  expect(status).toBe(202)
  expect((await runtime.get(body.run)).outputs).toEqual(["Hello Ada"])
  const to = Math.floor(Date.now() / HOUR) * HOUR
  const listed = await send("POST", "/hourly/backfill", { from: to - 2 * HOUR, to, dryRun: true })
  expect(listed.body.times).toEqual([to - 2 * HOUR, to - HOUR])
  expect((await send("GET", "/hourly")).body).toMatchObject({ pending: 0, last: { run: body.run } })
  const filled = await send("POST", "/hourly/backfill", { from: to - 3 * HOUR, to })
  expect(filled.body.times).toEqual([to - 3 * HOUR, to - 2 * HOUR, to - HOUR])
})

test("times are previewed without a schedule, and a pattern that is none is refused", async () => {
  const { send } = await scheduling()
  const { body } = await send("POST", "/preview", {
    cron: "0 9 * * 1-5",
    timeZone: "Europe/Berlin",
    count: 3,
  })
  expect(body.times).toHaveLength(3)
  expect(await send("POST", "/preview", { cron: "every day" })).toMatchObject({
    status: 422,
    body: { code: "SCHEDULE_INVALID" },
  })
  const wrong = await send("PUT", "/x", {
    workflow: "greet",
    every: HOUR,
    input: 3,
    labels: { "superstep.key": "k" },
  })
  expect(wrong.status).toBe(422)
})

test("a schedule that a workflow declares is shown and triggered, and changed by its workflow only", async () => {
  const declared = workflow("daily", { schedules: [{ id: "one", cron: "0 3 * * *" }] })
    .start(node("daily", (_: null) => "done"))
    .build()
  const runtime = new Runtime({ store: memoryStore(), workflows: [declared] })
  onTestFinished(() => runtime.close())
  await runtime.recover()
  const one = served({ runtime, workflows: [declared], auth: undefined })
  const path = "/v1/schedules/daily%2Fone"
  expect(await (await one.ask("GET", path)).json()).toMatchObject({ id: "daily/one", isDeclared: true })
  expect((await one.ask("POST", `${path}/trigger`, { body: {} })).status).toBe(202)
  const body = { workflow: "daily", every: HOUR }
  expect(await (await one.ask("PUT", path, { body })).json()).toMatchObject({ code: "SCHEDULE_TAKEN" })
})

test("a tenant has schedules of its own, whose runs are its own", async () => {
  const { send, key, runtime } = await scheduling()
  const a = await key({ role: "operator", tenant: "a" })
  const b = await key({ role: "admin", tenant: "b" })
  await send("PUT", "/mine", { workflow: "greet", every: HOUR, input: "Ada" }, a)
  expect((await send("GET", "", undefined, a)).body.schedules).toMatchObject([{ id: "mine" }])
  expect((await send("GET", "", undefined, b)).body.schedules).toEqual([])
  expect((await send("POST", "/mine/trigger", undefined, b)).status).toBe(404)
  const { body } = await send("POST", "/mine/trigger", undefined, a)
  await runtime.get(body.run)
  expect(await runtime.store.run(body.run)).toMatchObject({ labels: { "superstep.tenant": "a" } })
})
