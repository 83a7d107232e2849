/** A runtime on Restate has everything that a runtime has; the runs execute in workers. */
import { node, type RunId, type RunStatus, workflow } from "@superstep/engine"
import { createServer, listen } from "@superstep/server"
import { beforeAll, describe, expect, test } from "vitest"
import { z } from "zod"
import { type Application, application } from "./workers.test-support.ts"

const double = workflow("double")
  .chain(node("double", (n: number) => 2 * n))
  .build()

/** Asks, waits for a signal, sleeps: everything that makes a run rest. */
const resting = workflow("resting")
  .chain(
    node("resting", async (_: string, ctx) => {
      const first = await ctx.step("once", () => Math.random())
      const answer = await ctx.ask<string>({ prompt: "Go?", schema: z.enum(["yes", "no"]) })
      const again = await ctx.step("twice", () => first)
      const signal = await ctx.waitFor<number>("more")
      await ctx.sleep(1_500)
      return { answer, signal, isSame: first === again }
    }),
  )
  .build()

const update = workflow("update")
  .chain(
    node("update", async (_: number, ctx) => {
      const asked = await ctx.waitForUpdate<number>("square")
      await asked.reply(asked.value ** 2)
      return asked.value
    }),
  )
  .build()

const failing = workflow("failing")
  .chain(
    node("failing", (): number => {
      throw new Error("no")
    }),
  )
  .build()

const ticking = workflow("ticking", { schedules: [{ id: "often", every: 1_000, input: 1 }] })
  .chain(node("ticking", (n: number) => n))
  .build()

const one = workflow("one", { flow: { concurrency: 1 } })
  .chain(
    node("one", async (n: number, ctx) => {
      const { active } = limits
      limits.active++
      limits.most = Math.max(limits.most, active + 1)
      await new Promise((resolve) => setTimeout(resolve, 5))
      limits.active--
      return ctx.attempt * n
    }),
  )
  .build()
const limits = { active: 0, most: 0 }

const all = [double, resting, update, failing, one, ticking]

describe("a runtime on Restate", () => {
  let app: Application

  beforeAll(async () => {
    app = application(all, "file")
    await app.worker(all)
    await app.worker(all)
  })

  async function until(runId: RunId, status: RunStatus | "queued"): Promise<void> {
    await expect.poll(async () => (await app.store.run(runId))?.status, { timeout: 20_000 }).toBe(status)
  }

  test("executes runs in workers, and returns their results", async () => {
    const { outputs, runId } = await app.runtime.start(double, 21)
    expect(outputs).toEqual([42])
    expect((await app.runtime.runs({ workflow: "double" })).map((run) => run.runId)).toEqual([runId])
    // Started again with the same id, it is the same run.
    expect((await app.runtime.start(double, 21, { runId })).outputs).toEqual([42])
  })

  test("streams the events of a run that a worker executes", async () => {
    const types: string[] = []
    for await (const { type } of app.runtime.stream(double, 4)) types.push(type)
    expect(types.at(0)).toBe("run.started")
    expect(types.at(-1)).toBe("run.finished")
  })

  test("a failure is the failure of the awaited run", async () => {
    await expect(app.runtime.start(failing, 1)).rejects.toMatchObject({ code: "ERROR" })
  })

  test("answers, signals and timers reach a run that no process holds", async () => {
    const runId = await app.runtime.enqueue(resting, "go")
    await until(runId, "waiting")
    await expect.poll(async () => (await app.store.run(runId))?.holder).toBeUndefined()
    const [request] = await app.runtime.requests({ runId })
    const id = request?.id as string
    // Only a process that has the workflow knows the whole schema: the answer goes there and back.
    await expect(app.runtime.respond(runId, id, "maybe")).rejects.toMatchObject({ code: "REQUEST_INVALID" })
    expect(await app.runtime.respond(runId, id, "yes")).toBe("taken")
    await until(runId, "waiting")
    const before = Date.now()
    expect(await app.runtime.signal(runId, "more", 7)).toBe("taken")
    const { outputs } = await app.runtime.get(runId)
    expect(outputs).toEqual([{ answer: "yes", signal: 7, isSame: true }])
    expect(Date.now() - before).toBeGreaterThanOrEqual(1_400)
  })

  test("an update has its reply", async () => {
    const runId = await app.runtime.enqueue(update, 0)
    await until(runId, "waiting")
    expect(await app.runtime.update(runId, "square", 9)).toBe(81)
    expect((await app.runtime.get(runId)).outputs).toEqual([9])
  })

  test("a run is paused, resumed and cancelled wherever it rests", async () => {
    const runId = await app.runtime.enqueue(resting, "go")
    await until(runId, "waiting")
    expect(await app.runtime.pause(runId)).toBe("taken")
    await until(runId, "paused")
    expect(await app.runtime.resume(runId)).toBe("taken")
    await until(runId, "waiting")
    expect(await app.runtime.cancel(runId, "enough")).toBe("taken")
    await until(runId, "cancelled")
  })

  test("a run that failed is run again as a fork", async () => {
    const run = app.runtime.start(failing, 1)
    await expect(run).rejects.toMatchObject({ code: "ERROR" })
    const again = await app.runtime.rerun(run.id)
    await until(again, "failed")
    expect((await app.runtime.history(again)).runId).toBe(again)
  })

  test("a delayed run starts at its time, and limits hold across workers", async () => {
    const delayed = await app.runtime.enqueue(double, 3, { delay: 1_200 })
    const ids = await Promise.all(Array.from({ length: 12 }, (_, i) => app.runtime.enqueue(one, i)))
    const results = await Promise.all(ids.map((id) => app.runtime.get(id)))
    expect(results.map(({ outputs }) => outputs[0])).toEqual(ids.map((_, i) => i))
    expect(limits.most).toBe(1)
    const { outputs } = await app.runtime.get(delayed)
    expect(outputs).toEqual([6])
    const row = await app.store.run(delayed)
    expect((row?.updatedAt ?? 0) - (row?.createdAt ?? 0)).toBeGreaterThanOrEqual(1_200)
  })

  test("a server takes it like any runtime", async () => {
    const listening = await listen(createServer({ runtime: app.runtime, workflows: all }), { port: 0 })
    const response = await fetch(`${listening.url}/v1/workflows/double/runs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ input: 8 }),
    })
    expect(await response.json()).toMatchObject({ status: "completed", outputs: [16] })
    await listening.close()
  })

  test("schedules fire in workers", async () => {
    await expect
      .poll(async () => (await app.runtime.runs({ workflow: "ticking", status: ["completed"] })).length, {
        timeout: 10_000,
      })
      .toBeGreaterThanOrEqual(2)
  })
})
