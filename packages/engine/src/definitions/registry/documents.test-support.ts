/** Documents of graphs for tests. */
import * as fc from "fast-check"
import type { JsonRecord } from "./document-rows.ts"

/** The documented form: every field is a column. */
export function chat(id = "chat"): JsonRecord {
  return {
    id,
    name: "Chat",
    description: "A router and a worker.",
    isConversational: true,
    entrypointNodeId: "n1",
    nodes: [
      { id: "n1", workflowId: id, nodeType: "AGENT", nodeName: "Router", agentId: "router" },
      { id: "n2", workflowId: id, nodeType: "AGENT", nodeName: "Worker", agentId: "worker" },
      { id: "n3", workflowId: id, nodeType: "TOOL_EXECUTOR", nodeName: "tools", agentId: null },
    ],
    edges: [
      edge(id, "e1", "n1", "n2", "CONDITIONAL", "Worker"),
      edge(id, "e2", "n1", null, "CONDITIONAL", "END"),
      edge(id, "e3", "n2", "n1", "ALWAYS", null),
    ],
  }
}

function edge(
  workflowId: string,
  id: string,
  sourceNodeId: string,
  targetNodeId: string | null,
  conditionType: string,
  conditionValue: string | null,
): JsonRecord {
  return { id, workflowId, sourceNodeId, targetNodeId, conditionType, conditionValue }
}

/** The graph executor's JSON: other names, edges without ids, settings of nodes. */
export const executor: JsonRecord = {
  id: "report",
  limits: { max_steps: 50, timeout_ms: 1_000 },
  edges: [
    { from_node: "start", to_node: "check" },
    { from_node: "check", to_node: "write", condition: "score > 0.5" },
    { from_node: "check", to_node: "start" },
  ],
  nodes: [
    { id: "start", type: "start" },
    { type: "conditional", id: "check", params: { deep: [1, { a: null }] } },
    { id: "write", type: "agent", agent_id: "writer-1", inputs: { goal: "goal" }, max_iters: 3 },
  ],
}

/** JSON that a document may have anywhere. "__proto__" is refused as a key. */
const json = fc.jsonValue({ maxDepth: 2 }).filter((value) => !JSON.stringify(value).includes("__proto__"))
const text = fc.oneof(fc.constantFrom("a", "b", "", "\u0000", "\ud800", "é\n"), fc.string())
const key = fc.oneof(
  fc.constantFrom(
    "$keys",
    "$$keys",
    "$agents",
    "$$$agents",
    "1",
    "0",
    "name",
    "type",
    "extra",
    "position",
    "config",
  ),
  fc.string().filter((one) => one !== "__proto__"),
)

/** Some of the fields, in any order, with valid and invalid values, and unknown fields. */
function record(needed: { [key: string]: fc.Arbitrary<unknown> }, known: readonly string[]) {
  const value = fc.oneof(text, json, fc.constant(null))
  const more = fc.array(fc.tuple(fc.oneof(fc.constantFrom(...known), key), value), { maxLength: 6 })
  return fc
    .tuple(fc.record(needed), more)
    .chain(([own, rest]) => {
      const entries = [...Object.entries(own), ...rest.filter(([name]) => !(name in needed))]
      return fc.shuffledSubarray(entries, { minLength: entries.length })
    })
    .map((entries) => Object.fromEntries(entries) as JsonRecord)
}

const id = fc.stringMatching(/^[a-z0-9]{1,3}$/)
const NODE = ["nodeName", "name", "agentId", "agent_id", "type"]
const EDGE = ["targetNodeId", "to_node", "conditionType", "conditionValue", "condition", "id"]
const AGENT = ["name", "description", "prompt", "instruction", "instructions", "model", "tools", "toolsets"]

const nodes = fc.uniqueArray(
  fc.oneof(record({ id, nodeType: text.filter(isKept) }, NODE), record({ id, type: id }, NODE)),
  { selector: (node) => node.id, maxLength: 4 },
)
const edges = fc.uniqueArray(
  fc.oneof(record({ id, sourceNodeId: id }, EDGE), record({ from_node: id }, EDGE.slice(0, -1))),
  { selector: (edge) => edge.id ?? edge, maxLength: 4 },
)
const agents = fc.oneof(
  fc.uniqueArray(record({ id }, AGENT), { selector: (agent) => agent.id, maxLength: 3 }),
  fc.dictionary(id, record({}, [...AGENT, "id"]), { maxKeys: 3 }),
  json,
)

function isKept(one: string): boolean {
  return one !== "\u0000" && one !== "\ud800"
}

/** Any document that can be stored as rows. */
export const anyDocument: fc.Arbitrary<JsonRecord> = fc.oneof(
  record({ id, nodes, edges }, ["name", "description", "isConversational", "entrypointNodeId", "agents"]),
  record({ id, nodes, agents, isConversational: fc.boolean() }, ["name", "entrypointNodeId", "edges"]).filter(
    // Edges that are a list must be a list of edges.
    (document) => !Array.isArray(document.edges) || document.edges.length === 0,
  ),
)
