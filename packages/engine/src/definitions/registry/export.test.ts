import { expect, test } from "vitest"
import { memoryStore } from "../../stores/index.ts"
import { chat } from "./documents.test-support.ts"
import { applyAgents, applyDefinition, exportDefinition, runnableDefinition } from "./registry.ts"

test("a runnable definition has the registry's agents that its nodes use; an exported one has its own", async () => {
  const { registry } = memoryStore()
  await applyAgents(registry, { router: { model: "m" }, worker: { model: "n" }, other: {} })
  await applyDefinition(registry, chat())
  expect(await exportDefinition(registry, "chat")).toEqual(chat())
  expect(await runnableDefinition(registry, "chat")).toEqual({
    ...chat(),
    agents: { router: { model: "m" }, worker: { model: "n" } },
  })
})

test("agents are exported in the document's own form", async () => {
  const { registry } = memoryStore()
  await applyAgents(registry, [{ id: "router", model: "m" }])
  await applyDefinition(registry, { ...chat(), agents: { worker: { model: "n" } } })
  const byId = { router: { model: "m" }, worker: { model: "n" } }
  expect((await runnableDefinition(registry, "chat"))?.agents).toEqual(byId)
  await applyDefinition(registry, { ...chat(), agents: [{ id: "worker", model: "n" }] })
  expect((await runnableDefinition(registry, "chat"))?.agents).toEqual([
    { id: "router", model: "m" },
    { id: "worker", model: "n" },
  ])
})

test("agents are exported with those that they delegate to; if a variable names one, all are exported", async () => {
  const { registry } = memoryStore()
  const agents = { router: { sub_agents: ["writer"] }, writer: { handoffs: ["router"] }, other: {} }
  await applyAgents(registry, agents)
  await applyDefinition(registry, chat())
  const { other: _, ...needed } = agents
  expect((await runnableDefinition(registry, "chat"))?.agents).toEqual(needed)
  await applyDefinition(registry, {
    id: "any",
    nodes: [{ id: "n", type: "agent", agent_id: "$" + "{WRITER}" }],
  })
  expect((await runnableDefinition(registry, "any"))?.agents).toEqual(agents)
})

test("unknown agents are omitted: the loader reports them", async () => {
  const { registry } = memoryStore()
  await applyDefinition(registry, chat())
  expect(await runnableDefinition(registry, "chat")).toEqual(chat())
  expect(await runnableDefinition(registry, "none")).toBeUndefined()
})
