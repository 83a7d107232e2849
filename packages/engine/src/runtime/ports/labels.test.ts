import { expect, test } from "vitest"
import { recordingOf, replay } from "../../history/index.ts"
import { fork, memoryStore, node, Runtime, rerun, workflow } from "../../index.ts"

const flow = workflow("flow")
  .start(node("add", (n: number) => n + 1))
  .build()

test("a run's labels are in its row, and runs are found by them", async () => {
  const store = memoryStore()
  await flow.run(1, { store, runId: "a", labels: { file: "chat.yaml", model: "fast" } })
  await flow.run(1, { store, runId: "b" })
  expect(await store.run("a")).toMatchObject({ labels: { file: "chat.yaml", model: "fast" } })
  expect((await store.run("b"))?.labels).toBeUndefined()
  expect(await store.runs({ labels: { file: "chat.yaml" } })).toMatchObject([{ runId: "a" }])
})

test("a runtime passes them on", async () => {
  const runtime = new Runtime({ store: memoryStore(), workflows: [flow] })
  const { runId } = await runtime.start(flow, 1, { labels: { by: "Ada" } })
  expect(await runtime.runs({ labels: { by: "Ada" } })).toMatchObject([{ runId }])
  await runtime.close()
})

test("labels that the caller changes later stay as they were given", async () => {
  const store = memoryStore()
  const labels = { file: "a" }
  const run = flow.run(1, { store, runId: "r", labels })
  labels.file = "b"
  await run
  expect((await store.run("r"))?.labels).toEqual({ file: "a" })
})

test("forks keep the labels of their origin, unless they are given others", async () => {
  const store = memoryStore()
  await flow.run(1, { store, runId: "r", labels: { file: "a" } })
  await fork(store, "r", { runId: "kept" })
  await fork(store, "r", { runId: "other input", input: 5 })
  await rerun(store, "r", { runId: "again", from: { node: "add" } })
  await fork(store, "kept", { runId: "others", labels: { model: "m" } })
  await fork(store, "r", { runId: "none", labels: {} })
  const labels = async (runId: string) => (await store.run(runId))?.labels
  for (const runId of ["kept", "other input", "again"]) expect(await labels(runId)).toEqual({ file: "a" })
  expect(await labels("others")).toEqual({ model: "m" })
  expect(await labels("none")).toEqual({})
  await expect(fork(store, "r", { labels: { n: 5 as never } })).rejects.toMatchObject({
    code: "OPTION_INVALID",
    message: "Bad fork option: labels.n must be a string, not number.",
  })
})

test("as many and as long labels as are allowed are kept", async () => {
  const store = memoryStore()
  const labels = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`l${i}`, "x".repeat(1_000)]))
  await flow.run(1, { store, runId: "r", labels })
  expect((await store.run("r"))?.labels).toEqual(labels)
})

const inner = workflow("inner")
  .start(node("who", (_: string, { labels }) => labels.user ?? "nobody"))
  .build()
const outer = workflow("outer")
  .start(
    node("ask", async (question: string, ctx) => {
      const answer = await ctx.ask<string>(question)
      const [nested] = await ctx.call(inner, answer)
      return `${ctx.labels.user} ${nested}`
    }),
  )
  .build()

test("handlers read them, in called workflows and in another process too, and cannot change them", async () => {
  const store = memoryStore()
  const labels = { user: "ada" }
  const first = outer.run("Sure?", { store, runId: "r", labels })
  const [request] = (await first).requests
  labels.user = "eve"
  const second = outer.resume("r", { store, takeOver: true })
  await second.respond(request?.id ?? "", "yes")
  expect((await second).outputs).toEqual(["ada ada"])
  const greedy = node("greedy", (_: string, ctx) => {
    Object.assign(ctx.labels, { user: "ada" })
    return "done"
  })
  const { error } = await workflow("greedy")
    .start(greedy)
    .build()
    .run("", { labels: { user: "eve" } }).result
  expect(error?.message).toMatch(/read only property 'user'/)
  expect((await inner.run("").result).outputs).toEqual(["nobody"])
})

test("a replay has the labels of the recording; labels that are none are refused", async () => {
  const store = memoryStore()
  await inner.run("", { store, runId: "r", labels: { user: "ada" } })
  const recording = await recordingOf(store, "r")
  expect(recording.labels).toEqual({ user: "ada" })
  expect(await replay(recording, inner)).toMatchObject({ same: true })
  expect(await replay({ ...recording, labels: { user: "eve" } }, inner)).toMatchObject({ same: false })
  await expect(replay({ ...recording, labels: { user: 5 } } as never, inner)).rejects.toMatchObject({
    code: "FIXTURE_INVALID",
  })
})
