import { describe, expect, test } from "vitest"
import { memoryStore } from "../../stores/index.ts"
import { chat } from "./documents.test-support.ts"
import { applyAgents, applyDefinition, removeAgent, removeDefinition } from "./registry.ts"

/** A run of the workflow, with this status. */
function start(
  store: ReturnType<typeof memoryStore>,
  runId: string,
  status: "running" | "waiting" | "failed",
  more: { readonly workflow?: string; readonly labels?: { readonly [name: string]: string } } = {},
) {
  const lease = { runId, holder: "h", token: 1 }
  const entry = { type: "step.recorded", at: 1, task: 1, key: "k", value: 1 } as const
  const created = { workflow: "Chat", graph: "g", ...more }
  store.append(lease, 0, [{ seq: 1, frame: "", entry, events: 1 }], { created, status })
}

describe("removing a definition", () => {
  test("removes it with its nodes and edges, and keeps others and finished runs", async () => {
    const store = memoryStore()
    const { registry } = store
    for (const id of ["chat", "other"]) await applyDefinition(registry, chat(id))
    start(store, "r", "failed")
    expect(await removeDefinition(registry, store, "chat")).toEqual({ agents: [], kept: [], runs: 0 })
    expect(await registry.definition("chat")).toBeUndefined()
    expect((await registry.definitions()).map(({ id }) => id)).toEqual(["other"])
    expect(await store.run("r")).toBeDefined()
  })

  test("is refused while it has active runs, and reports how many and how to force it", async () => {
    const store = memoryStore()
    await applyDefinition(store.registry, chat())
    start(store, "a", "running")
    await expect(removeDefinition(store.registry, store, "chat")).rejects.toMatchObject({
      code: "DEFINITION_IN_USE",
      message: expect.stringMatching(/^Definition "chat" has 1 active run: .*--force/),
    })
    start(store, "b", "waiting")
    await expect(removeDefinition(store.registry, store, "chat")).rejects.toThrow("has 2 active runs")
    expect(await store.registry.definition("chat")).toBeDefined()
    expect(await removeDefinition(store.registry, store, "chat", { force: true })).toMatchObject({ runs: 2 })
    expect(await store.registry.definition("chat")).toBeUndefined()
  })

  test("finds its runs by the workflow's name or id, and by their label", async () => {
    const { count } = await counts([
      {},
      { workflow: "chat" },
      { workflow: "Renamed since", labels: { definition: "chat" } },
      { labels: { definition: "chat" } },
    ])
    expect(count).toBe(4)
    const others = await counts([{ workflow: "Other" }, { labels: { definition: "other" } }])
    expect(others.count).toBe(0)
  })

  /** The number of active runs that prevent the removal. */
  async function counts(runs: readonly object[]) {
    const store = memoryStore()
    await applyDefinition(store.registry, chat())
    for (const [i, more] of runs.entries()) start(store, `r${i}`, "running", more)
    return { count: (await removeDefinition(store.registry, store, "chat", { force: true })).runs }
  }

  test("removes its own agents, except those that another definition uses", async () => {
    const store = memoryStore()
    const { registry } = store
    await applyAgents(registry, { worker: { model: "m" } })
    await applyDefinition(registry, { ...chat(), agents: { router: {}, shared: {}, brought: {} } })
    const nodes = [{ id: "n", nodeType: "AGENT", agentId: "shared" }]
    await applyDefinition(registry, { id: "other", nodes, agents: { brought: {} } })
    const removed = await removeDefinition(registry, store, "chat")
    expect(removed).toEqual({ agents: ["router"], kept: ["shared", "brought"], runs: 0 })
    // An agent that was applied separately stays.
    expect((await registry.agents()).map(({ id }) => id)).toEqual(["worker", "shared", "brought"])
  })

  test("reports an unknown one", async () => {
    const store = memoryStore()
    await expect(removeDefinition(store.registry, store, "none")).rejects.toMatchObject({
      code: "DEFINITION_UNKNOWN",
    })
  })
})

describe("removing an agent", () => {
  test("is refused while an agent that a definition uses delegates to it, or a variable may name any agent", async () => {
    const { registry } = memoryStore()
    await applyAgents(registry, {
      router: { sub_agents: ["writer"] },
      writer: { handoffs: ["editor"] },
      editor: {},
    })
    await applyDefinition(registry, chat())
    for (const id of ["writer", "editor"]) {
      await expect(removeAgent(registry, id)).rejects.toMatchObject({ code: "AGENT_IN_USE" })
    }
    await applyAgents(registry, { spare: {} })
    const nodes = [{ id: "n", type: "agent", agent_id: "$" + "{WRITER}" }]
    await applyDefinition(registry, { id: "any", nodes })
    await expect(removeAgent(registry, "spare")).rejects.toThrow('is used by "any"')
  })

  test("is refused while definitions use it, and names them", async () => {
    const { registry } = memoryStore()
    await applyAgents(registry, { router: {}, spare: {} })
    for (const id of ["chat", "other"]) await applyDefinition(registry, chat(id))
    await expect(removeAgent(registry, "router")).rejects.toMatchObject({
      code: "AGENT_IN_USE",
      message: expect.stringContaining('is used by "chat", "other"'),
    })
    await removeAgent(registry, "spare")
    await removeAgent(registry, "router", { force: true })
    expect(await registry.agents()).toEqual([])
    await expect(removeAgent(registry, "router")).rejects.toMatchObject({ code: "AGENT_UNKNOWN" })
  })
})
