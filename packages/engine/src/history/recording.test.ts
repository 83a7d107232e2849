import { describe, expect, test } from "vitest"
import { append, channel, memoryStore, node, workflow } from "../index.ts"
import { type Recording, recordingOf, replay, toFixture } from "./index.ts"

const double = node("double", (n: number, ctx) => ctx.step("double", () => ({ b: n, a: n * 2 })))
const inner = workflow("inner").start(double).build()
const outer = workflow("outer")
  .chain(
    node("start", (n: number) => n),
    inner.asNode(),
  )
  .build()

async function fixture(): Promise<Recording> {
  const store = memoryStore()
  await outer.run(2, { store, runId: "r" })
  return toFixture(store, "r")
}

describe("a recording", () => {
  test("has the journal of a run and every graph that it names", async () => {
    const store = memoryStore()
    await outer.run(2, { store, runId: "r" })
    const { version, workflow, runId, records, graphs } = await recordingOf(store, "r")
    expect({ version, workflow, runId }).toEqual({ version: 1, workflow: "outer", runId: "r" })
    expect(records).toEqual(await store.read("r", 0))
    expect(Object.values(graphs)).toMatchObject([{ name: "outer" }, { name: "inner" }])
  })

  test("of an unknown run is rejected", async () => {
    await expect(recordingOf(memoryStore(), "none")).rejects.toMatchObject({ code: "RUN_UNKNOWN" })
  })

  test("has the state of the run's thread, so that it is self-contained", async () => {
    const store = memoryStore()
    const notes = channel("notes", append<string>(), { persist: true })
    const built = workflow("w", { state: [notes] })
      .start(
        node("notes", (text: string, ctx) => {
          ctx.state.write(notes, [text])
          return ctx.state.get(notes).length
        }),
      )
      .build()
    await built.run("one", { store, thread: "t" })
    await built.run("two", { store, thread: "t", runId: "r" })
    const recording = await recordingOf(store, "r")
    expect(recording.records[0]?.entry).toMatchObject({ state: { notes: ["one"] } })
    expect(JSON.stringify(recording)).not.toContain('"thread"')
    expect(await replay(recording, built)).toMatchObject({ same: true, outputs: { after: [1] } })
  })
})

describe("a fixture", () => {
  test("is plain JSON with sorted keys: equal runs have equal text", async () => {
    const made = await fixture()
    expect(JSON.parse(JSON.stringify(made))).toEqual(made)
    expect(Object.keys(made)).toEqual(["version", "workflow", "runId", "records", "graphs"])
    const step = made.records.find(({ entry }) => entry.type === "step.recorded")
    expect(JSON.stringify(step?.entry)).toContain('"value":{"a":4,"b":2}')
  })

  test("can be replayed from data or from text", async () => {
    const text = JSON.stringify(await fixture(), null, 1)
    expect(await replay(JSON.parse(text), outer)).toMatchObject({ same: true })
    expect(await replay(text, outer)).toMatchObject({ same: true })
  })

  test("of a later version is rejected with advice", async () => {
    await expect(replay({ ...(await fixture()), version: 2 } as never, outer)).rejects.toMatchObject({
      code: "FIXTURE_VERSION",
      message:
        "This fixture has version 2; this library reads version 1. Use a newer library, or record the run again.",
    })
  })

  type Broken = { [key: string]: unknown } & { records: { [key: string]: unknown }[] }
  const records = (change: (list: Broken["records"]) => unknown) => (data: Broken) => change(data.records)

  test.each<[string, unknown, string]>([
    ["no JSON", "{", "it is not JSON"],
    ["nothing", null, "it has no version"],
    ["a list", [], "it has no version"],
    ["something else", { hello: 1 }, "it has no version; create one with toFixture(store, runId)"],
    ["a version that is none", { version: "1" }, "its version is not a whole number"],
  ])("that is %s is refused", async (_, data, why) => {
    await expect(replay(data as never, outer)).rejects.toMatchObject({
      code: "FIXTURE_INVALID",
      message: expect.stringContaining(`This is not a recording of a run: ${why}`),
    })
  })

  test.each<[string, (data: Broken) => unknown, string]>([
    ["workflow", (data) => delete data.workflow, '"workflow" is not a string'],
    ["run id", (data) => delete data.runId, '"runId" is not a string'],
    ["graphs", (data) => delete data.graphs, '"graphs" is not an object'],
    ["graph", (data) => (data.graphs = {}), "names the graph"],
    ["sound graph", (data) => void breakGraphs(data), "one of its graphs cannot be read"],
    ["records", (data) => (data.records = []), '"records" is not a non-empty list'],
    ["record that is an object", records((list) => (list[1] = null as never)), "records[1] is not an object"],
    ["second record", records((list) => list.splice(1, 1)), "records[1].seq is not 2"],
    ["frame", records((list) => delete list[2]?.frame), "records[2].frame is not a string"],
    ["entry", records((list) => delete list[2]?.entry), "records[2].entry is not an object"],
    ["known entry", records((list) => (list[1] = { ...list[1], entry: { type: "x" } })), 'unknown type "x"'],
    [
      "time",
      records((list) => (list[1] = { ...list[1], entry: { type: "run.failed" } })),
      "entry.at is not a number",
    ],
    [
      "start",
      records((list) => (list[0] = { ...list[0], frame: "x" })),
      "does not begin with the start of a run",
    ],
    [
      "sense",
      records(
        (list) => (list[1] = { ...list[1], entry: { type: "task.finished", at: 1, task: 9, sends: [] } }),
      ),
      "its records are inconsistent: Task 9 has ended or never existed",
    ],
  ])("without its %s is refused with the place", async (_, change, why) => {
    const data = structuredClone(await fixture()) as unknown as Broken
    change(data)
    await expect(replay(data as never, outer)).rejects.toMatchObject({
      code: "FIXTURE_INVALID",
      message: expect.stringContaining(why),
    })
  })

  function breakGraphs(data: Broken): void {
    const graphs = data.graphs as { [hash: string]: unknown }
    for (const hash of Object.keys(graphs)) graphs[hash] = { name: "broken", nodes: [], edges: [] }
  }
})
