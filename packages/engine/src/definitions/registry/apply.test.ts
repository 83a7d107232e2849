import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { Json } from "../../core/index.ts"
import { type Registry, registryVersion, type StoredDefinition } from "../../runtime/index.ts"
import { memoryStore } from "../../stores/index.ts"
import { agentData, type JsonRecord } from "./document-rows.ts"
import { anyDocument, chat, executor } from "./documents.test-support.ts"
import { applyAgents, applyDefinition, exportDefinition } from "./registry.ts"

/** A registry that counts what is written to it. */
function counted(): Registry & { writes: number } {
  const { registry } = memoryStore()
  const counting = {
    ...registry,
    writes: 0,
    write(...args: Parameters<Registry["write"]>) {
      counting.writes += 1
      return registry.write(...args)
    },
  }
  return counting
}

describe("applying a definition", () => {
  test("creates it, and reports that; a second time it changes nothing", async () => {
    const registry = counted()
    const first = await applyDefinition(registry, chat())
    expect(first).toMatchObject({ id: "chat", outcome: "created", agents: [] })
    expect(first.changes.map(({ words }) => words)).toEqual([
      'workflow "chat" added',
      ...["n1", "n2", "n3"].map((id) => `node "${id}" added`),
      ...["e1", "e2", "e3"].map((id) => `edge "${id}" added`),
    ])
    expect(await applyDefinition(registry, chat())).toMatchObject({ outcome: "unchanged", changes: [] })
    expect(registry.writes).toBe(1)
  })

  test("replaces the stored definition completely", async () => {
    const { registry } = memoryStore()
    await applyDefinition(registry, chat())
    const { description: _, ...rest } = chat()
    const data = { ...rest, nodes: (chat().nodes as Json[]).slice(1), edges: [] }
    expect(await applyDefinition(registry, data)).toMatchObject({ outcome: "changed" })
    expect(await exportDefinition(registry, "chat")).toEqual(data)
  })

  test("retries if another process wrote in between", async () => {
    for (const [meanwhile, outcome] of [
      [
        (registry: Registry) => applyDefinition(registry, { ...chat(), description: "theirs" }),
        { outcome: "changed", changes: [{ fields: [{ before: "theirs", after: "mine" }] }] },
      ],
      [(registry: Registry) => registry.write({ removedDefinitions: ["chat"] }), { outcome: "created" }],
    ] as const) {
      const { registry } = memoryStore()
      await applyDefinition(registry, chat())
      let writes = 0
      const raced: Registry = {
        ...registry,
        async write(...args) {
          if (++writes === 1) await meanwhile(registry)
          await registry.write(...args)
        },
      }
      expect(await applyDefinition(raced, { ...chat(), description: "mine" })).toMatchObject(outcome)
      expect(writes).toBe(2)
      expect((await registry.definition("chat"))?.workflow.description).toBe("mine")
    }
  })

  test("is refused if the document is based on an older version", async () => {
    const { registry } = memoryStore()
    await applyDefinition(registry, chat(), { expected: null })
    const seen = registryVersion((await registry.definition("chat")) as StoredDefinition)
    await applyDefinition(registry, { ...chat(), description: "theirs" }, { expected: seen })
    const late = applyDefinition(registry, { ...chat(), description: "mine" }, { expected: seen })
    await expect(late).rejects.toMatchObject({ code: "REGISTRY_CONFLICT" })
    expect((await registry.definition("chat"))?.workflow.description).toBe("theirs")
  })

  test("twice changes nothing for any document, and export returns it", async () => {
    await fc.assert(
      fc.asyncProperty(anyDocument, anyDocument, async (before, data) => {
        const registry = counted()
        await applyDefinition(registry, { ...before, id: data.id })
        await applyDefinition(registry, data)
        const { writes } = registry
        expect(await applyDefinition(registry, data)).toMatchObject({ outcome: "unchanged", changes: [] })
        expect(registry.writes).toBe(writes)
        const exported = await exportDefinition(registry, data.id as string)
        expect(JSON.stringify(exported)).toBe(JSON.stringify(data))
      }),
      { numRuns: 60 },
    )
  })

  test("keeps a different order of the same content, and reports only that", async () => {
    const { registry } = memoryStore()
    await applyDefinition(registry, executor)
    const reordered = Object.fromEntries(Object.entries(executor).reverse())
    const { outcome, changes } = await applyDefinition(registry, reordered)
    expect(outcome).toBe("changed")
    expect(changes.map(({ words }) => words)).toEqual(['workflow "report" reordered'])
    expect(JSON.stringify(await exportDefinition(registry, "report"))).toBe(JSON.stringify(reordered))
  })

  test("that cannot be stored changes nothing", async () => {
    const registry = counted()
    const data = { ...chat(), nodes: [...(chat().nodes as Json[]), (chat().nodes as Json[])[0] as Json] }
    await expect(applyDefinition(registry, data)).rejects.toMatchObject({ code: "DEFINITION_INVALID" })
    expect(registry.writes).toBe(0)
  })

  test("exports nothing for an unknown definition", async () => {
    expect(await exportDefinition(memoryStore().registry, "none")).toBeUndefined()
  })
})

describe("the agents of a definition", () => {
  const withAgents = (agents: JsonRecord) => ({ ...chat(), agents })

  test("are ordinary rows, and are distinguished", async () => {
    const { registry } = memoryStore()
    await applyAgents(registry, { router: { model: "m" } })
    const data = withAgents({ router: { model: "n" }, worker: { model: "m" } })
    const { agents } = await applyDefinition(registry, data)
    expect(agents).toMatchObject([
      { id: "router", outcome: "changed", changes: [{ words: 'agent "router" changed: model "m" → "n"' }] },
      { id: "worker", outcome: "created" },
    ])
    expect(await registry.agents()).toMatchObject([
      { id: "router", model: "n" },
      { id: "worker", model: "m" },
    ])
  })

  test("are exported in their current state", async () => {
    const { registry } = memoryStore()
    await applyDefinition(registry, withAgents({ router: { model: "m", instruction: "Route." } }))
    await applyAgents(registry, { router: { model: "m", instruction: "Route well." } })
    expect(await exportDefinition(registry, "chat")).toEqual(
      withAgents({ router: { model: "m", instruction: "Route well." } }),
    )
  })

  test("are removed when the document no longer has them and nothing uses them", async () => {
    const { registry } = memoryStore()
    const agents = { router: {}, spare: {}, shared: {} }
    await applyDefinition(registry, withAgents(agents))
    const other = { ...chat("other"), nodes: [{ id: "n", nodeType: "AGENT", agentId: "shared" }] }
    await applyDefinition(registry, other)
    const { changes } = await applyDefinition(registry, withAgents({}))
    expect(changes.map(({ words }) => words)).toEqual(
      ["router", "spare", "shared"].map((id) => `agent "${id}" removed`),
    )
    expect((await registry.agents()).map(({ id }) => id)).toEqual(["router", "shared"])
  })
})

test("stay if an agent of another definition delegates to them", async () => {
  const { registry } = memoryStore()
  await applyDefinition(registry, { ...chat(), agents: { writer: {} } })
  await applyAgents(registry, { router: { sub_agents: ["writer"] } })
  await applyDefinition(registry, chat("other"))
  await applyDefinition(registry, { ...chat(), nodes: [{ id: "n1", nodeType: "MERGE" }], agents: {} })
  expect((await registry.agents()).map(({ id }) => id)).toEqual(["writer", "router"])
})

describe("applying agents", () => {
  const agents = {
    writer: {
      model: "fast",
      description: "Writes.",
      instruction: "Write.",
      toolsets: [{ type: "think" }],
      add_date: true,
    },
    editor: { model: "openai/gpt", sub_agents: ["writer"] },
  }

  test("creates rows for the agents of a steps file; a second time it changes nothing", async () => {
    const registry = counted()
    const applied = await applyAgents(registry, agents)
    expect(applied.map(({ id, outcome }) => [id, outcome])).toEqual([
      ["writer", "created"],
      ["editor", "created"],
    ])
    const rows = await registry.agents()
    expect(rows).toMatchObject([
      {
        id: "writer",
        name: "writer",
        description: "Writes.",
        prompt: "Write.",
        model: "fast",
        tools: [{ type: "think" }],
        config: { add_date: true },
      },
      { id: "editor", description: null, prompt: null, tools: null, config: { sub_agents: ["writer"] } },
    ])
    expect(rows.map(agentData)).toEqual(Object.values(agents))
    expect((await applyAgents(registry, agents)).map(({ outcome }) => outcome)).toEqual([
      "unchanged",
      "unchanged",
    ])
    expect(registry.writes).toBe(1)
  })

  test("changes agents that differ, and keeps those that are not named", async () => {
    const { registry } = memoryStore()
    await applyAgents(registry, agents)
    const [applied] = await applyAgents(registry, { editor: { model: "other", sub_agents: ["writer"] } })
    expect(applied).toMatchObject({ id: "editor", outcome: "changed" })
    expect((await registry.agents()).map(({ model }) => model)).toEqual(["fast", "other"])
  })

  test.each([["text"], [[{ name: "no id" }]], [{ a: 1 }], [[{ id: "a" }, { id: "a" }]]])(
    "refuses data without agents: %j",
    async (given) => {
      const applied = applyAgents(memoryStore().registry, given as Json)
      await expect(applied).rejects.toMatchObject({ code: "DEFINITION_INVALID" })
    },
  )
})
