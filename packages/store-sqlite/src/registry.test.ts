/** Definitions in the file: what other programs find there, and what becomes of damage. */
import type { AgentRow, Json, StoredDefinition } from "@superstep/engine"
import { applyDefinition, exportDefinition } from "@superstep/engine/definitions"
import { describe, expect, test } from "vitest"
import {
  alter,
  created,
  drivers,
  fillDisk,
  freshPath,
  lease,
  open,
  openStore,
  records,
  storeOver,
} from "./stores.test-support.ts"

const agent: AgentRow = {
  id: "a",
  name: "Writer",
  description: null,
  prompt: 'Write "well".\nAlways.',
  model: "m",
  tools: ["think"],
  config: { temperature: 0.5 },
}
const definition: StoredDefinition = {
  workflow: {
    id: "w",
    name: "W",
    description: null,
    isConversational: true,
    entrypointNodeId: "n",
    config: { limits: { max_steps: 5 } },
  },
  nodes: [{ id: "n", workflowId: "w", nodeType: "AGENT", nodeName: "N", agentId: "a", config: null }],
  edges: [
    {
      id: "e",
      workflowId: "w",
      sourceNodeId: "n",
      targetNodeId: null,
      conditionType: "ALWAYS",
      conditionValue: null,
      config: null,
    },
  ],
}

describe.each(drivers)("definitions in a file by $name", ({ driver }) => {
  test("are rows of tables whose columns are the fields of the documents", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    await store.registry.write({ agents: [agent], definitions: [definition] })
    await store.close()
    alter(path, driver, (database) => {
      const rows = (table: string) => database.prepare(`SELECT * FROM ${table}`).all()
      const at = (position: number) => ({ position, sum: expect.any(Number) })
      const config = JSON.stringify(agent.config)
      expect(rows("agents")).toEqual([{ ...agent, tools: '["think"]', config, ...at(1) }])
      const limits = '{"limits":{"max_steps":5}}'
      expect(rows("workflows")).toEqual([
        { ...definition.workflow, isConversational: 1, config: limits, nodes: 1, edges: 1, ...at(1) },
      ])
      expect(rows("workflow_nodes")).toEqual([{ ...definition.nodes[0], ...at(0) }])
      expect(rows("workflow_edges")).toEqual([{ ...definition.edges[0], ...at(0) }])
    })
  })

  test("tell that a row of one is missing", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    await store.registry.write({ agents: [agent], definitions: [definition] })
    alter(path, driver, (database) => database.exec("DELETE FROM workflow_nodes"))
    await expect(store.registry.definition("w")).rejects.toMatchObject({
      code: "STORE_CORRUPT",
      message: expect.stringContaining("it has 0 of 1 rows"),
    })
    await store.close()
  })

  test("are found by another process, and in its transactions with runs", async () => {
    const path = freshPath()
    const [one, other] = [openStore(path, driver), openStore(path, driver)]
    await Promise.all([
      one.registry.write({ agents: [agent], definitions: [definition] }),
      one.append(lease("r"), 0, records(1, 1), created()),
    ])
    expect(await other.registry.definition("w")).toEqual(definition)
    expect(await other.registry.agents(["a"])).toEqual([agent])
    await one.close()
    await other.close()
    const write = one.registry.write({ agents: [agent] })
    await expect(write).rejects.toMatchObject({ code: "STORE_CLOSED" })
    await expect(one.registry.definitions()).rejects.toMatchObject({ code: "STORE_CLOSED" })
  })

  test("that two processes apply at once are one of the two, whole, and apply again changes nothing", async () => {
    const path = freshPath()
    const stores = [openStore(path, driver), openStore(path, driver)] as const
    const document = (nodes: number, more: object = {}) => ({
      id: "w",
      nodes: Array.from({ length: nodes }, (_, i) => ({ id: `n${i}`, type: "agent", agent_id: "a" })),
      edges: Array.from({ length: nodes - 1 }, (_, i) => ({ from_node: `n${i}`, to_node: `n${i + 1}` })),
      agents: { a: { model: "offline", instruction: `Of ${nodes}.` } },
      ...more,
    })
    const documents = [document(3), document(40, { description: "the long one" })] as const
    await Promise.all(
      stores.flatMap(({ registry }, i) =>
        [0, 1, 2].map(() => applyDefinition(registry, documents[i] as Json)),
      ),
    )
    const kept = await exportDefinition(stores[0].registry, "w")
    expect(documents.map((one) => JSON.stringify(one))).toContain(JSON.stringify(kept))
    expect(await applyDefinition(stores[1].registry, kept as Json)).toMatchObject({ outcome: "unchanged" })
    for (const store of stores) await store.close()
  })

  test("that cannot be written whole are not written at all, and nor is what they replace lost (S3)", async () => {
    const database = open(freshPath(), driver)
    const store = storeOver(database)
    await store.registry.write({ agents: [agent], definitions: [definition] })
    fillDisk(database)
    const large = { ...definition, workflow: { ...definition.workflow, description: "x".repeat(1_000_000) } }
    await expect(store.registry.write({ removedAgents: ["a"], definitions: [large] })).rejects.toMatchObject({
      code: "STORE_WRITE_FAILED",
    })
    expect(await store.registry.definition("w")).toEqual(definition)
    expect(await store.registry.agents()).toEqual([agent])
    await store.close()
  })

  test.each([
    ["agents", "tools = 'no JSON'", "tools"],
    ["agents", "prompt = CAST(x'ff' AS TEXT)", "prompt"],
    ["workflows", "config = '{'", "config"],
  ])("tell of damage where it is: %s, %s", async (table, change, column) => {
    const path = freshPath()
    const store = openStore(path, driver)
    await store.registry.write({ agents: [agent], definitions: [definition] })
    alter(path, driver, (database) => database.exec(`UPDATE ${table} SET ${change}`))
    const read = table === "agents" ? store.registry.agents() : store.registry.definition("w")
    await expect(read).rejects.toMatchObject({
      code: "STORE_CORRUPT",
      message: expect.stringContaining(`A row of ${table} is damaged at ${column}`),
    })
    await store.close()
  })
})
