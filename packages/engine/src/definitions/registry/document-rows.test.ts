import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import { documentOf, type JsonRecord, rowsOf } from "./document-rows.ts"
import { anyDocument, chat, executor } from "./documents.test-support.ts"

/** Rows as a store returns them: as JSON. */
function stored<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

describe("the rows of a document", () => {
  test("have its fields in the columns with the same names, and nothing else", () => {
    const { definition, agents } = rowsOf(chat())
    expect(agents).toEqual([])
    expect(definition.workflow).toEqual({
      id: "chat",
      name: "Chat",
      description: "A router and a worker.",
      isConversational: true,
      entrypointNodeId: "n1",
      config: null,
    })
    expect(definition.nodes).toEqual(
      (chat().nodes as JsonRecord[]).map((node) => ({ ...node, config: null })),
    )
    expect(definition.edges).toEqual(
      (chat().edges as JsonRecord[]).map((edge) => ({ ...edge, config: null })),
    )
  })

  test("have other fields in config, unchanged", () => {
    const data = { ...chat(), limits: { max_steps: 9 }, timeout: "90s" }
    const { definition } = rowsOf({ ...data, nodes: [{ ...(chat().nodes as JsonRecord[])[0], retries: 2 }] })
    expect(definition.workflow.config).toEqual({ limits: { max_steps: 9 }, timeout: "90s" })
    expect(definition.nodes[0]?.config).toEqual({ retries: 2 })
  })

  test("are the same for the executor's spelling; missing columns are derived", () => {
    const { definition } = rowsOf(executor)
    expect(definition.workflow).toMatchObject({
      id: "report",
      name: "report",
      isConversational: false,
      entrypointNodeId: "start",
      config: { limits: { max_steps: 50, timeout_ms: 1_000 } },
    })
    expect(definition.nodes[2]).toMatchObject({
      id: "write",
      workflowId: "report",
      nodeType: "agent",
      nodeName: "write",
      agentId: "writer-1",
      config: { inputs: { goal: "goal" }, max_iters: 3 },
    })
    expect(definition.edges).toMatchObject([
      { id: "start->check", sourceNodeId: "start", targetNodeId: "check", conditionType: "ALWAYS" },
      { id: "check->write", conditionType: "CONDITIONAL", conditionValue: "score > 0.5" },
      { id: "check->start", conditionType: "ALWAYS", conditionValue: null },
    ])
  })

  test("have the entry node in either spelling", () => {
    const data = { id: "w", nodes: ["a", "b"].map((id) => ({ id, type: "agent" })), entry: "b", exits: ["a"] }
    const { definition } = stored(rowsOf(data))
    expect(definition.workflow).toMatchObject({ entrypointNodeId: "b" })
    expect(JSON.stringify(documentOf(definition))).toBe(JSON.stringify(data))
  })

  test("have distinct ids for edges without ids between the same nodes", () => {
    const edges = [{ from_node: "a" }, { from_node: "a" }, { id: "a->END#2", from_node: "a" }]
    const { definition } = rowsOf({ id: "w", nodes: [], edges })
    expect(definition.edges.map(({ id }) => id)).toEqual(["a->END", "a->END#3", "a->END#2"])
  })

  test("use the id of the caller if the document has none", () => {
    const { id: _, ...data } = executor
    const { definition } = rowsOf(data, "from-file")
    expect(definition.workflow.id).toBe("from-file")
    expect(documentOf(stored(definition))).toEqual(data)
    expect(() => rowsOf(data)).toThrow("The definition has no id")
  })

  test("have the agents of the document, by id or as a list", () => {
    const byId = {
      ...chat(),
      agents: { router: { model: "m", instruction: "Route.", toolsets: [], add_date: true } },
    }
    const asList = { ...chat(), agents: [{ id: "router", name: "R", prompt: "Route." }] }
    expect(rowsOf(byId).agents).toMatchObject([
      { id: "router", name: "router", model: "m", prompt: "Route.", tools: [], config: { add_date: true } },
    ])
    expect(rowsOf(asList).agents).toMatchObject([{ id: "router", name: "R", prompt: "Route.", config: null }])
    for (const data of [byId, asList]) {
      const { definition, agents } = stored(rowsOf(data))
      expect(JSON.stringify(definition)).not.toContain("Route.")
      expect(JSON.stringify(documentOf(definition, agents))).toBe(JSON.stringify(data))
    }
  })

  test.each<[string, JsonRecord | string, string]>([
    ["that is no object", "text", "A graph definition must be an object with nodes and edges."],
    ["without nodes", { id: "w" }, 'Definition "w" has no list of nodes.'],
    ["with a node that is no object", { id: "w", nodes: [1] }, "The node at position 1 is not an object."],
    [
      "with a node without an id",
      { id: "w", nodes: [{ nodeType: "AGENT" }] },
      "The node at position 1 has no id.",
    ],
    ["with a node without a type", { id: "w", nodes: [{ id: "n" }] }, 'Node "n" has no nodeType.'],
    [
      "with an edge from nowhere",
      { id: "w", nodes: [], edges: [{ id: "e" }] },
      'Edge "e" has no sourceNodeId.',
    ],
    [
      "with a node twice",
      { id: "w", nodes: [1, 2].map(() => ({ id: "n", type: "agent" })) },
      'Node "n" of workflow "w" appears twice.',
    ],
    [
      "with a node of another workflow",
      { id: "w", nodes: [{ id: "n", type: "agent", workflowId: "v" }] },
      'Node "n" belongs to workflow "v", not to "w".',
    ],
    [
      "with a key that is not allowed",
      JSON.parse('{"id":"w","nodes":[],"x":{"__proto__":1}}'),
      'Workflow "w": config cannot be stored',
    ],
  ])("are refused for a document %s", (_, data, message) => {
    expect(() => rowsOf(data)).toThrow(expect.objectContaining({ code: "DEFINITION_INVALID" }))
    expect(() => rowsOf(data)).toThrow(message)
  })
})

describe("the document of rows", () => {
  test.each([
    ["as the specification has it", chat()],
    ["with other names", executor],
    [
      "with fields of names that are ours",
      { ...chat(), $keys: ["x"], $$agents: 1, $agents: { list: ["router"] } },
    ],
    ["in another order", Object.fromEntries(Object.entries(chat()).reverse())],
    ["with values that do not fit", { ...chat(), name: 5, description: ["x"], agents: "none" }],
    ["with a description of null, and without edges", { id: "w", description: null, nodes: [] }],
  ])("is the original document: one %s", (_, data) => {
    const { definition, agents } = stored(rowsOf(data))
    expect(JSON.stringify(documentOf(definition, agents))).toBe(JSON.stringify(data))
  })

  test("is the original document, whatever it was", () => {
    fc.assert(
      fc.property(anyDocument, (data) => {
        const { definition, agents } = stored(rowsOf(data))
        expect(JSON.stringify(documentOf(definition, agents))).toBe(JSON.stringify(data))
      }),
      { numRuns: 150 },
    )
  })

  test("includes later changes of the rows, also in columns that the document left empty", () => {
    const { definition } = rowsOf(executor)
    const { workflow, nodes, edges } = definition
    const changed = {
      workflow: { ...workflow, description: "new" },
      nodes: nodes.map((node) => ({ ...node, agentId: "a" })),
      edges: edges.slice(1, 2).map((edge) => ({ ...edge, conditionValue: "score > 1" })),
    }
    const document = documentOf(changed)
    expect(document.description).toBe("new")
    expect(document.nodes).toMatchObject([{ agentId: "a" }, { agentId: "a" }, { agent_id: "a" }])
    expect(document.edges).toEqual([{ from_node: "check", to_node: "write", condition: "score > 1" }])
  })
})
