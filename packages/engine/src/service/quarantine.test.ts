/** What a quarantined run does, and how it is freed. */
import { expect, test } from "vitest"
import { memoryStore, node, workflow } from "../index.ts"
import { settled } from "../testing/index.ts"
import { ask, pass, processOn } from "./processes.test-support.ts"

async function quarantined() {
  const store = memoryStore()
  const first = processOn(store)
  await first.runtime.start(ask, 1, { runId: "r" })
  await first.runtime.close()
  const { token = 0 } = (await store.run("r")) ?? {}
  const lease = await store.claim("r", token, "killed")
  if (lease !== undefined) await store.quarantine(lease, 0)
  return store
}

test("a quarantined run is listed, and neither awaited, answered nor resumed", async () => {
  const store = await quarantined()
  const { runtime, clock } = processOn(store)
  const problems = await runtime.recover()
  await pass(5_000, clock)
  expect(problems.resumed).toEqual([])
  expect(await runtime.runs({ status: ["quarantined"] })).toMatchObject([
    { runId: "r", status: "quarantined" },
  ])
  expect(await runtime.requests()).toMatchObject([{ runId: "r", id: "r1", outcome: "open" }])
  const refused = { code: "RUN_QUARANTINED", run: "r", message: expect.stringContaining("runs release r") }
  await expect(runtime.get("r").result).rejects.toMatchObject(refused)
  await expect(runtime.respond("r", "r1", "yes")).rejects.toMatchObject(refused)
  await expect(runtime.resume(ask, "r").result).rejects.toMatchObject(refused)
  await expect(runtime.remove("r")).rejects.toMatchObject({ code: "RUN_KEPT" })
  await runtime.close()
})

test("a released run is answerable and continues where it was", async () => {
  const store = await quarantined()
  const { runtime, clock } = processOn(store)
  await runtime.release("r")
  await pass(1_000, clock)
  await runtime.respond("r", "r1", "yes")
  expect((await runtime.get("r")).outputs).toEqual(["1: yes"])
  await expect(runtime.release("r")).rejects.toMatchObject({ code: "RUN_NOT_QUARANTINED", run: "r" })
  await expect(runtime.release("nobody")).rejects.toMatchObject({ code: "RUN_UNKNOWN" })
  await runtime.close()
})

test("a quarantined run can be cancelled", async () => {
  const store = await quarantined()
  const { runtime } = processOn(store)
  await runtime.cancel("r", "enough")
  expect(await store.run("r")).toMatchObject({ status: "cancelled" })
  expect(await runtime.requests()).toEqual([])
  await runtime.close()
})

test("a run that announces the same call in every life makes no progress by that", async () => {
  const store = memoryStore()
  const paid = workflow("paid")
    .start(
      node("paid", (_: number, ctx) =>
        ctx.step("call", async (step) => {
          await step.reserve({ modelCalls: 1 })
          await new Promise(() => undefined)
        }),
      ),
    )
    .build()
  const options = { workflows: [paid] }
  processOn(store, options).runtime.start(paid, 1, { runId: "r" })
  await settled()
  for (let deaths = 1; deaths <= 4; deaths++) {
    expect((await store.run("r"))?.status).toBe("running")
    const next = processOn(store, options)
    await next.runtime.recover()
    await pass(13_000, next.clock)
  }
  expect(await store.run("r")).toMatchObject({ status: "quarantined", takeovers: 4 })
})
