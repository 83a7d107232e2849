import { describe, expect, test } from "vitest"
import { memoryStore, node, workflow } from "../../index.ts"
import { manualClock, settled } from "../../testing/index.ts"
import { storeWithPrefix, textStore } from "../journal/stores.test-support.ts"
import { asked, asking, asks, requesting, requests, start } from "./escalation.test-support.ts"

describe.each([
  ["ask", asking],
  ["request", requesting],
])("a run that is resumed while a question of ctx.%s is with somebody else", (_, make) => {
  test("continues at that stage, until the time it had", async () => {
    const [clock, store] = [manualClock(1_000), textStore()]
    make().run(1, { clock, store, runId: "r" })
    await clock.advance(100)
    const other = manualClock(1_150)
    const again = make().resume("r", { takeOver: true, clock: other, store })
    expect(asked((await again).requests)).toEqual([["bob", 1_300]])
    await other.advance(149)
    expect(asked((await again).requests)).toEqual([["bob", 1_300]])
    await other.advance(1)
    expect(asked((await again).requests)).toEqual([["eve", 1_600]])
    await again.respond("r1", "yes", { by: "eve" })
    expect(await again).toMatchObject({
      status: "completed",
      outputs: [make === asking ? "yes" : { answer: "yes", to: "eve" }],
    })
  })

  test("asks the next one at once when the time passed meanwhile", async () => {
    const [clock, store] = [manualClock(1_000), textStore()]
    make().run(1, { clock, store, runId: "r" })
    await clock.advance(100)
    const other = manualClock(9_000)
    const again = make().resume("r", { takeOver: true, clock: other, store })
    await again
    await other.advance(0)
    expect(asked((await again).requests)).toEqual([["eve", 9_300]])
    expect(asked(await store.requests({}))).toEqual([["eve", 9_300]])
  })

  test("ends as it would have without, wherever the process died", async () => {
    const [clock, store] = [manualClock(1_000), textStore()]
    const built = make({ default: "no" })
    const first = built.run(1, { clock, store, runId: "r" })
    await clock.advance(600)
    const { outputs } = await first
    const lines = store.lines("r")
    expect(lines.filter((line) => line.includes('"timer.fired"'))).toHaveLength(3)
    for (let count = 1; count < lines.length; count++) {
      const prefix = storeWithPrefix("r", lines, count, store)
      const later = manualClock(
        (JSON.parse(lines[count - 1] as string) as { entry: { at: number } }).entry.at,
      )
      const again = built.resume("r", { clock: later, store: prefix })
      await settled()
      while (await later.advanceToNext());
      expect({ count, outputs: (await again).outputs }).toEqual({ count, outputs })
      expect(later.now()).toBe(1_600)
    }
  })
})

describe("what a store knows of a question", () => {
  test("is whom it is for by now, in everybody's list", async () => {
    const [clock, store] = [manualClock(1_000), memoryStore()]
    const lists = async () => ({
      ann: asked(await store.requests({ to: "ann" })),
      bob: asked(await store.requests({ to: "bob" })),
      eve: asked(await store.requests({ to: "eve" })),
    })
    const run = asking().run(1, { clock, store, runId: "r" })
    await run
    expect(await lists()).toEqual({ ann: [["ann", 1_100]], bob: [], eve: [] })
    await clock.advance(100)
    expect(await lists()).toEqual({ ann: [], bob: [["bob", 1_300]], eve: [] })
    await clock.advance(200)
    expect(await lists()).toEqual({ ann: [], bob: [], eve: [["eve", 1_600]] })
    expect(await store.requests({})).toMatchObject([
      { runId: "r", workflow: "w", id: "r1", node: "asks", openedAt: 1_000, outcome: "open", escalate: [] },
    ])
    expect(await store.run("r")).toMatchObject({ status: "waiting" })
    await run.respond("r1", "yes")
    expect(await lists()).toEqual({ ann: [], bob: [], eve: [] })
  })

  test("is who answered, and when", async () => {
    const [clock, store] = [manualClock(1_000), memoryStore()]
    const built = workflow("w")
      .start(start)
      .fanOut(start, [asks(), requests({ default: "no" })])
      .build()
    const run = built.run(1, { clock, store, runId: "r" })
    await clock.advance(150)
    const [inline] = (await run).requests.filter((request) => request.node === "asks")
    await run.respond(inline?.id as string, "yes", { by: "dora" })
    await clock.advance(450)
    expect((await run).status).toBe("completed")
    const answered = await store.requests({ outcome: ["answered"] })
    expect(answered).toHaveLength(2)
    expect(answered.find((request) => request.node === "asks")).toMatchObject({
      to: "bob",
      outcome: "answered",
      by: "dora",
      closedAt: 1_150,
    })
    expect(answered.find((request) => request.node === "requests")).toMatchObject({
      to: "eve",
      outcome: "answered",
      by: "deadline",
      closedAt: 1_600,
    })
  })

  test("is that nobody answered", async () => {
    const [clock, store] = [manualClock(1_000), memoryStore()]
    const asker = requests()
    const rescue = node("rescue", () => "rescued")
    const run = workflow("w")
      .chain(start, asker)
      .onError(asker, rescue)
      .build()
      .run(1, { clock, store, runId: "r" })
    await clock.advance(600)
    expect((await run).outputs).toEqual(["rescued"])
    expect(await store.requests({})).toEqual([])
    const [expired] = await store.requests({ outcome: ["expired"] })
    expect(expired).toMatchObject({ to: "eve", outcome: "expired", closedAt: 1_600 })
    expect(expired?.by).toBeUndefined()
  })

  test("keeps its place when it continues to somebody else", async () => {
    const [clock, store] = [manualClock(1_000), memoryStore()]
    await asking().run(1, { clock, store, runId: "first" })
    await clock.advance(50)
    await asking({ to: "bob", timeout: 1_000 }).run(1, { clock, store, runId: "second" })
    await clock.advance(50)
    expect((await store.requests({ to: "bob" })).map(({ runId }) => runId)).toEqual(["first", "second"])
  })

  test("of a sub-workflow is found, escalated and answered by an id that leads to it", async () => {
    const [clock, store] = [manualClock(1_000), memoryStore()]
    const built = workflow("outer").chain(start, asking().asNode()).build()
    const run = built.run(1, { clock, store, runId: "r" })
    await clock.advance(100)
    const [stored] = await store.requests({ to: "bob" })
    expect((await run).requests.map(({ id }) => id)).toEqual([stored?.id])
    expect(stored).toMatchObject({ runId: "r", workflow: "outer", openedAt: 1_000, deadline: 1_300 })
    await run.respond(stored?.id as string, "yes", { by: "bob" })
    expect((await run).outputs).toEqual(["yes"])
    expect(await store.requests({ outcome: ["answered"] })).toMatchObject([{ id: stored?.id, by: "bob" }])
  })
})
