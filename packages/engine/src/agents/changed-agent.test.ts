/** Forks that change agents. */
import { expect, test } from "vitest"
import { node, workflow } from "../builder/index.ts"
import { fork } from "../history/index.ts"
import { textStore } from "../runtime/journal/stores.test-support.ts"
import { agent } from "./agent.ts"
import { pureModel, shown } from "./stand-ins.test-support.ts"

/** As every process makes it: nothing but the store is shared. */
function processWith() {
  const model = pureModel((last, _, name) => `${name} on ${last}`)
  const writer = agent({ name: "writer", model, instructions: "Write.", settings: { seed: 7, topP: 0.5 } })
  const judge = agent({ name: "judge", model, instructions: "Judge." })
  const plan = node("plan", (topic: string) => topic)
  return { model, flow: workflow("article").chain(plan, writer, judge).build() }
}

async function firstRun() {
  const store = textStore()
  await processWith().flow.run("storks", { store, runId: "first" })
  return store
}

test("a fork runs an agent with other instructions and settings, in every process that continues it, and the others as they were", async () => {
  const store = await firstRun()
  const agents = { writer: { instructions: "Write a poem.", settings: { temperature: 1, topP: 0.9 } } }
  const prompts = async (run: string) => {
    const { model, flow } = processWith()
    await flow.resume(run, { store })
    expect(model.calls[0]).toMatchObject({ temperature: 1, topP: 0.9, seed: 7 })
    return model.calls.map((_, i) => shown(model, i)[0])
  }
  await fork(store, "first", { at: { superstep: 1 }, agents, runId: "second" })
  expect(await prompts("second")).toEqual(["system: Write a poem.", "system: Judge."])
  // A fork of the fork has the change too, and its own.
  const kind = { judge: { instructions: "Be kind." } }
  await fork(store, "second", { at: { superstep: 1 }, agents: kind, runId: "third" })
  expect(await prompts("third")).toEqual(["system: Write a poem.", "system: Be kind."])
  const { model, flow } = processWith()
  await fork(store, "first", { at: { superstep: 1 }, runId: "plain" })
  await flow.resume("plain", { store })
  expect(shown(model, 0)[0]).toBe("system: Write.")
})

test("a fork with another input has the changed agents from its start", async () => {
  const store = await firstRun()
  await fork(store, "first", {
    input: "cranes",
    agents: { writer: { instructions: "Sing." } },
    runId: "again",
  })
  const { model, flow } = processWith()
  await flow.resume("again", { store })
  expect(shown(model, 0)).toEqual(["system: Sing.", "user: cranes"])
})

test("another model is asked by its name, and one that nobody knows fails the task", async () => {
  const store = await firstRun()
  await fork(store, "first", {
    at: { superstep: 1 },
    agents: { writer: { model: "nobody/knows" } },
    runId: "lost",
  })
  const { model, flow } = processWith()
  await expect(flow.resume("lost", { store })).rejects.toThrow(/nobody/)
  expect(model.calls).toEqual([])
})

test("a change that cannot be made is reported before there is a run", async () => {
  const store = await firstRun()
  const change = (agents: object) => fork(store, "first", { at: { superstep: 1 }, agents: agents as never })
  await expect(change({ editor: { model: "a/b" } })).rejects.toThrow(
    'agents["editor"] is not an agent of run "first". Agents that called a model in it: "writer", "judge".',
  )
  await expect(change({ writer: {} })).rejects.toThrow("changes nothing")
  await expect(change({ writer: { model: "gpt" } })).rejects.toThrow('needs a model as "provider/model"')
  await expect(change({ writer: { settings: { heat: 1 } } })).rejects.toThrow('the unknown setting "heat"')
  await expect(change({ writer: { tools: [] } })).rejects.toThrow('has "tools"')
})
