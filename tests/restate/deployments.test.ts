/** Deployments side by side: runs in flight stay on their version, follow a new one, or are refused and stay as they were. */
import { node, workflow } from "@superstep/engine"
import { expect, test } from "vitest"
import { application } from "./workers.test-support.ts"

/** Asks, then says which version continued it. The second version has one node more. */
function version(number: 1 | 2, placement: "inline" | "spread" = "inline") {
  const ask = node("ask", async (_: string, ctx) => await ctx.ask<string>("Who?"))
  const say = node({ id: "say", placement, run: (name: string) => `${name}, version ${number}` })
  const shout = node("shout", (text: string) => text.toUpperCase())
  const built = workflow("greeting").chain(ask, say)
  return number === 1 ? built.build() : built.edge(say, shout).build()
}

test("a run that waits follows the new version if that may continue it, and otherwise stays as it was", async () => {
  const [first, second] = [version(1), version(2)]
  const app = application([first])
  const old = await app.worker([first])
  const runId = await app.runtime.enqueue(first, "x")
  await expect.poll(async () => (await app.store.run(runId))?.status).toBe("waiting")
  const [request] = await app.runtime.requests({ runId })
  await old.close()
  const answer = () => app.runtime.respond(runId, request?.id as string, "Ada")

  const strict = await app.worker([second])
  await expect(answer()).rejects.toMatchObject({ code: "GRAPH_CHANGED" })
  expect((await app.runtime.requests({ runId })).map(({ id }) => id)).toEqual([request?.id])
  await strict.close()

  await app.worker([second], { onGraphChange: "continue" })
  expect(await answer()).toBe("taken")
  expect((await app.runtime.get(runId)).outputs).toEqual(["ADA, VERSION 2"])
})

test("two versions are at work side by side: each continues its own runs, also their spread tasks", async () => {
  const [first, second] = [version(1, "spread"), version(2, "spread")]
  const app = application([first])
  const caller = app.caller([second])
  await app.fleet([first], 2)
  const before = await Promise.all(Array.from({ length: 4 }, () => app.runtime.enqueue(first, "x")))
  const isWaiting = (ids: readonly string[]) =>
    expect
      .poll(async () => (await Promise.all(ids.map((id) => app.store.run(id)))).map((run) => run?.status))
      .toEqual(ids.map(() => "waiting"))
  await isWaiting(before)
  // From now on the new version gets all activations.
  await app.fleet([second], 2)
  const after = await Promise.all(Array.from({ length: 4 }, () => caller.enqueue(second, "x")))
  await isWaiting(after)
  for (const runId of [...before, ...after]) {
    const [request] = await app.runtime.requests({ runId })
    // Whoever sends it: workers of the run's version take it.
    const sender = before.includes(runId) ? caller : app.runtime
    expect(await sender.respond(runId, request?.id as string, "Ada")).toBe("taken")
  }
  const outputs = async (ids: readonly string[]) =>
    (await Promise.all(ids.map((id) => app.runtime.get(id)))).map((one) => one.outputs)
  expect(await outputs(before)).toEqual(before.map(() => ["Ada, version 1"]))
  expect(await outputs(after)).toEqual(after.map(() => ["ADA, VERSION 2"]))
  expect(app.problems).toEqual([])
})

test("while Restate is down, workers find what is started and answered", async () => {
  const flow = version(1)
  const restate = "http://127.0.0.1:1"
  const app = application([flow], "test", { restate })
  await app.worker([flow], { restate })
  const runId = await app.runtime.enqueue(flow, "x")
  await expect.poll(async () => (await app.store.run(runId))?.status, { timeout: 10_000 }).toBe("waiting")
  const [request] = await app.runtime.requests({ runId })
  await app.runtime.respond(runId, request?.id as string, "Ada")
  expect((await app.runtime.get(runId)).outputs).toEqual(["Ada, version 1"])
})
