import { expect, test } from "vitest"
import { agent } from "../agents/index.ts"
import { memoryStore, node, printReplay, replay, toFixture, workflow } from "../index.ts"
import { scriptedModel } from "../models/index.ts"
import { expectReplay } from "./index.ts"

const built = (fee: number) =>
  workflow("fares")
    .chain(
      node("look up", (city: string, ctx) => ctx.step("fare", () => city.length * 20)),
      node("add fee", (fare: number) => fare + fee),
    )
    .build()

async function fixture() {
  const store = memoryStore()
  await built(10).run("Rome", { store, runId: "to Rome" })
  return toFixture(store, "to Rome")
}

test("an unchanged workflow passes", async () => {
  await expectReplay(built(10), await fixture())
})

test("a changed workflow fails the test with the difference", async () => {
  await expect(expectReplay(built(15), await fixture())).rejects.toMatchObject({
    code: "REPLAY_DIFFERS",
    message: `Replay of run "to Rome" of workflow "fares": different.

First difference
  "add fee" (task 2) sent 90 before, and 95 now.

Outputs
  - [90]
  + [95]`,
  })
})

test("the options of a replay are supported", async () => {
  const more = workflow("fares")
    .start(node("look up", (city: string, ctx) => ctx.step("other", () => city.length)))
    .build()
  await expect(expectReplay(more, await fixture())).rejects.toThrow(
    'Step "other" of "look up" is not recorded.',
  )
  await expect(expectReplay(more, await fixture(), { live: true })).rejects.toThrow('ran step "fare" before')
})

test("an invalid fixture is rejected", async () => {
  await expect(expectReplay(built(10), { hello: 1 })).rejects.toMatchObject({ code: "FIXTURE_INVALID" })
})

test("changed instructions of an agent do not show, and the report says so", async () => {
  const store = memoryStore()
  const writer = (instructions: string) =>
    agent({ name: "writer", model: scriptedModel(["a draft"]), instructions, stream: false })
  await writer("Be brief.").run("go", { store, runId: "r" })
  const recorded = await toFixture(store, "r")
  await expectReplay(writer("Be verbose."), recorded)
  const report = await replay(recorded, writer("Be verbose."))
  expect(report).toMatchObject({ same: true, recordedModelCalls: 1 })
  expect(printReplay(report)).toContain("Not compared: instructions, messages and tools of agents.")
})
